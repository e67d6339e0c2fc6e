//go:build linux

package main

import (
	"fmt"

	"github.com/corehour/corehour/integration/harness"
)

// The third service runs in two versions at the same time. In the second one method does half as
// much again.
const (
	changed       = "changed"
	slower        = "ten"
	base, head    = "1.0", "1.1"
	ownBasis      = "own"
	changedShare  = 0.02 // share of the calls that are timed
	twoProcesses  = 1.5  // error of a ratio relative to that of a cost
	leastForRatio = 20.0 // ns: below it the probes' own cost hides the rest
)

// judgeChanges compares the verdict of `corehour regress` on each method with the work of both
// versions.
func (s *score) judgeChanges(truth twin, runs map[string]counts, verdicts []harness.Verdict) {
	if len(verdicts) == 0 {
		s.note("%s: regress has no verdicts", changed)
	}
	for _, v := range verdicts {
		own := func(version string) float64 { return truth.perCall(runs[version], v.Method) }
		inclusive := func(version string) float64 {
			r, ns := runs[version], 0.0
			switch v.Method {
			case "root":
				for m, calls := range r.Calls {
					ns += float64(calls) * truth.perCall(r, m)
				}
			case "batch":
				for _, m := range []string{"batch", "five"} {
					ns += float64(r.Calls[m]) * truth.perCall(r, m)
				}
			default:
				return own(version)
			}
			return ns / float64(r.Calls[v.Method])
		}
		if own(base) < leastForRatio {
			continue
		}
		slack := 100 * twoProcesses * (truthError + callError/own(base))
		name := fmt.Sprintf("%s %s: change", changed, v.Method)
		want := 100 * (own(head)/own(base) - 1)
		if v.Basis == ownBasis || inclusive(base) == own(base) {
			if v.Measured != nil {
				s.judgeChange(name+", measured", want, slack, v.Measured.Percent, v.Measured.Interval)
			}
			if v.ChangePercent != nil && v.Interval != nil {
				s.judgeChange(name, want, slack, *v.ChangePercent, *v.Interval)
			}
		}
		if v.Inclusive != nil && (v.Method == "root" || v.Method == "batch") {
			s.judgeChange(name+", inclusive", 100*(inclusive(head)/inclusive(base)-1), slack, v.Inclusive.Percent, v.Inclusive.Interval)
		}
	}
}

func (s *score) judgeChange(what string, want, slack, found float64, interval [2]float64) {
	s.hold(what+", %", want, slack, found, interval)
	s.lines = append(s.lines, line{name: what, truth: 1 + want/100, found: 1 + found/100, unit: "times"})
}
