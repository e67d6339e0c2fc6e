// Package integration contains end-to-end tests: the real collector, the real command and real
// clients, as processes, over loopback, with faults between them. The tests compare corehour's
// figures with the programs' own counts and times.
//
// They run on machines that lose their processors to others for a while. Therefore they wait for an
// event, for minutes if needed, instead of a fixed time; and a measurement that depends on clocks
// fails only if every try finds the same fault (see withRetries).
//
// It imports no part of corehour but the SDK; everything else is a binary. The binaries are in
// COREHOUR_BIN, by default in ../bin, where `make build` writes them.
package integration
