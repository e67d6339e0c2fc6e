// Package integration proves corehour end to end: the real collector, the real
// command and real clients, as processes, over loopback, with faults between
// them. Its tests judge by what the programs under watch counted and measured
// themselves, never by corehour's own figures.
//
// They run on machines that lose their processors to others for a while: they wait for
// what happens, for minutes if need be, rather than for a time; and what depends on
// clocks fails if it is wrong every time it is tried (see lasting).
//
// It imports no part of corehour but the SDK: everything else is a binary. The
// binaries are looked for in COREHOUR_BIN, by default ../bin, where `make build`
// puts them.
package integration
