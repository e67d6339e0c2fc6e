//go:build linux

package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/corehour/corehour/integration/harness"
)

// sameEverywhere records where another command prints other figures of a service than `corehour
// cost` and `corehour regress`, which are scored.
func (s *score) sameEverywhere(ctx context.Context, c harness.Command, service string, costs harness.Costs, verdicts []harness.Verdict) error {
	report, err := c.Report(ctx, "--service", service, "--all")
	if err != nil {
		return err
	}
	reported, moves := map[string]harness.MethodCost{}, map[string]harness.Verdict{}
	for _, m := range report.Costs {
		reported[m.Method] = m
	}
	for _, v := range report.Moves {
		moves[v.Method] = v
	}
	for _, m := range costs.Methods {
		explanation, err := c.ExplainStored(ctx, m.Class+"."+m.Method, "--service", service)
		if err != nil {
			return err
		}
		if len(explanation.Methods) != 1 || explanation.Methods[0].Cost == nil {
			s.note("%s %s: explain has no cost", service, m.Method)
			continue
		}
		r := reported[m.Method]
		r.InclusiveCoreHours = m.InclusiveCoreHours // the page has none
		s.same(service+" "+m.Method+": cost and report", figuresOf(m), figuresOf(r))
		s.same(service+" "+m.Method+": cost and explain", figuresOf(m), figuresOf(*explanation.Methods[0].Cost))
	}
	for _, v := range verdicts {
		explanation, err := c.ExplainStored(ctx, v.Class+"."+v.Method, "--service", service)
		if err != nil {
			return err
		}
		if len(explanation.Methods) != 1 || explanation.Methods[0].Verdict == nil {
			s.note("%s %s: explain has no verdict", service, v.Method)
			continue
		}
		s.same(service+" "+v.Method+": regress and explain", changesOf(v), changesOf(*explanation.Methods[0].Verdict))
		if move, listed := moves[v.Method]; listed { // the scored methods
			s.same(service+" "+v.Method+": regress and report", changesOf(v), changesOf(move))
		}
	}
	return nil
}

func (s *score) note(format string, args ...any) {
	s.beyond = append(s.beyond, fmt.Sprintf(format, args...))
}

func (s *score) same(what string, a, b []float64) {
	s.compared++
	if !slices.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) <= 1e-9*math.Abs(x) }) { // sums in another order
		s.note("%s differ: %v and %v", what, a, b)
	}
}

func figuresOf(m harness.MethodCost) []float64 {
	var out []float64
	for _, v := range []*float64{m.SelfCoreHours, m.SelfCoreHoursSE, m.InclusiveCoreHours} {
		if v != nil {
			out = append(out, *v)
		}
	}
	if m.SelfCoreHours95 != nil {
		out = append(out, m.SelfCoreHours95[:]...)
	}
	return out
}

func changesOf(v harness.Verdict) []float64 {
	var out []float64
	if v.ChangePercent != nil {
		out = append(out, *v.ChangePercent)
	}
	if v.Interval != nil {
		out = append(out, v.Interval[:]...)
	}
	if v.Measured != nil {
		out = append(append(out, v.Measured.Percent), v.Measured.Interval[:]...)
	}
	return out
}
