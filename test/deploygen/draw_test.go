package deploygen_test

import (
	"fmt"
	"hash/fnv"
	"math"
	"testing"
	"time"

	"github.com/corehour/corehour/test/deploygen"
)

func chain(methods, base, head int) deploygen.Scene {
	return deploygen.Scene{
		Structure: deploygen.Chain(methods), Change: deploygen.Change{Where: deploygen.Nothing, Factor: 1},
		Base: base, Head: head,
	}
}

// moments contains the sums of a sample.
type moments struct{ n, sum, squares float64 }

func (s *moments) add(x float64) { s.n++; s.sum += x; s.squares += x * x }
func (s *moments) mean() float64 { return s.sum / s.n }
func (s *moments) sd() float64   { return math.Sqrt(s.squares/s.n - s.mean()*s.mean()) }
func (s *moments) se() float64   { return s.sd() / math.Sqrt(s.n) }

// near fails the test if got differs from want by more than tolerance. The wanted values are those of
// docs/background/simulation.md.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %.4g, want %.4g +- %.2g", what, got, want, tolerance)
	}
}

// digest returns a hash of all exported data of a deployment.
func digest(d *deploygen.Deployment) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, d.Scene.Name(), d.Methods, d.Processes, d.Hosts)
	calls := make([]int64, len(d.Methods))
	for i := range d.Processes {
		for minute := range d.Minutes() {
			d.Calls(i, minute, calls)
			fmt.Fprint(h, calls)
		}
		fmt.Fprint(h, d.CPU(i))
	}
	d.Each(func(c deploygen.Call) { fmt.Fprint(h, c) })
	return h.Sum64()
}

func TestDraw_SameSeed(t *testing.T) {
	for _, s := range append(deploygen.Pick(deploygen.Independent(), 4, 1), deploygen.Pick(deploygen.SmallServices(), 4, 1)...) {
		s.Records, s.Duration = 20, 5*time.Minute
		d := deploygen.Draw(s, 7)
		first := digest(d)
		if again := digest(d); again != first {
			t.Errorf("%s: a second pass shows other calls", s.Name())
		}
		if again := digest(deploygen.Draw(s, 7)); again != first {
			t.Errorf("%s: the same seed draws something else", s.Name())
		}
		if other := digest(deploygen.Draw(s, 8)); other == first {
			t.Errorf("%s: another seed draws the same", s.Name())
		}
	}
}

// TestDraw_CallCounts compares the call counts with the call graph, and the numbers of records with their
// sampling probability.
func TestDraw_CallCounts(t *testing.T) {
	for _, structure := range []deploygen.Structure{deploygen.Chain(5), deploygen.Tree(12), deploygen.Recursion, deploygen.SharedLeaf} {
		for _, whole := range []bool{false, true} {
			s := chain(0, 4, 4)
			s.Structure, s.WholeRequests = structure, whole
			d := deploygen.Draw(s, 3)
			type cell struct{ process, minute, method, caller int }
			records, by := map[cell]int64{}, make([]float64, len(d.Methods))
			d.Each(func(c deploygen.Call) {
				records[cell{c.Process, int(c.At / time.Minute), c.Method, c.Caller}]++
				by[c.Method]++
				if c.CPU <= 0 || c.Wall < c.CPU {
					t.Fatalf("%s: %+v", d.Scene.Name(), c)
				}
			})
			calls, all := make([]int64, len(d.Methods)), make([]float64, len(d.Methods))
			for i := range d.Processes {
				for minute := range d.Minutes() {
					d.Calls(i, minute, calls)
					for m := range d.Methods {
						all[m] += float64(calls[m])
						want, self := int64(0), false
						for _, caller := range d.Methods[m].Callers {
							from := int64(0)
							switch caller {
							case deploygen.Entry:
								from = calls[0]
							case m:
								self = true
								from = calls[m]
							default:
								from = calls[caller]
								want += from
							}
							if n := records[cell{i, minute, m, caller}]; n > from {
								t.Errorf("%s: %d records of %d calls", d.Scene.Name(), n, from)
							}
						}
						if m > 0 && !self && calls[m] != want {
							t.Errorf("%s: method %d was called %d times, by its callers %d times", d.Scene.Name(), m, calls[m], want)
						}
					}
				}
			}
			for m := range d.Methods {
				p, n := d.Methods[m].P, float64(len(d.Processes))
				// With whole requests, the records of one request come together.
				spread := 5 * math.Sqrt(all[m]*p) * max(1, all[m]/all[0])
				near(t, fmt.Sprintf("%s: records of method %d", d.Scene.Name(), m), by[m], all[m]*p, spread)
				if !whole {
					near(t, fmt.Sprintf("%s: records per process of method %d", d.Scene.Name(), m), by[m]/n, deploygen.DefaultRecords, 40)
				}
			}
		}
	}
}

