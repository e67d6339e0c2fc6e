package main

import (
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/fixture"
)

func TestExplainNamesAllThatWeightsRestOn(t *testing.T) {
	clock(t, evening)
	p := fixture.NewProcess("1", "a", fixture.Start)
	for i, basis := range []string{methodspan.BasisExact, methodspan.BasisThreshold, methodspan.BasisServed, methodspan.BasisAssumed} {
		p.Call("a.B", "(entry)", fixture.Start.Add(time.Duration(i)*time.Second), time.Millisecond, time.Millisecond, 1, 1).WeightBasis = basis
	}
	r := corehour("explain", "--wide", "--warehouse", fixture.Write(t, []methodspan.Item{p.Item()}), "a.B")
	if r.code != exitNothing || !strings.Contains(r.stdout, "assumed, exact, served, threshold") {
		t.Errorf("%+v", r)
	}
}
