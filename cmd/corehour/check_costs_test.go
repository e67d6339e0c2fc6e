package main

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/fixture"
)

// The ledger is printed where costs cannot be computed.
func TestCheckStandsWithoutCosts(t *testing.T) {
	clock(t, evening)
	p := fixture.NewProcess("1", "a", fixture.Start)
	p.Counts("a.B", fixture.Start, time.Minute, 10)
	for i := range 2 {
		r := p.Call("a.B", methodspan.CallerEntry, fixture.Start.Add(time.Duration(i)*time.Second), time.Second, time.Second, 1, 1)
		r.Kind, r.Measured, r.CPUMeasured = methodspan.KindAggregate, math.MaxInt64, math.MaxInt64
	}
	p.Beat(fixture.Start, time.Minute, time.Second, true)
	root := fixture.Write(t, []methodspan.Item{p.Item()})
	if r := corehour("cost", "--warehouse", root); r.code != exitFailed {
		t.Fatalf("costs can be computed: %+v", r)
	}
	if r := corehour("check", "--warehouse", root); r.code != exitNothing || !strings.Contains(r.stdout, "balanced") || !strings.Contains(r.stdout, "which services were reconciled is not known") {
		t.Errorf("%+v", r)
	}
}