// TestDraw_CostsFollowTruth estimates the documented parameters from the records.
func TestDraw_CostsFollowTruth(t *testing.T) {
	for _, s := range []deploygen.Scene{
		{Structure: deploygen.Chain(5), Change: deploygen.Change{Where: deploygen.Leaf, Factor: 2.28}},
		{Structure: deploygen.Tree(12), Change: deploygen.Change{Where: deploygen.Third, Factor: 1.3}},
		{Structure: deploygen.Recursion, Change: deploygen.Change{Where: deploygen.All, Factor: 10}},
		{Structure: deploygen.SharedLeaf, Change: deploygen.Change{Where: deploygen.Root, Factor: 1.5}},
		{Structure: deploygen.SharedLeaf, Change: deploygen.Change{Where: deploygen.Leaf, Factor: 1.5}, WholeRequests: true},
		{Structure: deploygen.Recursion, Change: deploygen.Change{Where: deploygen.Middle, Factor: 1.2}, WholeRequests: true},
		{Structure: deploygen.Chain(3), Change: deploygen.Change{Where: deploygen.Nothing, Factor: 1}, Disturbance: deploygen.Disturbance{Rare: deploygen.Rare{P: 0.01, Factor: 100}}},
		{Structure: deploygen.Chain(3), Change: deploygen.Change{Where: deploygen.Nothing, Factor: 1}, Disturbance: deploygen.Disturbance{Rare: deploygen.Rare{P: 0.003, Factor: 400, Both: true}}},
	} {
		s.Base, s.Head, s.Records, s.HostSD, s.InstanceSD, s.LoadingSD = 4, 4, 3000, 0.06, 0.05, 0.3
		d := deploygen.Draw(s, 5)
		costs := make([][2]moments, len(d.Methods))
		d.Each(func(c deploygen.Call) {
			v := 0
			if d.Processes[c.Process].Head {
				v = 1
			}
			costs[c.Method][v].add(float64(c.CPU))
		})
		for m := range d.Methods {
			base, head := &costs[m][0], &costs[m][1]
			se := math.Hypot(base.se()/base.mean(), head.se()/head.mean())
			near(t, fmt.Sprintf("%s: change of method %d", s.Name(), m), math.Log(head.mean()/base.mean()), d.Methods[m].MeasuredInclusive, 5*se)
		}
	}
}

// TestDraw_InclusiveCost compares the records with the own costs and the call graph.
func TestDraw_InclusiveCost(t *testing.T) {
	for _, structure := range []deploygen.Structure{deploygen.Chain(9), deploygen.Tree(12), deploygen.Recursion, deploygen.SharedLeaf} {
		for _, whole := range []bool{false, true} {
			s := chain(0, 1, 1)
			s.Structure, s.Records, s.WholeRequests = structure, 20_000, whole
			d := deploygen.Draw(s, 2)
			own := make([]float64, len(d.Methods)) // the same in all minutes, because the scene has no disturbance
			d.MeanOwn(0, 0, own)
			costs := make([]moments, len(d.Methods))
			var logs moments // of the methods without callees
			leaf := len(d.Methods) - 1
			d.EachOf(0, func(c deploygen.Call) {
				costs[c.Method].add(float64(c.CPU))
				if c.Method == leaf {
					logs.add(math.Log(float64(c.CPU)))
				}
			})
			for m := len(d.Methods) - 1; m >= 0; m-- {
				want, self := own[m], false
				for callee := range d.Methods {
					for _, caller := range d.Methods[callee].Callers {
						if caller == m && callee == m {
							self = true
						} else if caller == m {
							want += costs[callee].mean()
						}
					}
				}
				if self { // each call repeats with probability 1/2: 2 calls on average
					want *= 2
				}
				near(t, fmt.Sprintf("%s: inclusive cost of method %d", d.Scene.Name(), m), costs[m].mean()/want, 1, 0.04)
			}
			near(t, s.Name()+": sd of log own cost", logs.sd(), 0.7, 0.02)
		}
	}
}

// TestDraw_CompleteRequests compares each call of a chain with its caller.
func TestDraw_CompleteRequests(t *testing.T) {
	s := chain(4, 1, 1)
	s.WholeRequests = true
	d := deploygen.Draw(s, 1)
	own := map[time.Duration][]int64{}
	d.EachOf(0, func(c deploygen.Call) { own[c.At] = append(own[c.At], c.CPU) }) // the leaf first
	if len(own) < 300 {
		t.Fatalf("%d requests", len(own))
	}
	for at, costs := range own {
		if len(costs) != 4 {
			t.Fatalf("%d records of the request at %s", len(costs), at)
		}
		for m := 1; m < len(costs); m++ {
			if costs[m] <= costs[m-1] {
				t.Errorf("request at %s: costs %d, callees first", at, costs)
			}
		}
	}
}

// TestDraw_ProcessCPU expects the own cost of all calls plus 5%.
func TestDraw_ProcessCPU(t *testing.T) {
	for _, rare := range []deploygen.Rare{{}, {P: 0.01, Factor: 100, Both: true}} {
		s := chain(5, 2, 2)
		s.Records, s.Disturbance.Rare = 2000, rare
		d := deploygen.Draw(s, 1)
		own, calls := make([]float64, 5), make([]int64, 5)
		for i := range d.Processes {
			want, got := 0.0, 0.0
			for minute, cpu := range d.CPU(i) {
				got += cpu
				d.MeanOwn(i, minute, own)
				d.Calls(i, minute, calls)
				for m := range own {
					want += 1.05 * own[m] * float64(calls[m])
				}
			}
			tolerance := 0.02
			if rare.P > 0 {
				tolerance = 0.3
			}
			near(t, fmt.Sprintf("%s: CPU of process %d by what its calls cost", s.Name(), i), got/want, 1, tolerance)
			if rare.P == 0 && got == want {
				t.Error("the CPU time of a process does not vary")
			}
		}
	}
}
