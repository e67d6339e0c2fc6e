// Package deploygen draws deployments whose truth is known, by which the verdict of
// `corehour regress` is scored. docs/background/simulation.md describes the model and every scene.
//
// Its invariant: a scene and a seed determine the deployment and every record of it.
// It does not judge, and shares no code with anything that does: it imports only the
// standard library.
package deploygen
