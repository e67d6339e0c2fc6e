package query

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/maintain"
	"github.com/corehour/corehour/regression/stats"
	"github.com/corehour/corehour/test/fixture"
)

// comparedOnSums maps each statement to the helper that compares it on raw rows and on rollup rows. A new statement
// must be added here.
var comparedOnSums = map[string]string{
	"profile": "ask", "days": "ask", "cost": "ask and askMore", "bill": "ask and askMore", "runs": "ask", "user": "ask", "create_method_cost": "ask",
	"members": "askMore", "cells": "askMore", "history": "askMore", "places": "askMore", "priced": "askMore", "classes": "askMore", "services": "askMore", "stock": "askMore", "sampling": "askMore",
	"distribution": "distributionOf", "percentiles": "spreadsOf", "tails": "tailsOf",
	"stats_of_sums": "TestProbes_RolledUpDates of package cost",
	// Statements about single processes, items and files, which rollup rows do not contain.
	"processes": "wantNothingOfSums", "last_stats": "wantNothingOfSums", "duplicates": "wantNothingOfSums", "freshness": "wantNothingOfSums",
	"batches": "wantNothingOfSums", "measured_above_counted": "wantNothingOfSums", "once": "wantNothingOfSums",
	"pending": "wantNothingOfSums", "assumed": "askMore", "merged": "askMore",
	// Relations that users' statements read: see TestStoredWeights_EqualView.
	"create_weights": "ask", "create_method_cost_of_weights": "ask",
	// Parts of other statements, and statements for BigQuery alone.
	"last_beats": "", "method_cost": "", "weights": "", "records": "", "sums": "", "weighted": "", "weighted_rows": "", "weighed": "", "with_cost": "",
	"cpu_factor": "", "wall_factor": "", "cell_of_weight": "", "uncounted": "", "create_uncounted": "", "uncounted_from": "", "is_pending": "", "of_sums": "", "tallied_sums": "", "view_of_method_cost": "", "extent": "",
}

func TestRollup_EveryStatementCompared(t *testing.T) {
	found := 0
	for _, tmpl := range templates.Templates() {
		if tmpl.Name() == "" || strings.HasSuffix(tmpl.Name(), ".sql") {
			continue
		}
		found++
		if _, ok := comparedOnSums[tmpl.Name()]; !ok {
			t.Errorf("nothing compares what %q says of raw rows with what it says of sums", tmpl.Name())
		}
	}
	if found != len(comparedOnSums) {
		t.Errorf("%d statements are listed, there are %d", len(comparedOnSums), found)
	}
}

