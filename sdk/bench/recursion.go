package main

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/corehour/corehour/sdk"
)

// The methods of the MooBench part: the most expensive record, and the effect of each optimisation on it,
// alone and combined.
var (
	mooOff        = corehour.NewMethod("bench.mooOff", corehour.WithMode(corehour.Off))
	mooNaive      = corehour.NewMethod("bench.mooNaive", corehour.Rate(1), corehour.CPURate(1))
	mooReduced    = corehour.NewMethod("bench.mooReduced", corehour.Rate(1), corehour.CPURate(0), corehour.NoCaller())
	mooSummed     = corehour.NewMethod("bench.mooSummed", corehour.WithMode(corehour.Aggregate), corehour.Rate(1), corehour.CPURate(1))
	mooSummedOnly = corehour.NewMethod("bench.mooSummedOnly", corehour.WithMode(corehour.Aggregate), corehour.Rate(0), corehour.NoCaller())
	mooSkip       = corehour.NewMethod("bench.mooSkip", corehour.Rate(rare), corehour.CPURate(1))
	mooAll        = corehour.NewMethod("bench.mooAll", corehour.Rate(rare), corehour.CPURate(0), corehour.NoCaller())
)

// Each method whose caller is searched has its own function: a function that begins several methods would
// not be a known caller.

//go:noinline
func naiveCalls(n int) int {
	c := mooNaive.Begin()
	if n > 1 {
		n = naiveCalls(n - 1)
	}
	c.End()
	return n
}

//go:noinline
func summedCalls(n int) int {
	c := mooSummed.Begin()
	if n > 1 {
		n = summedCalls(n - 1)
	}
	c.End()
	return n
}

//go:noinline
func skipCalls(n int) int {
	c := mooSkip.Begin()
	if n > 1 {
		n = skipCalls(n - 1)
	}
	c.End()
	return n
}

//go:noinline
func offCalls(n int) int {
	c := mooOff.Begin()
	if n > 1 {
		n = offCalls(n - 1)
	}
	c.End()
	return n
}

//go:noinline
func reducedCalls(n int) int {
	c := mooReduced.Begin()
	if n > 1 {
		n = reducedCalls(n - 1)
	}
	c.End()
	return n
}

//go:noinline
func summedOnlyCalls(n int) int {
	c := mooSummedOnly.Begin()
	if n > 1 {
		n = summedOnlyCalls(n - 1)
	}
	c.End()
	return n
}

//go:noinline
func allCalls(n int) int {
	c := mooAll.Begin()
	if n > 1 {
		n = allCalls(n - 1)
	}
	c.End()
	return n
}

// otelCalls returns a function that makes root calls: deepSpanned counts its last one as 0.
func otelCalls(tracer trace.Tracer) func(int) int {
	return func(n int) int { return deepSpanned(context.Background(), tracer, n-1) }
}

func bareCalls(n int) int { return deepBare(n - 1) }
