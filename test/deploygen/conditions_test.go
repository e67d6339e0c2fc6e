package deploygen_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/corehour/corehour/test/deploygen"
)

// logs returns the logarithms of the mean own costs by process, minute and method.
func logs(d *deploygen.Deployment) [][][]float64 {
	all := make([][][]float64, len(d.Processes))
	for i := range all {
		all[i] = make([][]float64, d.Minutes())
		for minute := range all[i] {
			own := make([]float64, len(d.Methods))
			d.MeanOwn(i, minute, own)
			for m := range own {
				own[m] = math.Log(own[m])
			}
			all[i][minute] = own
		}
	}
	return all
}

func TestDraw_LevelsAndHosts(t *testing.T) {
	for _, sd := range []float64{0.03, 0.15} {
		var levels, slow moments
		extra := math.Log(1.2)
		for seed := range uint64(400) {
			s := chain(9, 10, 10)
			s.HostSD = sd
			d := deploygen.Draw(s, seed)
			own := logs(d)
			for m := range d.Methods {
				levels.add(own[0][0][m] - d.Hosts[0].Slow)
				for i := range d.Processes {
					if got, want := own[i][3][m]-own[0][0][m], d.Hosts[i].Slow-d.Hosts[0].Slow; math.Abs(got-want) > 1e-9 {
						t.Fatalf("process %d is slower by %g, its host by %g", i, got, want)
					}
				}
			}
			for _, h := range d.Hosts {
				slow.add(h.Slow)
			}
		}
		near(t, "median level", levels.mean(), math.Log(200e3), 0.06)
		near(t, "sd of log levels", levels.sd(), 0.8, 0.04)
		near(t, "mean of log slowness", slow.mean(), 0.05*extra, 5*slow.se())
		near(t, "sd of log slowness", slow.sd(), math.Sqrt(sd*sd+0.05*0.95*extra*extra), 0.003)
	}
}

// TestDraw_InstancesAndLoadings estimates the parameters that are drawn per method.
func TestDraw_InstancesAndLoadings(t *testing.T) {
	for _, sd := range []float64{0.015, 0.05} {
		s := chain(9, 36, 4)
		s.InstanceSD = sd
		var instance moments
		for seed := range uint64(50) {
			d := deploygen.Draw(s, seed)
			own := logs(d)
			for m := range d.Methods {
				var within moments
				for i := range d.Processes {
					within.add(own[i][0][m])
				}
				for i := range d.Processes {
					instance.add(own[i][0][m] - within.mean() - d.Hosts[i].Slow)
				}
			}
		}
		near(t, "instance sd", instance.sd(), sd+0.002, 0.005) // includes the variation of the slow hosts' mean
	}
	s := chain(9, 2, 2)
	s.HostSD, s.LoadingSD = 0.06, 0.3
	var loading moments
	for seed := range uint64(400) {
		d := deploygen.Draw(s, seed)
		own := logs(d)
		for m := range d.Methods {
			loading.add((own[1][0][m] - own[0][0][m]) / (d.Hosts[1].Slow - d.Hosts[0].Slow))
		}
	}
	near(t, "mean loading", loading.mean(), 1, 5*loading.se())
	near(t, "sd of loadings", loading.sd(), 0.3, 0.02)
}

func disturbed(x deploygen.Disturbance) deploygen.Scene {
	s := chain(5, 4, 4)
	s.Disturbance = x
	return s
}

// TestDraw_MeasuredChange compares the measured changes with the hosts, and those of parts of the time with
// those of the whole time.
func TestDraw_MeasuredChange(t *testing.T) {
	s := chain(5, 3, 5)
	s.HostSD = 0.15
	d := deploygen.Draw(s, 1)
	var slow [2]moments
	for _, p := range d.Processes {
		v := 0
		if p.Head {
			v = 1
		}
		slow[v].add(math.Exp(d.Hosts[p.Host].Slow))
	}
	want := math.Log(slow[1].mean() / slow[0].mean())
	near(t, "host difference", d.HostDifference, want, 1e-9)
	for _, m := range d.Methods {
		near(t, m.Name+": measured own change", m.MeasuredOwn, want, 0.01) // the numbers of requests vary
	}

	cold := deploygen.Draw(disturbed(deploygen.Disturbance{ColdCache: true}), 1)
	first, last := cold.Between(0, 1), cold.Between(20, 30)
	for m, all := range cold.Methods {
		near(t, all.Name+": once settled", last[m].MeasuredOwn, 0, 1e-3)
		if !(first[m].MeasuredOwn > all.MeasuredOwn && all.MeasuredOwn > last[m].MeasuredOwn+0.01) {
			t.Errorf("%s: %g at first, %g in the whole, %g at last", all.Name, first[m].MeasuredOwn, all.MeasuredOwn, last[m].MeasuredOwn)
		}
	}
}

