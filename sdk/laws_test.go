package corehour

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

var (
	lawful   = NewMethod("laws.Lawful")
	switched = NewMethod("laws.Switched")
)

// A statistical test of a true hypothesis fails at its significance level: over many seeds neither more
// often (the sampling is wrong) nor less (the test is blind). This checks the share of chosen calls, the
// runs of choices, and the gaps.
func TestSamplingTests_FailAtTheirLevel(t *testing.T) {
	e, _ := startWith(t, func(c *config) { c.queue = 1 << 12 })
	const seeds, calls, level = 200, 4000, 1.96 // a two-sided z test of 5%
	for _, p := range []float64{0.5, 0.1, 0.02} {
		force(e, lawful, settings{rate: p, noCaller: true})
		failures := map[string]int{}
		for seed := range uint64(seeds) {
			renew(e, lawful, seed)
			chosen := choices(e, lawful, calls)
			e.ring.Dequeue(nil, calls)
			for law, z := range map[string]float64{
				"share": shareZ(chosen, p), "runs": runsZ(chosen), "gaps": gapsZ(chosen, p),
			} {
				if math.Abs(z) > level {
					failures[law]++
				}
			}
		}
		// 10 of 200 are expected, with a standard deviation of 3.1; tests of small integers reach
		// their level only approximately.
		for _, law := range []string{"share", "runs", "gaps"} {
			if n := failures[law]; n < 1 || n > 24 {
				t.Errorf("p = %v: the law of %s is rejected for %d of %d seeds at 5%%", p, law, n, seeds)
			}
		}
	}
}

// choices reports for each call whether it is chosen.
func choices(e *engine, m *Method, calls int) []bool {
	chosen := make([]bool, calls)
	for i := range chosen {
		before := e.ring.Accepted()
		m.Begin().End()
		chosen[i] = e.ring.Accepted() > before
	}
	return chosen
}

func shareZ(chosen []bool, p float64) float64 {
	n := float64(len(chosen))
	return (float64(count(chosen)) - n*p) / math.Sqrt(n*p*(1-p))
}

// runsZ is the runs test of Wald and Wolfowitz.
func runsZ(chosen []bool) float64 {
	runs := 1
	for i := range chosen[1:] {
		if chosen[i+1] != chosen[i] {
			runs++
		}
	}
	n := float64(len(chosen))
	a := float64(count(chosen))
	mean := 2*a*(n-a)/n + 1
	return (float64(runs) - mean) / math.Sqrt((mean-1)*(mean-2)/(n-1))
}

// gapsZ is chi-square over the quintiles of the distribution of gaps, as a z value by the cube root of
// Wilson and Hilferty.
func gapsZ(chosen []bool, p float64) float64 {
	const most = 5
	var edges []float64 // the last gap of each bin
	for k := 1; k < most; k++ {
		edge := math.Ceil(math.Log1p(-float64(k)/most) / math.Log1p(-p))
		if len(edges) == 0 || edge > edges[len(edges)-1] {
			edges = append(edges, edge)
		}
	}
	observed := make([]float64, len(edges)+1)
	gap, total := 0.0, 0.0
	for _, is := range chosen {
		if gap++; !is {
			continue
		}
		bin := 0
		for bin < len(edges) && gap > edges[bin] {
			bin++
		}
		observed[bin]++
		total++
		gap = 0
	}
	chi, below := 0.0, 0.0
	for bin, n := range observed {
		above := math.Inf(1)
		if bin < len(edges) {
			above = edges[bin]
		}
		expected := total * (math.Pow(1-p, below) - math.Pow(1-p, above))
		chi += (n - expected) * (n - expected) / expected
		below = above
	}
	k := float64(len(observed) - 1)
	return (math.Cbrt(chi/k) - (1 - 2/(9*k))) / math.Sqrt(2/(9*k))
}

func count(chosen []bool) int {
	n := 0
	for _, is := range chosen {
		if is {
			n++
		}
	}
	return n
}

// tally counts the calls that began under plans of one rate, and their records.
type tally struct{ begun, kept atomic.Int64 }

