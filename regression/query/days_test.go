package query

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/test/fixture"
)

func daysOf(t *testing.T, root string, metric Metric, window Window) []MethodDay {
	t.Helper()
	ctx := context.Background()
	w, err := Open(ctx, root, window)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var out []MethodDay
	if err := w.Days(ctx, metric, window, Filter{Service: "shop"}, func(d *MethodDay) error {
		out = append(out, *d)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// Single calls are weighted, and those above the quantile are capped.
func TestDays_RawRows(t *testing.T) {
	p := fixture.NewProcess("1", "a", fixture.Start)
	for day := range 2 {
		at := fixture.Start.AddDate(0, 0, day)
		p.Counts("a.B", at, time.Minute, 4000)
		for i := range 1000 {
			cpu := time.Millisecond
			if day == 1 && i == 0 {
				cpu = time.Second // one recorded call in 2000
			}
			p.Call("a.B", "a.C", at.Add(time.Duration(i)*time.Millisecond), 2*time.Second, cpu, 0.25, 1)
		}
	}
	days := daysOf(t, fixture.Write(t, []methodspan.Item{p.Item()}), CPU, Window{})
	if len(days) != 2 {
		t.Fatalf("%+v", days)
	}
	for i, d := range days {
		date := fixture.Start.AddDate(0, 0, i).Truncate(24 * time.Hour)
		if d.Full != "a.B" || d.Caller != "a.C" || d.Class != "a" || d.Method != "B" || d.Name != "shop" || !d.Date.Equal(date) {
			t.Errorf("%+v", d)
		}
		if d.Records != 1000 || math.Abs(d.Weight-4000) > 1e-6 {
			t.Errorf("%v records stand for %v calls", d.Records, d.Weight)
		}
		if mean := d.Capped / d.Weight; mean < 1e6 || mean > 1.03e6 {
			t.Errorf("day %d: a call takes %v ns", i, mean)
		}
		if mean := d.Log / d.Weight; math.Abs(mean-math.Log(1e6)) > 0.01 {
			t.Errorf("day %d: the mean logarithm is %v", i, mean)
		}
	}
}

// Rollup rows count as the calls they represent, capped in their histograms.
func TestDays_Rollups(t *testing.T) {
	d := fixture.Daily{Seed: 1, Methods: []string{"a.B"}, First: fixture.Start.Truncate(24 * time.Hour), Days: 5, Records: 500, WallOnly: true}
	root := d.Write(t)
	if days := daysOf(t, root, CPU, Window{}); len(days) != 0 {
		t.Errorf("no CPU was measured, found %+v", days)
	}
	window := Window{From: d.First.AddDate(0, 0, 1), To: d.First.AddDate(0, 0, 4)}
	days := daysOf(t, root, Wall, window)
	if len(days) != 6 { // two callers each
		t.Fatalf("%+v", days)
	}
	for _, d := range days {
		factor := 1.0
		if d.Caller != methodspan.CallerEntry {
			factor = 2
		}
		mean, level := d.Capped/d.Weight, d.Log/d.Weight
		if d.Records != 500 || math.Abs(d.Weight-50_000) > 1e-6 {
			t.Errorf("%v records stand for %v calls", d.Records, d.Weight)
		}
		// The mean of this lognormal is exp(0.5^2/2) = 1.133 times 1e5; capping one call in 200 lowers it a little.
		if mean/factor < 1.08e5 || mean/factor > 1.17e5 || math.Abs(level-math.Log(1e5*factor)) > 0.05 {
			t.Errorf("%s: mean %v, mean logarithm %v", d.Caller, mean, level)
		}
	}
}