// TestDraw_UnchangedMethods checks that conditions alone are no change but affect the measured values.
func TestDraw_UnchangedMethods(t *testing.T) {
	for _, s := range deploygen.Independent() {
		if s.Change.Where != deploygen.Nothing || s.Disturbance.Rare.P > 0 && !s.Disturbance.Rare.Both {
			continue
		}
		for _, m := range deploygen.Draw(s, 1).Methods {
			if !m.Unchanged || m.Own != 0 || m.Inclusive != 0 || m.MeasuredOwn == 0 || m.MeasuredInclusive == 0 {
				t.Errorf("%s: %+v", s.Name(), m)
			}
		}
	}
}

func TestDraw_HeadLoad(t *testing.T) {
	for _, load := range []float64{2.5, 1 / 2.5} {
		var exponents moments
		for seed := range uint64(200) {
			d := deploygen.Draw(disturbed(deploygen.Disturbance{HeadLoad: load}), seed)
			own, calls := logs(d), make([]int64, 5)
			var byVersion [2]float64
			for i, p := range d.Processes {
				for minute := range d.Minutes() {
					d.Calls(i, minute, calls)
					if p.Head {
						byVersion[1] += float64(calls[0])
					} else {
						byVersion[0] += float64(calls[0])
					}
				}
			}
			near(t, "requests of head by those of base", byVersion[1]/byVersion[0]/load, 1, 0.1)
			for m := range d.Methods {
				moved := own[7][0][m] - d.Hosts[7].Slow - (own[0][0][m] - d.Hosts[0].Slow)
				e := moved / math.Log(load)
				if e < 0 || e > 0.3 {
					t.Errorf("the exponent of method %d is %g", m, e)
				}
				exponents.add(e)
			}
		}
		near(t, "mean exponent", exponents.mean(), 0.15, 0.02)
	}
}

func TestDraw_RareCalls(t *testing.T) {
	for _, rare := range []deploygen.Rare{{P: 0.01, Factor: 100}, {P: 0.003, Factor: 400}, {P: 0.01, Factor: 100, Both: true}} {
		s := disturbed(deploygen.Disturbance{Rare: rare})
		s.Records = 5000
		d := deploygen.Draw(s, 1)
		var expensive, all [2]float64
		own := make([]float64, 5)
		d.Each(func(c deploygen.Call) {
			if c.Method != 4 {
				return
			}
			v := 0
			if d.Processes[c.Process].Head {
				v = 1
			}
			d.MeanOwn(c.Process, 0, own)
			level := own[4]
			if v == 1 || rare.Both {
				level /= 1 + rare.P*(rare.Factor-1)
			}
			all[v]++
			if float64(c.CPU) > 14*level {
				expensive[v]++
			}
		})
		near(t, "share of rare calls of head", expensive[1]/all[1], rare.P, 5*math.Sqrt(rare.P/all[1]))
		if base := expensive[0] / all[0]; rare.Both {
			near(t, "share of rare calls of base", base, rare.P, 5*math.Sqrt(rare.P/all[0]))
		} else {
			near(t, "share of rare calls of base", base, 0, 1e-3)
			near(t, "change of the leaf", math.Exp(d.Methods[4].Own), 1+rare.P*(rare.Factor-1), 1e-9)
		}
	}
}

func TestDraw_MethodsDifferByProcess(t *testing.T) {
	s := disturbed(deploygen.Disturbance{DifferSD: 0.15})
	s.Structure, s.InstanceSD, s.Base, s.Head = deploygen.Tree(60), 0.015, 20, 20
	d := deploygen.Draw(s, 1)
	own, differ := logs(d), 0
	for m := range d.Methods {
		var spread moments
		for i := range d.Processes {
			spread.add(own[i][0][m] - d.Hosts[i].Slow)
		}
		switch sd := spread.sd(); {
		case sd > 0.1 && sd < 0.21:
			differ++
		case sd > 0.025:
			t.Errorf("instance sd of method %d is %g", m, sd)
		}
	}
	if differ != 6 {
		t.Errorf("%d of 60 methods differ by process, want 6", differ)
	}
}

