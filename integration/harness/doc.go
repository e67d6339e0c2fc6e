// Package harness starts corehour's binaries the way an operator does, breaks
// them the way the world does, and reads what they say: a collector that can be
// stopped, killed and started again on the same warehouse, the command and its
// JSON, and a proxy that loses answers, refuses and repeats.
//
// Every process it starts is ended by it or dies with it. It judges nothing.
package harness
