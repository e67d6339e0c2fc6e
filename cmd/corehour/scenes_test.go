package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/corehour/corehour/test/deploygen"
	"github.com/corehour/corehour/test/deploygen/rows"
)

// TestRegress_GeneratedDeployments writes deployments whose truth is known and compares the calls, costs and versions
// that the commands print with it. It checks no verdicts.
func TestRegress_GeneratedDeployments(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	root := t.TempDir()
	drawn := map[string]*deploygen.Deployment{}
	for _, structure := range []deploygen.Structure{deploygen.Chain(5), deploygen.SharedLeaf, deploygen.Recursion} {
		for _, whole := range []bool{false, true} {
			d := deploygen.Draw(deploygen.Scene{
				Structure: structure, Change: deploygen.Change{Where: deploygen.Leaf, Factor: 2.28}, Base: 3, Head: 3,
				HostSD: 0.06, InstanceSD: 0.015, WholeRequests: whole,
			}, 1)
			service := fmt.Sprintf("%s-%t", structure, whole)
			if err := rows.Write(context.Background(), root, service, d); err != nil {
				t.Fatal(err)
			}
			drawn[service] = d
		}
	}
	clock(t, deploygen.Begin.Add(30*time.Minute))

	var cost struct {
		Methods []struct {
			Service, Method    string
			Calls              float64
			SelfCoreHours      float64 `json:"self_core_hours"`
			SelfSE             float64 `json:"self_core_hours_se"`
			InclusiveCoreHours float64 `json:"inclusive_core_hours"`
		}
		Services []struct {
			Service          string
			ProcessCoreHours float64 `json:"process_core_hours"`
		}
	}
	read := func(to any, args ...string) {
		t.Helper()
		r := corehour(append(args, "--warehouse", root, "--format", "json")...)
		if err := json.Unmarshal([]byte(r.stdout), to); err != nil || r.code == exitFailed || r.stderr != "" {
			t.Fatalf("%q: %v %+v", args, err, r)
		}
	}
	read(&cost, "cost", "--since", "30m")
	lines := 0
	for _, line := range cost.Methods {
		d := drawn[line.Service]
		own, inclusive, calls := totals(d)
		for m := range d.Methods {
			if d.Methods[m].Name != "app/steps."+line.Method {
				continue
			}
			lines++
			if line.Calls != calls[m] {
				t.Errorf("%s %s: %g calls, want %g", line.Service, line.Method, line.Calls, calls[m])
			}
			// The standard error comes from a few clusters and is itself an estimate.
			if tolerance := 5*line.SelfSE + 0.05*own[m]; math.Abs(line.SelfCoreHours-own[m]) > tolerance {
				t.Errorf("%s %s: own cost %g core hours, want %g +- %g", line.Service, line.Method, line.SelfCoreHours, own[m], tolerance)
			}
			if slices.Contains(d.Methods[m].Callers, m) {
				inclusive[m] /= 2 // the cost of a recursive call is part of its caller's cost
			}
			if ratio := line.InclusiveCoreHours / inclusive[m]; ratio < 0.9 || ratio > 1.1 {
				t.Errorf("%s %s: inclusive cost %g of what it is", line.Service, line.Method, ratio)
			}
		}
	}
	if want := 2 * (5 + 6 + 4); lines != want {
		t.Errorf("cost has %d lines of drawn methods, want %d", lines, want)
	}
	for _, line := range cost.Services {
		own, _, _ := totals(drawn[line.Service])
		want := 0.0
		for _, x := range own {
			want += 1.05 * x
		}
		if ratio := line.ProcessCoreHours / want; ratio < 0.98 || ratio > 1.02 {
			t.Errorf("%s: process CPU is %g of what its calls cost", line.Service, ratio)
		}
	}

	var check struct {
		Balanced bool
		Services []struct {
			Lost int64 `json:"lost_in_transit"`
			Dead int64 `json:"dead_processes"`
		}
		Faults []any
	}
	read(&check, "check")
	if !check.Balanced || len(check.Faults) > 0 || len(check.Services) != len(drawn) {
		t.Errorf("check: %+v", check)
	}

	var regress struct {
		Comparisons []struct {
			Service     string
			BaseVersion string `json:"base_version"`
			HeadVersion string `json:"head_version"`
			Methods     []struct {
				BaseRecords int64 `json:"base_records"`
				HeadRecords int64 `json:"head_records"`
			}
		}
	}
	read(&regress, "regress", "--since", "30m")
	if len(regress.Comparisons) != len(drawn) {
		t.Errorf("%d services were compared, want %d", len(regress.Comparisons), len(drawn))
	}
	for _, c := range regress.Comparisons {
		if c.BaseVersion != deploygen.BaseVersion || c.HeadVersion != deploygen.HeadVersion || len(c.Methods) != len(drawn[c.Service].Methods) {
			t.Errorf("%+v", c)
		}
		for _, m := range c.Methods {
			if m.BaseRecords < 500 || m.HeadRecords < 500 {
				t.Errorf("%s: %+v", c.Service, m)
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