func TestDraw_Autoregression(t *testing.T) {
	for _, ar := range []float64{0.7, 0.9} {
		s := disturbed(deploygen.Disturbance{AR: ar})
		s.Duration = 10 * time.Hour
		s.Records = 1000
		d := deploygen.Draw(s, 1)
		own := logs(d)
		var level, product moments
		for i := range d.Processes {
			for m := range d.Methods {
				var mean moments
				for minute := range d.Minutes() {
					mean.add(own[i][minute][m])
				}
				for minute := 1; minute < d.Minutes(); minute++ {
					x, y := own[i][minute][m]-mean.mean(), own[i][minute-1][m]-mean.mean()
					level.add(x)
					product.add(x * y)
				}
			}
		}
		near(t, fmt.Sprintf("sd of AR %g", ar), level.sd(), 0.1, 0.005)
		near(t, "autocorrelation", product.mean()/(level.sd()*level.sd()), ar, 0.03)
	}
}

func TestDraw_Dips(t *testing.T) {
	dips, minutes := 0.0, 0.0
	for seed := range uint64(100) {
		d := deploygen.Draw(disturbed(deploygen.Disturbance{Dips: true}), seed)
		own := logs(d)
		for minute := range d.Minutes() {
			minutes++
			first := own[0][minute][0] - own[0][0][0]
			slow := 0
			for i := range d.Processes {
				for m := range d.Methods {
					moved := own[i][minute][m] - own[i][0][m]
					if math.Abs(moved-first) > 1e-9 {
						t.Fatalf("minute %d: method %d of process %d moved by %g, others by %g", minute, m, i, moved, first)
					}
					if math.Abs(math.Abs(moved)-math.Log(1.3)) < 1e-9 {
						slow++
					} else if moved != 0 {
						t.Fatalf("minute %d moved by %g", minute, moved)
					}
				}
			}
			if slow > 0 {
				dips++
			}
		}
	}
	// A minute differs from the first one if exactly one of the two has a dip.
	near(t, "share of minutes unlike the first", dips/minutes, 2*0.1*0.9, 0.08)
}

func TestDraw_NoisyNeighbor(t *testing.T) {
	versions := [2]int{}
	for seed := range uint64(100) {
		d := deploygen.Draw(disturbed(deploygen.Disturbance{Neighbor: true}), seed)
		own, noisy := logs(d), 0
		for i, p := range d.Processes {
			low, high, slow := own[i][0][0], own[i][0][0], 0
			for minute := range d.Minutes() {
				low, high = min(low, own[i][minute][0]), max(high, own[i][minute][0])
			}
			for minute := range d.Minutes() {
				if own[i][minute][0] > low+1e-9 {
					slow++
				}
			}
			if slow == 0 {
				continue
			}
			noisy++
			if p.Head {
				versions[1]++
			} else {
				versions[0]++
			}
			near(t, "noisy neighbor", math.Exp(high-low), 1.3, 1e-6)
			near(t, "noisy minutes", float64(slow), 10, 0)
		}
		if noisy != 1 {
			t.Errorf("seed %d: %d processes have a noisy neighbor", seed, noisy)
		}
	}
	if versions[0] < 30 || versions[1] < 30 {
		t.Errorf("neighbors of base and head: %d", versions)
	}
}

func TestDraw_StartsAndColdCaches(t *testing.T) {
	for _, x := range []deploygen.Disturbance{{}, {Tie: true}, {ColdCache: true}, {ColdCache: true, Tie: true}} {
		for seed := range uint64(50) {
			d := deploygen.Draw(disturbed(x), seed)
			own := logs(d)
			for i, p := range d.Processes {
				age := d.Begin.Sub(p.Start)
				fresh := p.Head || x.Tie
				if fresh && age != 0 || !fresh && (age < time.Hour || age > 24*time.Hour) {
					t.Errorf("%s: process %d has run for %s", d.Scene.Name(), i, age)
				}
				if p.Head && p.Version != deploygen.HeadVersion || !p.Head && p.Version != deploygen.BaseVersion {
					t.Errorf("process %d: %+v", i, p)
				}
				moved := func(minute int) float64 { return math.Exp(own[i][minute][2]-own[i][29][2]) - 1 }
				if !fresh || !x.ColdCache {
					near(t, "cost of a settled process", moved(0), 0, 1e-9)
					continue
				}
				// Half a minute at a settling time of 1 to 6 minutes: a factor of 0.22 to 0.78.
				if first := moved(0); first < 0.2*0.22 || first > 0.6*0.78 {
					t.Errorf("seed %d: process %d is %+.0f%% more expensive at first", seed, i, 100*first)
				}
				for minute := 1; minute < 10; minute++ {
					if moved(minute) > moved(minute-1) {
						t.Errorf("seed %d: process %d gets colder", seed, i)
					}
				}
				if last := moved(9); last > 0.6*0.01 {
					t.Errorf("seed %d: process %d has not settled: %g", seed, i, last)
				}
			}
		}
	}
}
