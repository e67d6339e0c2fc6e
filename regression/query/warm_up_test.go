package query

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/test/fixture"
)

// Rows that began before the end of their process's warm-up are left out, in buckets of rows and of rollup sums. If
// the start of a process is unknown, its first row in the window counts as its start.
func TestWarmUp_Excluded(t *testing.T) {
	const warmUp = 3 * time.Minute
	late := fixture.Start.Add(10 * time.Minute)
	var items []methodspan.Item
	for version, start := range map[string]time.Time{"1": fixture.Start, "2": fixture.Start.Add(5 * time.Minute)} {
		run, _ := fixture.Shop{Seed: 1, Version: version, Instances: []string{"known", "unknown"}, Start: start, Minutes: 20, Requests: 4}.Run()
		for i := range run {
			for j := range run[i].Rows {
				if r := run[i].Rows[j].Resource; r.Instance == "unknown" {
					r.ProcessStartNS = 0
				}
			}
		}
		items = append(items, run...)
	}
	w, err := Open(t.Context(), fixture.Write(t, items), Window{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	shop := Service{Namespace: "store", Name: "shop", Environment: "production"}
	for _, from := range []time.Time{fixture.Start, late} {
		type sum struct{ n, x float64 }
		want := map[string]sum{}
		for _, item := range items {
			for i := range item.Rows {
				r := &item.Rows[i]
				start := timeOf(r.Resource.ProcessStartNS)
				if r.Resource.ProcessStartNS == 0 {
					start = fixture.Start
					if r.Resource.Version == "2" {
						start = fixture.Start.Add(5 * time.Minute)
					}
					if start.Before(from) {
						start = from
					}
				}
				if began := timeOf(r.StartNS); r.Kind == methodspan.KindCall && !began.Before(from) && !began.Before(start.Add(warmUp)) {
					key := r.Resource.Version + " " + r.Class + "." + r.Method
					want[key] = sum{want[key].n + 1, want[key].x + float64(r.CPUNS)}
				}
			}
		}
		for _, timeBucket := range []time.Duration{time.Minute, time.Hour} {
			window := Window{From: from, To: fixture.Start.Add(time.Hour)}
			profiles, _, err := w.Profiles(t.Context(), ProfileQuery{Metric: CPU, WarmUp: warmUp, Compared: []Compared{
				{Service: shop, Side: SideBase, Version: "1", Window: window, TimeBucket: timeBucket},
				{Service: shop, Side: SideHead, Version: "2", Window: window, TimeBucket: timeBucket},
			}})
			if err != nil || len(profiles) != len(want) || len(want) != 8 {
				t.Fatal(len(profiles), len(want), err)
			}
			for _, p := range profiles {
				where := fmt.Sprintf("from %v in slots of %v, version %s: %s", from, timeBucket, p.Version, p.Full)
				if sum := want[p.Version+" "+p.Full]; float64(p.Records) != sum.n || math.Abs(p.N-sum.n) > 1e-6 || math.Abs(p.X-sum.x) > 1e-6*sum.x {
					t.Errorf("%s: %d records, %v calls, %v ns: want %+v", where, p.Records, p.N, p.X, sum)
				}
			}
		}
	}
}