// Rates, modes and processors change under the calls, and the queue is full most of the time. The p of a
// record is the p from which its gap was drawn, so of the calls that began under a plan of p the share p is
// kept; every call is counted, and every call of mode Aggregate is in the sums.
func TestSampling_RateUnderSwitches(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	e, _ := startWith(t, func(c *config) { c.queue = 64 })
	rates := []float64{0.5, 0.3, 0.1, 0.03}
	begun := map[float64]*tally{}
	for _, rate := range rates {
		begun[rate] = new(tally)
	}
	var summed, all atomic.Int64
	force(e, switched, settings{rate: rates[0]})
	before := switched.Calls()

	const goroutines, each, leastSwitches, enough = 8, 10_000, 60, 1000
	few := func() bool { // too few calls of some rate to decide
		for _, b := range begun {
			if b.begun.Load() < enough {
				return true
			}
		}
		return false
	}
	var switches atomic.Int64
	var calling sync.WaitGroup
	for range goroutines {
		calling.Go(func() {
			for made := 0; made < each || switches.Load() < leastSwitches || few(); made++ {
				pl := switched.plan.Load() // the same as in Begin
				if pl == nil {
					runtime.Gosched()
					continue
				}
				all.Add(1)
				if pl.mode == Aggregate {
					summed.Add(1)
				} else {
					begun[pl.rate].begun.Add(1)
				}
				call := switched.begin(nil, pl) //nolint:staticcheck // as in Begin
				call.End()
			}
		})
	}
	quit := make(chan struct{})
	var others sync.WaitGroup
	others.Go(func() { // a slow reader of a queue that is full
		for {
			for _, r := range e.ring.Dequeue(nil, 16) {
				begun[r.p()].kept.Add(1)
			}
			select {
			case <-quit:
				return
			default:
				runtime.Gosched()
			}
		}
	})
	others.Go(func() {
		random := rand.New(rand.NewPCG(11, 1))
		for i := 0; ; i++ {
			select {
			case <-quit:
				return
			default:
			}
			runtime.GOMAXPROCS(1 + random.IntN(4))
			s := settings{rate: rates[random.IntN(len(rates))], cpuRate: float64(random.IntN(2)), noCaller: random.IntN(2) == 0}
			switch random.IntN(6) {
			case 0:
				s.mode = Aggregate
			case 1:
				s.mode = Off
			}
			force(e, switched, s)
			switches.Add(1)
			if i == 20 {
				registry.mu.Lock()
				switched.shardCounters(8)
				registry.mu.Unlock()
			}
			runtime.Gosched()
		}
	})
	calling.Wait()
	close(quit)
	others.Wait()
	force(e, switched, settings{mode: Off})
	for _, r := range e.ring.Dequeue(nil, 64) {
		begun[r.p()].kept.Add(1)
	}
	inSums := int64(0)
	for _, c := range e.cells.removeCells(1 << 20) {
		if c.p == 1 {
			inSums += c.wall.n
		} else {
			begun[c.p].kept.Add(c.wall.n)
		}
	}

	if got := switched.Calls() - before; got != all.Load() || got == 0 {
		t.Errorf("%d calls counted of %d", got, all.Load())
	}
	if inSums != summed.Load() || inSums == 0 {
		t.Errorf("%d calls in the sums of %d", inSums, summed.Load())
	}
	if s := Stats(); s.Dropped == 0 || s.FoldLost != 0 {
		t.Errorf("%d dropped, %d lost: the queue was not full, or the cells were", s.Dropped, s.FoldLost)
	}
	chi := 0.0
	for _, rate := range rates {
		n, kept := float64(begun[rate].begun.Load()), float64(begun[rate].kept.Load())
		if n < enough {
			t.Errorf("rate %v: %v calls are too few to tell", rate, n)
		}
		z := (kept - n*rate) / math.Sqrt(n*rate*(1-rate))
		chi += z * z
		if math.Abs(z) > 6 {
			t.Errorf("rate %v: %v kept of %v, z = %.1f", rate, kept, n, z)
		}
	}
	if chi > 45 { // four degrees of freedom: once in 250 million runs
		t.Errorf("chi-square %.1f over the rates", chi)
	}
}
