// Package harness starts corehour's binaries the way an operator does, injects faults and returns
// their output: a collector that can be stopped, killed and restarted on the same warehouse, the
// command and its JSON, and a proxy that loses answers, refuses and repeats requests.
//
// Every process that it starts is ended by it or dies with it. It contains no assertions.
package harness
