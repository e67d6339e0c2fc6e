package evidence_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/corehour/corehour/regression/compare/evidence"
)

// Both versions are the same, and a method has few records, a few of them much more expensive than the others. The
// interval of the change must contain 0 in the stated share of draws, because either version can have more of these
// calls by chance.
func TestEvaluate_IntervalCoversRareExpensiveCalls(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("long arithmetic on one goroutine: runs without -short and without -race")
	}
	for _, c := range []struct {
		name       string
		rare, cost float64 // share of expensive calls, and how many times as much they cost
		sigma      float64 // standard deviation of the logarithms
	}{
		{"one in 20 at 20 times", 0.05, 20, 0.2},
		{"one in 100 at 100 times", 0.01, 100, 0.2},
		{"one in 50 at 10 times", 0.02, 10, 0.2},
		{"lognormal", 0, 1, 1.5},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, records := range []int{40, 80, 400} {
				const runs = 300
				r := rand.New(rand.NewPCG(7, uint64(records)))
				held, judged := 0, 0
				for range runs {
					d := sameTwice(r, records, func() float64 {
						x := 1e5 * math.Exp(c.sigma*r.NormFloat64())
						if r.Float64() < c.rare {
							x *= c.cost
						}
						return x
					})
					result, _, err := evidence.Evaluate(d, evidence.Defaults(), evidence.Memory{})
					if err != nil {
						t.Fatal(err)
					}
					v := &result.Methods[0]
					if !v.State.Judged() {
						continue
					}
					judged++
					if v.Inclusive.Interval[0] <= 0 && v.Inclusive.Interval[1] >= 0 {
						held++
					}
				}
				t.Logf("%d records: %d of %d hold", records, held, judged)
				if judged < runs*9/10 || float64(held) < 0.9*float64(judged) {
					t.Errorf("%d records: %d of %d judged, the interval holds in %d", records, judged, runs, held)
				}
			}
		})
	}
}

// sameTwice returns a deployment whose versions do not differ: one method with the given number of records per version,
// in two processes and ten buckets.
func sameTwice(r *rand.Rand, records int, draw func() float64) *evidence.Deployment {
	const processes, buckets, stands = 2, 10, 100 // stands is the number of calls per record
	d := &evidence.Deployment{
		Methods: []string{"m"}, Callers: []string{"(entry)"},
		Begin: time.Unix(1e9, 0), Bucket: time.Minute, Buckets: buckets,
	}
	costs := map[[2]int][]float64{}
	var all []float64
	for side := range 2 {
		for range processes {
			d.Instances = append(d.Instances, evidence.Instance{Side: evidence.Side(side)})
		}
		for range records {
			at := [2]int{side*processes + r.IntN(processes), r.IntN(buckets)}
			x := draw()
			costs[at], all = append(costs[at], x), append(all, x)
		}
	}
	slices.Sort(all)
	most := all[min(len(all)-1, int(0.995*float64(len(all))))]
	above := func(x, factor float64) float64 {
		if x > factor*most {
			return 1
		}
		return 0
	}
	for at, values := range costs {
		n := float64(len(values))
		c := evidence.Cell{Instance: int32(at[0]), Bucket: int32(at[1]), Records: n, Timed: n, Weight: stands * n, Calls: stands * n}
		for _, x := range values {
			c.Sum += stands * x
			c.Capped += stands * min(x, most)
			c.Log += stands * math.Log(x)
			c.Near += above(x, evidence.Near)
			c.Over += above(x, 1)
			c.Far += above(x, evidence.Far)
		}
		c.NearWeight, c.OverWeight, c.FarWeight = stands*c.Near, stands*c.Over, stands*c.Far
		d.Cells = append(d.Cells, c)
	}
	return d
}
