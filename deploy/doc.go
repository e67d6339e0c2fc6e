// Package deploy holds what is needed to run corehour somewhere: an image, systemd
// units, Kubernetes manifests and alert rules. It has no code but its tests.
//
// Its invariant: every file here is parsed by the rules of the program that reads
// it, and whatever it names (commands, flags, paths, metrics, labels, headings of
// the documentation) exists.
//
// It does not test a running cluster. It is a module of its own, so that the
// types of Kubernetes and the parser of PromQL stay out of the collector's.
package deploy
