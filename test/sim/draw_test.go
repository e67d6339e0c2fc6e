//go:build !race

package sim

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Sums from drawTogether have the same means, variances and covariances as sums of single records.
func TestDrawTogether_MatchesSingleRecords(t *testing.T) {
	const requests, trials = 60, 20_000
	for _, within := range []float64{0.4, 1.2} {
		m := Method{within: within}
		limit := math.Exp(quantile995(m.sigma(), false))
		r := rand.New(rand.NewPCG(1, 2))
		single := func() drawnSums {
			var s drawnSums
			for range requests {
				shared := 0.1 + sharedByRequest*r.NormFloat64()
				for range 1 + poisson(r, moreInRequest) {
					s.addValue(shared+m.within*r.NormFloat64(), limit)
				}
			}
			return s
		}
		together := func() drawnSums { return m.drawTogether(r, 0.1, limit, requests) }
		a, b := momentsOf(trials, single), momentsOf(trials, together)
		for name, pair := range map[string][3]float64{
			"records":            {a.mean.n, b.mean.n, 0.005},
			"mean of sums":       {a.mean.x, b.mean.x, 0.01},
			"mean of capped":     {a.mean.capped, b.mean.capped, 0.005},
			"mean of logs":       {a.mean.log / requests, b.mean.log / requests, 0.01},
			"spread of capped":   {a.spreadCapped, b.spreadCapped, 0.04},
			"spread of logs":     {a.spreadLog, b.spreadLog, 0.03},
			"spread of sums":     {a.spreadSum, b.spreadSum, 0.12},
			"correlation of two": {a.correlation, b.correlation, 0.03},
		} {
			if math.Abs(pair[1]/pair[0]-1) > pair[2] {
				t.Errorf("within %v: %s: one by one %.4g, together %.4g", within, name, pair[0], pair[1])
			}
		}
	}
}

type moments struct {
	mean                                            drawnSums
	spreadSum, spreadCapped, spreadLog, correlation float64
}

// momentsOf computes means per record, because the number of records varies.
func momentsOf(trials int, draw func() drawnSums) moments {
	var m moments
	var xx, cc, ll, cl float64
	draws := make([]drawnSums, trials)
	for i := range draws {
		s := draw()
		draws[i] = s
		m.mean.n += s.n / float64(trials)
		m.mean.x += s.x / float64(trials)
		m.mean.capped += s.capped / float64(trials)
		m.mean.log += s.log / float64(trials)
	}
	for _, s := range draws {
		// Residuals of a regression on the number of records, as the judge uses them.
		x := s.x - s.n*m.mean.x/m.mean.n
		c := s.capped - s.n*m.mean.capped/m.mean.n
		l := s.log - s.n*m.mean.log/m.mean.n
		xx, cc, ll, cl = xx+x*x, cc+c*c, ll+l*l, cl+c*l
	}
	m.spreadSum, m.spreadCapped, m.spreadLog = math.Sqrt(xx/float64(trials)), math.Sqrt(cc/float64(trials)), math.Sqrt(ll/float64(trials))
	m.correlation = cl / math.Sqrt(cc*ll)
	return m
}

func TestQuantile995_ShareAboveCap(t *testing.T) {
	for _, tail := range []bool{false, true} {
		m := Method{within: 0.8, tail: tail}
		limit := quantile995(m.sigma(), tail)
		r := rand.New(rand.NewPCG(3, 4))
		above := 0
		const n = 400_000
		for range n {
			if m.within*r.NormFloat64()+sharedByRequest*r.NormFloat64()+m.tailOf(r) > limit {
				above++
			}
		}
		if share := float64(above) / n; math.Abs(share-0.005) > 0.0005 {
			t.Errorf("tail %v: %.4f%% of records above the cap, want 0.5%%", tail, 100*share)
		}
	}
}

func TestPoisson_MeanAndVariance(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, mean := range []float64{0.3, 5, 11.9, 12.1, 400} {
		const n = 50_000
		var sum, squares float64
		for range n {
			k := float64(poisson(r, mean))
			sum, squares = sum+k, squares+k*k
		}
		m := sum / n
		v := squares/n - m*m
		if math.Abs(m/mean-1) > 0.02 || math.Abs(v/mean-1) > 0.04 {
			t.Errorf("Poisson of mean %v has mean %.3f and variance %.3f", mean, m, v)
		}
	}
}

func TestInstance_ColdFallsToZero(t *testing.T) {
	in := instance{from: 2, to: 10, warm: 8}
	var got []float64
	for bucket := 2; bucket < 6; bucket++ {
		got = append(got, in.cold(bucket))
	}
	// (1 + 3/8)/2 over the whole first bucket, (3/8)/2 over 3 minutes of the second.
	want := []float64{0.6875, 0.1125, 0, 0}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-12 {
			t.Fatalf("cold %v, want %v", got, want)
		}
	}
}

func TestDraw_Repeatable(t *testing.T) {
	p := Plan{Methods: 20, Changed: 0.5, Effects: []float64{0.1}, Samples: true}
	a := Draw(p, 7, 3, nil)
	cells := slices.Clone(a.Cells)
	b := Draw(p, 7, 3, Draw(p, 8, 1, nil))
	if !slices.Equal(cells, b.Cells) {
		t.Error("the same seed drew other cells")
	}
	if slices.Equal(cells, Draw(p, 7, 4, nil).Cells) {
		t.Error("another run drew the same cells")
	}
}
