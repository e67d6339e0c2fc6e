package findings_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/corehour/corehour/regression/compare/pairs"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/ledger"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/deploygen"
	"github.com/corehour/corehour/test/deploygen/rows"
	"github.com/corehour/corehour/test/fixture"
)

// Generated deployments have known calls, costs and versions. The test checks no verdicts.
func TestFindings_GeneratedDeployments(t *testing.T) {
	fixture.SkipLong(t)
	root := t.TempDir()
	drawn := map[string]*deploygen.Deployment{}
	for _, structure := range []deploygen.Structure{deploygen.Chain(5), deploygen.SharedLeaf, deploygen.Recursion} {
		for _, whole := range []bool{false, true} {
			d := deploygen.Draw(deploygen.Scene{
				Structure: structure, Change: deploygen.Change{Where: deploygen.Leaf, Factor: 2.28}, Base: 3, Head: 3,
				HostSD: 0.06, InstanceSD: 0.015, WholeRequests: whole,
			}, 1)
			service := fmt.Sprintf("%s-%t", structure, whole)
			if err := rows.Write(t.Context(), root, service, d); err != nil {
				t.Fatal(err)
			}
			drawn[service] = d
		}
	}
	now := deploygen.Begin.Add(30 * time.Minute)
	w, err := query.Open(t.Context(), root, query.Window{From: now.Add(-30 * time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	costs, err := cost.Compute(t.Context(), w, cost.Options{})
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for i := range costs.Methods {
		line := &costs.Methods[i]
		d := drawn[line.Name]
		own, inclusive, calls := totals(d)
		for m := range d.Methods {
			if d.Methods[m].Name != "app/steps."+line.Method {
				continue
			}
			lines++
			if line.Calls != calls[m] {
				t.Errorf("%s %s: %g calls, want %g", line.Name, line.Method, line.Calls, calls[m])
			}
			// The standard error comes from a few clusters and is itself an estimate.
			if tolerance := 5**line.SelfCoreHoursSE + 0.05*own[m]; math.Abs(*line.SelfCoreHours-own[m]) > tolerance {
				t.Errorf("%s %s: own cost %g core hours, want %g +- %g", line.Name, line.Method, *line.SelfCoreHours, own[m], tolerance)
			}
			if slices.Contains(d.Methods[m].Callers, m) {
				inclusive[m] /= 2 // the cost of a recursive call is part of its caller's cost
			}
			if ratio := *line.InclusiveCoreHours / inclusive[m]; ratio < 0.9 || ratio > 1.1 {
				t.Errorf("%s %s: inclusive cost %g of what it is", line.Name, line.Method, ratio)
			}
		}
	}
	if want := 2 * (5 + 6 + 4); lines != want {
		t.Errorf("cost has %d lines of drawn methods, want %d", lines, want)
	}
	for _, line := range costs.Services {
		own, _, _ := totals(drawn[line.Name])
		want := 0.0
		for _, x := range own {
			want += 1.05 * x
		}
		if ratio := *line.ProcessCoreHours / want; ratio < 0.98 || ratio > 1.02 {
			t.Errorf("%s: process CPU is %g of what its calls cost", line.Name, ratio)
		}
	}
	if check, err := ledger.Check(t.Context(), w, query.Filter{}, now); err != nil || !check.Balanced || len(check.Services) != len(drawn) {
		t.Errorf("%v: check: %+v", err, check)
	}
	found := evaluate(t, root, now, pairs.EvidenceRule{}, nil)
	if len(found.Comparisons) != len(drawn) {
		t.Errorf("%d services were compared, want %d", len(found.Comparisons), len(drawn))
	}
	for _, c := range found.Comparisons {
		if c.BaseVersion != deploygen.BaseVersion || c.HeadVersion != deploygen.HeadVersion || len(c.Methods) != len(drawn[c.Name].Methods) {
			t.Errorf("%+v", c)
		}
		for _, m := range c.Methods {
			if m.BaseRecords < 500 || m.HeadRecords < 500 {
				t.Errorf("%s: %+v", c.Name, m)
			}
		}
	}
}

// totals returns the expected core hours and the number of calls of each method of a deployment.
func totals(d *deploygen.Deployment) (own, inclusive, calls []float64) {
	n := len(d.Methods)
	own, inclusive, calls = make([]float64, n), make([]float64, n), make([]float64, n)
	mean, with, count := make([]float64, n), make([]float64, n), make([]int64, n)
	for i := range d.Processes {
		for minute := range d.Minutes() {
			d.MeanOwn(i, minute, mean)
			d.Calls(i, minute, count)
			d.MeanInclusive(i, minute, with)
			for m := range count {
				calls[m] += float64(count[m])
				own[m] += mean[m] * float64(count[m]) / 3.6e12
				inclusive[m] += with[m] * float64(count[m]) / 3.6e12
			}
		}
	}
	return own, inclusive, calls
}