// askMore runs the statements that ask does not run.
func askMore(t *testing.T, root string) answers {
	t.Helper()
	ctx := context.Background()
	w, err := Open(ctx, root, Window{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	a := answers{}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}

	services, err := w.Services(ctx)
	must(err)
	for _, s := range services {
		a.add("service "+s.String(), 1)
	}
	hosts, all, err := w.Priced(ctx, Window{}, Filter{})
	must(err)
	if !all {
		t.Error("not all hosts are listed")
	}
	for _, p := range hosts {
		a.add(fmt.Sprint("priced ", p.Place, p.Source, p.USD), p.CPUNS)
	}
	stocks, err := w.Stocks(ctx, Window{}, Filter{})
	must(err)
	for _, s := range stocks { // without the number of rows, which a rollup reduces
		a.add("stock "+s.String()+" foreign calls", s.ForeignCalls)
		a.add("stock "+s.String()+" assumed calls", s.AssumedCalls)
		a.add("stock "+s.String()+" first", float64(s.First.UnixNano()))
		a.add("stock "+s.String()+" last", float64(s.Last.UnixNano()))
	}

	assumed, err := w.Assumed(ctx, Window{}, Filter{})
	must(err)
	for _, s := range assumed {
		a.add(fmt.Sprintf("assumed %v %q", s.MethodName, s.Version), s.Calls)
	}

	merged, err := w.Merged(ctx, Window{}, Filter{})
	must(err)
	for _, s := range merged {
		a.add("merged "+s.String(), 1)
	}

	samplings, err := w.Sampling(ctx, Window{}, Filter{})
	must(err)
	for _, s := range samplings { // probabilities exist for raw rows only
		name := fmt.Sprintf("sampling %s %s %q ", s.Service, s.Full, s.Version)
		a.add(name+"calls", s.Calls)
		a.add(name+"measured", float64(s.Measured))
		a.add(name+"cpu measured", float64(s.CPUMeasured))
	}

	place := func(p Place) float64 {
		a["place "+fmt.Sprintf("%+v", p)] = 1
		return 0.07
	}
	owner := func(c Class) string { return "team of " + c.Class }
	for _, group := range [][]string{{"owner"}, {"service", "version"}, {"class", "method"}} {
		costs, err := w.Costs(ctx, CostQuery{TimeBucket: time.Hour, Group: group, Owners: owner, Price: place})
		must(err)
		for _, g := range costs.Groups {
			a.add(fmt.Sprintf("group %v %+v n", group, g.Group), g.N)
		}
		for _, e := range costs.Edges {
			a.add(fmt.Sprintf("edge %v %s %s %s n", group, e.Version, e.Caller, e.Callee), e.N)
			a.add(fmt.Sprintf("edge %v %s %s %s x", group, e.Version, e.Caller, e.Callee), e.X)
		}
		for _, m := range costs.Methods {
			a.add(fmt.Sprintf("owned %v %s %s x", group, m.Owner, m.Full), m.X)
			a.add(fmt.Sprintf("owned %v %s %s usd self usd", group, m.Owner, m.Full), m.SelfUSD)
		}
	}
	wall, err := w.Costs(ctx, CostQuery{TimeBucket: time.Hour, Metric: Wall})
	must(err)
	for _, m := range wall.Methods {
		a.add(fmt.Sprintf("wall %v %s n", m.Version, m.Full), m.N)
		a.add(fmt.Sprintf("wall %v %s x", m.Version, m.Full), m.X)
		a.add(fmt.Sprintf("wall %v %s self x", m.Version, m.Full), m.SelfX)
	}
	bills, err := w.Bills(ctx, CostQuery{Price: place})
	must(err)
	for _, b := range bills {
		a.add("bill "+b.Service.String()+" cpu", b.CPUNS)
		a.add("bill "+b.Service.String()+" usd", b.CPUUSD)
		a.add("bill "+b.Service.String()+" unpriced", b.UnpricedCPUNS)
		a.add("bill "+b.Service.String()+" unpriced paid", b.UnpricedPaidNS)
	}
	for _, b := range bills {
		a.add("observed "+b.Service.String()+" first", float64(b.First.UnixNano()))
		a.add("observed "+b.Service.String()+" counted", float64(b.Counted.UnixNano()))
	}

	compared := comparedVersions(services[0])
	processes, err := w.Processes(ctx, compared[0], compared[1])
	must(err)
	var members []Member
	for _, p := range processes {
		a.add(fmt.Sprintf("members %s measured", p.Side), float64(p.Measured))
		a.add(fmt.Sprintf("members %s cpu", p.Side), float64(p.CPUMeasured))
		members = append(members, Member{Process: p})
	}
	grid := Grid{Begin: fixture.Start.Truncate(24 * time.Hour), TimeBucket: time.Hour}
	var chosen []MethodName
	for _, metric := range []Metric{CPU, Wall} {
		cells, err := w.Cells(ctx, metric, compared[0], compared[1], members, grid)
		must(err)
		for _, c := range cells {
			name := fmt.Sprintf("cell %s %s %q %d ", metric, c.Full, c.Caller, c.TimeBucket)
			a.add(name+"records", c.Records)
			a.add(name+"weight", c.Weight)
			a.add(name+"sum", c.Sum)
			a.add(name+"timed wall", c.TimedWall)
			a.add(name+"timed cpu", c.TimedCPU)
			a.add(name+"~capped", c.Capped)
			if c.Weight > 0 {
				a.add(name+"~mean of logs", math.Exp(c.Log/c.Weight))
			}
			if m := (MethodName{services[0], c.Class, c.Method}); !slices.Contains(chosen, m) {
				chosen = append(chosen, m)
			}
		}
		points, err := w.History(ctx, ProfileQuery{Metric: metric, TimeBucket: time.Hour}, time.Hour, chosen)
		must(err)
		for _, p := range points {
			name := fmt.Sprintf("history %s %s.%s %s %s ", metric, p.Class, p.Method, p.Version, p.At.Format(time.RFC3339))
			a.add(name+"calls", p.Calls)
			a.add(name+"records", float64(p.Records))
			a.add(name+"n", p.N)
			a.add(name+"x", p.X)
		}
	}
	return a
}

func comparedVersions(s Service) [2]Compared {
	return [2]Compared{
		{Service: s, Side: SideBase, Version: "1", TimeBucket: time.Hour}, {Service: s, Side: SideHead, Version: "2", TimeBucket: time.Hour},
	}
}

// spreadsOf returns the bins of the times of single calls. They are the same for rollup rows, since a histogram puts
// a call into the bin that it has by itself. A rollup row does not record which of its calls had both times: for
// WallOfBoth only the number of calls is the same.
func spreadsOf(t *testing.T, root string) answers {
	t.Helper()
	w, err := Open(context.Background(), root, Window{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	spreads, err := w.Spreads(context.Background(), Window{}, Filter{})
	if err != nil {
		t.Fatal(err)
	}
	a := answers{}
	for _, s := range spreads {
		for _, b := range s.Bins {
			if s.Metric == WallOfBoth {
				a.add(fmt.Sprintf("spread %s.%s %s", s.Class, s.Method, s.Metric), b.N)
				continue
			}
			a.add(fmt.Sprintf("spread %s.%s %s %d", s.Class, s.Method, s.Metric, b.Bin), b.N)
		}
	}
	return a
}

// tailsOf returns the numbers of timed calls by stratum, which show how skewed a method's costs are, and the mean of
// all calls. The sampling probability of a raw row sets its weight, and rollup rows are corrected for the counts: the
// means are the same except for chance.
func tailsOf(t *testing.T, root string) (timed answers, means map[MethodName]float64) {
	t.Helper()
	w, err := Open(context.Background(), root, Window{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	tails, err := w.Tails(context.Background(), Window{}, Filter{})
	if err != nil {
		t.Fatal(err)
	}
	timed, means = answers{}, map[MethodName]float64{}
	all := map[MethodName]*stats.Powers{}
	for _, tail := range tails {
		name := fmt.Sprintf("timed %s.%s above %v", tail.Class, tail.Method, tail.Above)
		timed.add(name, float64(tail.Measured))
		timed.add(name+" with CPU", float64(tail.CPUMeasured))
		if all[tail.MethodName] == nil {
			all[tail.MethodName] = &stats.Powers{}
		}
		all[tail.MethodName].Add(tail.Powers)
	}
	for name, p := range all {
		if p.N > 0 {
			means[name] = p.X / p.N
		}
	}
	return timed, means
}

// distributionOf returns the shares of calls by bins of a quarter of an octave. A call within 1% of the edge of a bin
// can fall into the neighboring bin.
func distributionOf(t *testing.T, root string) map[string][]Share {
	t.Helper()
	ctx := context.Background()
	w, err := Open(ctx, root, Window{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	costs, err := w.Costs(ctx, CostQuery{TimeBucket: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	var chosen []MethodName
	for _, m := range costs.Methods {
		if name := (MethodName{m.Service, m.Class, m.Method}); !slices.Contains(chosen, name) {
			chosen = append(chosen, name)
		}
	}
	out := map[string][]Share{}
	for _, metric := range []Metric{CPU, Wall} {
		shares, err := w.Distribution(ctx, ProfileQuery{Metric: metric}, chosen)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range shares {
			name := fmt.Sprintf("%s %s.%s %s", metric, s.Class, s.Method, s.Version)
			out[name] = append(out[name], s)
		}
	}
	return out
}

// wantDistribution requires the same calls. At the edge of each bin at most those calls can change sides that the
// finer bins place within 1% of the edge.
func wantDistribution(t *testing.T, got, want map[string][]Share, fine answers) {
	t.Helper()
	below := func(shares []Share, bin int64) (n float64) {
		for _, s := range shares {
			if s.Bin < bin {
				n += s.N
			}
		}
		return n
	}
	for name, w := range want {
		all := below(w, math.MaxInt64)
		if g := below(got[name], math.MaxInt64); math.Abs(g-all) > 3e-6*all+1e-6 {
			t.Errorf("distribution %s: %v calls, want %v", name, g, all)
		}
		for _, s := range w {
			edge := methodspan.BinOf(BinStart(s.Bin))
			near := 3e-6*all + 1e-6
			for bin := edge - 1; bin <= edge+1; bin++ {
				metric := CPU
				if name[:4] == "wall" {
					metric = Wall
				}
				near += fine[fmt.Sprintf("spread %s.%s %s %d", s.Class, s.Method, metric, bin)]
			}
			if g, b := below(got[name], s.Bin), below(w, s.Bin); math.Abs(g-b) > near {
				t.Errorf("distribution %s: %v calls below bin %d, want %v to %v", name, g, s.Bin, b, near)
			}
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d distributions, want %d", len(got), len(want))
	}
}

// wantNothingOfSums requires that statements about single processes, queue items and files return nothing for rollup
// rows, instead of wrong results.
func wantNothingOfSums(t *testing.T, root string) {
	t.Helper()
	ctx := context.Background()
	w, err := Open(ctx, root, Window{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if stats, err := w.ProcessStats(ctx, Window{}, Filter{}); err != nil || len(stats) != 0 {
		t.Errorf("%d statistics of processes, %v", len(stats), err)
	}
	if accounts, err := w.Accounts(ctx, Window{}, Filter{}, false); err != nil || len(accounts) != 0 {
		t.Errorf("%d accounts of processes, %v", len(accounts), err)
	}
	for _, once := range []bool{false, true} {
		err := w.Batches(ctx, Window{}, Filter{}, []Account{{}}, once, func(int, []Batch) { t.Error("batches of sums") })
		if err != nil {
			t.Error(err)
		}
	}
	if excess, err := w.MeasuredAboveCounted(ctx, Window{}, Filter{}, false); err != nil || len(excess) != 0 {
		t.Errorf("measured above counted %v, %v", excess, err)
	}
	if pending, err := w.Pending(ctx, Window{}, Filter{}); err != nil || len(pending) != 0 {
		t.Errorf("pending %v, %v", pending, err)
	}
	if duplicates, err := w.Duplicates(ctx, Filter{}); err != nil || len(duplicates) != 0 {
		t.Errorf("duplicates %v, %v", duplicates, err)
	}
	if fresh, err := w.Freshness(ctx, Window{}, Filter{}); err != nil || fresh.Known {
		t.Errorf("fresh within %s, %v", fresh.P99, err)
	}
}

// wantAlike compares results that come from histograms with a tolerance of 1%, and others to rounding.
func wantAlike(t *testing.T, what string, got, want answers, skip func(string) bool) {
	t.Helper()
	histogram := func(name string) bool { return strings.Contains(name, " ~") }
	compare(t, what, got, want, func(name string) bool { return histogram(name) || skip != nil && skip(name) })
	for name, w := range want {
		if g := got[name]; histogram(name) && math.Abs(g-w) > 0.0101*math.Abs(w) {
			t.Errorf("%s: %s is %v, want %v to 1%%", what, name, g, w)
		}
	}
}

// The other statements return the same results for rollup rows as for raw rows.
func TestRollup_OtherStatements(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	root := busyDates(t)
	raw, spreads, distributions := askMore(t, root), spreadsOf(t, root), distributionOf(t, root)
	tails, means := tailsOf(t, root)
	end := fixture.Start.Truncate(24 * time.Hour).Add(24 * time.Hour)
	for _, level := range []struct {
		name   string
		age    time.Duration
		policy maintain.Policy
		skip   func(string) bool
	}{
		{"by minute", 48 * time.Hour, maintain.Policy{MinuteAfter: 24 * time.Hour}, nil},
		{"by hour", 96 * time.Hour, maintain.Policy{HourAfter: 72 * time.Hour}, shared},
	} {
		if report := runMaintenance(t, root, end.Add(level.age), level.policy); len(report.Steps) != 2 {
			t.Fatalf("%+v", report)
		}
		wantAlike(t, level.name, askMore(t, root), raw, level.skip)
		wantAlike(t, level.name, spreadsOf(t, root), spreads, nil)
		timed, sums := tailsOf(t, root)
		wantAlike(t, level.name, timed, tails, nil)
		for name, mean := range means {
			if math.Abs(sums[name]/mean-1) > 0.1 {
				t.Errorf("%s: a call of %v takes %.4g ms, of raw rows %.4g ms", level.name, name, sums[name], mean)
			}
		}
		wantDistribution(t, distributionOf(t, root), distributions, spreads)
		wantNothingOfSums(t, root)
	}
}
