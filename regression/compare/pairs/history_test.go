package pairs

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/bigquery"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/fake"
	"github.com/corehour/corehour/test/fixture"
	"github.com/corehour/corehour/test/fixture/remote"
)

// deployedBefore returns five earlier deployments of two versions of a service, starting the given number of days ago.
func deployedBefore(days int, service string) (items []methodspan.Item) {
	for n := range 5 {
		start := fixture.Start.Add(-time.Duration(days-2*n) * day)
		items = append(items, shopOf(uint64(10+2*n), fmt.Sprint(2*n), start)...)
		items = append(items, shopOf(uint64(11+2*n), fmt.Sprint(2*n+1), start.Add(2*time.Second))...)
	}
	for i := range items {
		for j := range items[i].Rows {
			items[i].Rows[j].Resource.Service = service
		}
	}
	return items
}

func shopOf(seed uint64, version string, start time.Time) []methodspan.Item {
	items, _ := fixture.Shop{Seed: seed, Version: version, Start: start, Minutes: 15, Requests: 12, Instances: []string{version + "a", version + "b"}}.Run()
	return items
}

// warehouseOf stores items, written the given number of days ago, and two current versions.
func warehouseOf(t *testing.T, items []methodspan.Item, written int) string {
	root := t.TempDir()
	if items != nil {
		fixture.Append(t, root, fixture.Start.Add(-time.Duration(written)*day), items)
	}
	fixture.Append(t, root, fixture.Start.Add(day), append(shopOf(1, "10", fixture.Start), shopOf(2, "11", fixture.Start.Add(2*time.Second))...))
	return root
}

// hostsDiffer compares in a window of a week. It returns the change of a method that would have been found, and the
// origin of the spread of hosts.
func hostsDiffer(t *testing.T, address string, o Options, options ...query.Option) (percent float64, from string) {
	t.Helper()
	week := query.Window{From: fixture.Start.Add(-7 * day)}
	w, err := query.Open(t.Context(), address, week, options...)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	runs, err := w.RunsBy(t.Context(), time.Minute, week, query.Filter{Service: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	pairs, skips, err := Choose(runs, "", "")
	if err != nil || len(pairs) != 1 || len(pairs[0].Earlier) > 0 {
		t.Fatal(pairs, skips, err)
	}
	o.WarmUp, o.Bucket = -1, time.Minute
	c, _, err := EvidenceRule{}.Compare(t.Context(), w, query.Filter{}, pairs, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range c[0].Methods {
		if l.FullName == fixture.Rate && l.Seen90Percent != nil {
			return *l.Seen90Percent, c[0].Spreads.From
		}
	}
	t.Fatal("the method is not judged")
	return 0, ""
}

// The differences between hosts are learned from deployments of the service in the last 28 days, however short the
// window is; not from older ones, nor from those of other services.
func TestHistory_HostSpreadFromLast28Days(t *testing.T) {
	fixture.SkipRaced(t)
	seen := func(items []methodspan.Item, written int) (percent float64, from string) {
		return hostsDiffer(t, warehouseOf(t, items, written), Options{})
	}
	none, from := seen(nil, 0)
	if from != "these processes and the defaults" {
		t.Errorf("without earlier deployments spreads are from %s", from)
	}
	for _, c := range []struct {
		name    string
		items   []methodspan.Item
		written int // days ago
		learned bool
	}{
		{"10 to 20 days ago", deployedBefore(18, "shop"), 9, true},
		{"37 to 45 days ago", deployedBefore(45, "shop"), 36, false},
		{"of another service", deployedBefore(18, "other"), 9, false},
	} {
		got, from := seen(c.items, c.written)
		if strings.Contains(from, "earlier deployments of the service") != c.learned {
			t.Errorf("%s: spreads are from %s", c.name, from)
		}
		if c.learned && got > 0.9*none || !c.learned && math.Abs(got-none) > 0.01*none {
			t.Errorf("%s: +%.1f%% would have been seen, without +%.1f%%", c.name, got, none)
		}
	}
}

// BigQuery bills reads: earlier deployments are read only once, and cost no more than the comparisons themselves.
func TestHistory_BigQueryReadsOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	root := warehouseOf(t, deployedBefore(18, "shop"), 9)
	percent, from := hostsDiffer(t, root, Options{})
	s, address := remote.Serve(t, root)
	asked := 0
	answer := s.Query
	s.Query = func(q fake.Query) (*fake.Result, error) {
		if !q.DryRun {
			asked++
		}
		return answer(q)
	}
	spent := new(bigquery.Spent)
	for range 20 { // a command with many services reads as much
		w, err := query.Open(t.Context(), address, query.Window{}, query.CountBytes(spent))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	o := Options{Remembered: new(Remembered), AsOf: fixture.Start.Add(day)}
	count := func() int {
		asked = 0
		gotPercent, gotFrom := hostsDiffer(t, address, o, query.CountBytes(spent))
		if gotFrom != from || math.Abs(gotPercent-percent) > 1e-6 {
			t.Errorf("+%g%% from %s; from files +%g%% from %s", gotPercent, gotFrom, percent, from)
		}
		return asked
	}
	first := count()
	alone := count()
	if history := first - alone; history < 2+3*earlierPairs {
		t.Errorf("%d queries, and %d where history is known", first, alone)
	}
	o.AsOf = o.AsOf.Add(rememberFor)
	if again := count(); again != first {
		t.Errorf("%d queries after a day, %d before", again, first)
	}
	asked = 0
	_, few := hostsDiffer(t, address, Options{}, query.CountBytes(new(bigquery.Spent)))
	if want := "these processes, an earlier deployment of the service and the defaults"; few != want || asked > 2*alone {
		t.Errorf("%d queries and %q, without history %d; want %q", asked, few, alone, want)
	}
	asked = 0
	o.Remembered = new(Remembered)
	_, none := hostsDiffer(t, address+fmt.Sprintf("&max_bytes_billed=%d", alone*fake.DryRunBytes), o, query.CountBytes(new(bigquery.Spent)))
	if none != "these processes and the defaults" || asked != alone {
		t.Errorf("%d queries and %q where the limit leaves none over", asked, none)
	}
	count() // a failed read is not cached

	// With a small table, each query is billed for more than the sum of what the queries read.
	s.QueryBytes = 1000
	if _, few := hostsDiffer(t, address, Options{}, query.CountBytes(new(bigquery.Spent))); few != "these processes, an earlier deployment of the service and the defaults" {
		t.Errorf("of a small table: %q", few)
	}
}
