package query

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/test/fixture"
)

// started simulates a process whose calls cost twice as much in its first second. Its counts are flushed once after
// this second, when new rates arrive, and then each minute. It returns the rows sent in each interval, in order, and
// the total cost of all calls of each interval.
func started(seed uint64, instance string, start time.Time, minutes int) (measured, counted [][]methodspan.Row, truth []float64) {
	rng := rand.New(rand.NewPCG(seed, 7))
	ends := []time.Time{start.Add(time.Second)}
	for m := range minutes {
		ends = append(ends, start.Truncate(time.Minute).Add(time.Duration(m+1)*time.Minute))
	}
	p := fixture.NewProcess("1", instance, start)
	from := start
	for i, end := range ends {
		calls, cost := int64(0), 0.0
		for at := from; at.Before(end); at = at.Add(5 * time.Millisecond) {
			cpu := 1e6 * (0.5 + rng.Float64())
			if i == 0 {
				cpu *= 2
			}
			calls, cost = calls+1, cost+math.Round(cpu)
			if rng.Float64() < 0.1 {
				p.Call("m.M", "(entry)", at, time.Duration(cpu), time.Duration(math.Round(cpu)), 0.1, 1)
			}
		}
		measured = append(measured, p.Item().Rows)
		p.Counts("m.M", from, end.Sub(from), calls)
		p.Beat(from, end.Sub(from), time.Duration(1.1*cost), false)
		counted = append(counted, p.Item().Rows)
		truth = append(truth, cost)
		from = end
	}
	return measured, counted, truth
}

// total returns the total that the statements compute from rows. If thorough, the total of the view must be the same.
func total(t *testing.T, root string, thorough bool) (ns float64, pending int64) {
	t.Helper()
	w, err := Open(t.Context(), root, Window{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	costs, err := w.Costs(t.Context(), CostQuery{TimeBucket: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	waiting, err := w.Pending(t.Context(), Window{}, Filter{})
	if err != nil {
		t.Fatal(err)
	}
	var cost float64
	var measured int64
	for _, m := range costs.Methods {
		cost += m.X
	}
	for _, p := range waiting {
		measured += p.Measured
	}
	if !thorough {
		return cost, measured
	}
	table, err := w.User(t.Context(), `SELECT COALESCE(SUM(w * cpu_ns), 0), CAST(COALESCE(SUM(CASE WHEN cell = 'pending' THEN measured END), 0) AS BIGINT),
		CAST(COALESCE(SUM(CASE WHEN cell = 'pending' AND w_wall IS NOT NULL THEN 1 END), 0) AS BIGINT) FROM method_cost`, 1)
	if err != nil {
		t.Fatal(err)
	}
	ns, pending = table.Rows[0][0].(float64), table.Rows[0][1].(int64)
	if n := table.Rows[0][2].(int64); n != 0 {
		t.Errorf("%d pending rows have a weight", n)
	}
	profiles, _, err := w.Profiles(t.Context(), ProfileQuery{Metric: CPU, TimeBucket: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	var profile float64
	for _, m := range profiles {
		profile += m.X
	}
	if math.Abs(cost-ns) > 1e-9*ns || math.Abs(profile-ns) > 1e-9*ns || measured != pending {
		t.Errorf("the view says %v ns and %d pending, cost %v, profile %v, pending %d", ns, pending, cost, profile, measured)
	}
	return ns, pending
}

// Rows of several processes arrive in any order and stop at any point, counts any time after measurements. The total
// is that of the counted calls, and measurements without counts are pending. Nothing depends on the order.
func TestPending_TotalsAtEveryArrival(t *testing.T) {
	fixture.SkipLong(t)
	start := fixture.Start.Add(20*time.Minute + 47*time.Second)
	var queues [][][]methodspan.Row // rows of each process, in sending order
	truths := map[int]float64{}     // true cost behind the counts at each position of the queues
	place := func(q, i int) int { return q*1000 + i }
	for q, instance := range []string{"a", "b", "c"} {
		measured, counted, truth := started(uint64(q+1), instance, start.Add(time.Duration(q)*3*time.Second), 2)
		var queue [][]methodspan.Row
		for i := range counted {
			// Measurements are sent in parts, followed by their counts.
			half := len(measured[i]) / 2
			queue = append(queue, measured[i][:half], measured[i][half:], counted[i])
			truths[place(q, len(queue)-1)] = truth[i]
		}
		queues = append(queues, queue)
	}
	for seed := range uint64(2) {
		rng := rand.New(rand.NewPCG(seed, 5))
		next := make([]int, len(queues))
		var items []methodspan.Item
		known, arrived, seen := 0.0, make([]int, len(queues)), 0
		for {
			q := rng.IntN(len(queues))
			for k := 0; k < len(queues) && next[q] == len(queues[q]); k++ {
				q = (q + 1) % len(queues)
			}
			if next[q] == len(queues[q]) {
				break
			}
			i := next[q]
			next[q]++
			if len(queues[q][i]) == 0 {
				continue
			}
			items = append(items, fixture.Items(fmt.Sprintf("%d-%d", q, i), queues[q][i]...)...)
			known += truths[place(q, i)]
			if i%3 == 2 {
				arrived[q] = i + 1
			}
			want := int64(0)
			for k := range queues {
				for _, rows := range queues[k][arrived[k]:next[k]] {
					want += int64(len(rows))
				}
			}
			ns, pending := total(t, fixture.Write(t, items), len(items)%6 == 0)
			seen++
			if pending != want {
				t.Errorf("seed %d after %d items: %d pending of %d", seed, len(items), pending, want)
			}
			// The first second has some 20 records per process, with a relative error of 6%.
			if known == 0 && ns != 0 || known > 0 && math.Abs(ns/known-1) > 0.15 {
				t.Errorf("seed %d after %d items: %v ns of %v", seed, len(items), ns, known)
			}
		}
		if seen < 24 {
			t.Fatalf("%d points only", seen)
		}
	}
}

// Measurements of a killed process are pending for an hour and then count like others. Within the newest hour, the
// clock of another service has no effect.
func TestPending_Ends(t *testing.T) {
	measured, counted, _ := started(1, "a", fixture.Start, 1)
	rows := append(append(append([]methodspan.Row{}, measured[0]...), counted[0]...), measured[1]...) // killed
	for _, test := range []struct {
		later time.Duration
		want  int64
	}{{30 * time.Minute, int64(len(measured[1]))}, {61*time.Minute + time.Minute, 0}} {
		other := fixture.NewProcess("1", "z", fixture.Start)
		other.Resource.Service = "other"
		other.Beat(fixture.Start.Add(test.later), time.Minute, time.Second, false)
		_, pending := total(t, fixture.Write(t, fixture.Items("a", rows...), []methodspan.Item{other.Item()}), true)
		if pending != test.want {
			t.Errorf("%v later %d are pending, want %d", test.later, pending, test.want)
		}
	}
}
