package verdict

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/fixture"
)

// Deployments of the last 28 days say what hosts of a service differ by, however short the
// window is; older ones and those of other services do not.
func TestEarlierDeploymentsSayWhatHostsDifferBy(t *testing.T) {
	shop := func(seed uint64, version string, start time.Time) []methodspan.Item {
		items, _ := fixture.Shop{Seed: seed, Version: version, Start: start, Minutes: 15, Requests: 12, Instances: []string{version + "a", version + "b"}}.Run()
		return items
	}
	newest := append(shop(1, "10", fixture.Start), shop(2, "11", fixture.Start.Add(2*time.Second))...)
	earlier := func(days int, service string) (items []methodspan.Item) {
		for n := range 5 { // two versions at a time
			start := fixture.Start.Add(-time.Duration(days-2*n) * day)
			items = append(items, shop(uint64(10+2*n), fmt.Sprint(2*n), start)...)
			items = append(items, shop(uint64(11+2*n), fmt.Sprint(2*n+1), start.Add(2*time.Second))...)
		}
		for i := range items {
			for j := range items[i].Rows {
				items[i].Rows[j].Resource.Service = service
			}
		}
		return items
	}
	seen := func(items []methodspan.Item, written int) (percent float64, from string) {
		root := t.TempDir()
		if items != nil {
			fixture.Append(t, root, fixture.Start.Add(-time.Duration(written)*day), items)
		}
		fixture.Append(t, root, fixture.Start.Add(day), newest)
		week := query.Window{From: fixture.Start.Add(-7 * day)}
		w, err := query.Open(t.Context(), root, week)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		runs, err := w.RunsBy(t.Context(), time.Minute, week, query.Filter{Service: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		pairs, skips, err := Pairs(runs, "", "")
		if err != nil || len(pairs) != 1 || len(pairs[0].Earlier) > 0 {
			t.Fatal(pairs, skips, err)
		}
		c, _, err := EvidenceRule{}.Compare(t.Context(), w, query.Filter{}, pairs, Options{WarmUp: -1, Bucket: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range c[0].Methods {
			if l.full == fixture.Rate && l.Seen90Percent != nil {
				return *l.Seen90Percent, c[0].Spreads.From
			}
		}
		t.Fatal("the method is not judged")
		return 0, ""
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
		{"10 to 20 days ago", earlier(18, "shop"), 9, true},
		{"37 to 45 days ago", earlier(45, "shop"), 36, false},
		{"of another service", earlier(18, "other"), 9, false},
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
