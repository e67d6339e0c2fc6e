package deploygen

import (
	"math"
	"math/rand/v2"
	"time"
)

// drawLevels draws the conditions: hosts, instances, load and disturbances.
func (d *Deployment) drawLevels(rng *rand.Rand, nominal, factors []float64) {
	s := d.Scene
	methods := len(d.Methods)
	loading, exponent, instanceSD := make([]float64, methods), make([]float64, methods), make([]float64, methods)
	for m := range methods {
		loading[m] = 1 + s.LoadingSD*rng.NormFloat64()
		exponent[m] = loadExponentMax * rng.Float64()
		instanceSD[m] = s.InstanceSD
	}
	if s.Disturbance.DifferSD > 0 {
		for _, m := range rng.Perm(methods)[:max(1, int(differShare*float64(methods)))] {
			instanceSD[m] = s.Disturbance.DifferSD
		}
	}
	dips := make([]float64, d.minutes)
	for t := range dips {
		if s.Disturbance.Dips && rng.Float64() < dipP {
			dips[t] = math.Log1p(dip)
		}
	}
	noisy, noisyFor := -1, d.minutes/3
	if s.Disturbance.Neighbor {
		noisy = rng.IntN(len(d.Processes))
	}
	noisyFrom := rng.IntN(d.minutes - noisyFor + 1)

	d.level = make([]float64, 0, len(d.Processes)*d.minutes*methods)
	usual, moving := make([]float64, methods), make([]float64, methods)
	for i := range d.Processes {
		p := &d.Processes[i]
		for m := range methods {
			usual[m] = math.Log(nominal[m]) + loading[m]*d.Hosts[p.Host].Slow +
				instanceSD[m]*rng.NormFloat64() + exponent[m]*math.Log(d.load(p))
			if p.Head {
				usual[m] += math.Log(factors[m])
			}
			moving[m] = arSD * rng.NormFloat64()
		}
		own := make([]float64, methods) // of this process
		for m := range own {
			switch {
			case s.Disturbance.ColdHalf && p.Start.Equal(d.Begin) && rng.Float64() < 0.5:
				own[m] = halfMin + (halfMax-halfMin)*rng.Float64()
			case s.Disturbance.BusyHost && i == s.Base:
				usual[m] += math.Log1p(busyMax * rng.Float64())
			}
		}
		cold := coldMin + (coldMax-coldMin)*rng.Float64()
		settles := 1 + 5*rng.Float64() // minutes
		for t := range d.minutes {
			all := dips[t]
			if s.Disturbance.ColdCache {
				age := d.Begin.Add(time.Duration(t)*time.Minute + time.Minute/2).Sub(p.Start).Minutes()
				all += math.Log1p(cold * math.Pow(coldLeft, age/settles))
			}
			slow := 0.0
			if i == noisy && t >= noisyFrom && t < noisyFrom+noisyFor {
				slow = math.Log1p(neighbor)
			}
			for m := range methods {
				x := usual[m] + all + slow*loading[m]
				if own[m] > 0 {
					x += math.Log1p(own[m] * math.Pow(0.5, (float64(t)+0.5)/halfLife))
				}
				if ar := s.Disturbance.AR; ar > 0 {
					x += moving[m]
					moving[m] = ar*moving[m] + arSD*math.Sqrt(1-ar*ar)*rng.NormFloat64()
				}
				d.level = append(d.level, math.Exp(x))
			}
		}
	}
}

// levels returns the mean own costs of a process in a minute, without rare calls.
func (d *Deployment) levels(process, minute int) []float64 {
	methods := len(d.Methods)
	at := (process*d.minutes + minute) * methods
	return d.level[at : at+methods]
}

// mean returns the factor by which rare calls increase the mean.
func (r Rare) mean() float64 { return 1 + r.P*(r.Factor-1) }

// logRatio returns the log ratio of the costs of a method, head to base.
func logRatio(of [2][]float64, method int) float64 { return math.Log(of[1][method] / of[0][method]) }

func (d *Deployment) addTruth(nominal, factors []float64) {
	methods := len(d.Methods)
	var own, inclusive [2][]float64
	for v := range 2 {
		own[v], inclusive[v] = make([]float64, methods), make([]float64, methods)
		for m := range methods {
			own[v][m] = nominal[m] * d.rare[v][m].mean()
			if v == 1 {
				own[v][m] *= factors[m]
			}
		}
		d.graph.inclusive(own[v], inclusive[v])
	}
	for m := range d.Methods {
		d.Methods[m].Truth = Truth{
			Own: logRatio(own, m), Inclusive: logRatio(inclusive, m), Unchanged: own[0][m] == own[1][m],
		}
	}
	for m, truth := range d.Between(0, d.minutes) {
		d.Methods[m].Truth = truth
	}
	var slow [2]moment
	for i := range d.Processes {
		p := &d.Processes[i]
		slow[p.version()].addValue(math.Exp(d.Hosts[p.Host].Slow))
	}
	d.HostDifference = math.Log(slow[1].mean() / slow[0].mean())
}

type moment struct{ n, sum float64 }

func (s *moment) addValue(x float64) { s.n++; s.sum += x }
func (s *moment) mean() float64      { return s.sum / s.n }

// Between returns the truth about each method. The measured values cover the minutes [from, to), for a judge
// that leaves the other minutes out.
func (d *Deployment) Between(from, to int) []Truth {
	var own, inclusive [2][]float64
	for v := range 2 {
		own[v], inclusive[v] = d.measured(v, from, to)
	}
	truths := make([]Truth, len(d.Methods))
	for m := range truths {
		truths[m] = d.Methods[m].Truth
		truths[m].MeasuredOwn, truths[m].MeasuredInclusive = logRatio(own, m), logRatio(inclusive, m)
	}
	return truths
}

// measured returns the expected costs per call of a version, including its conditions, in the minutes [from, to).
func (d *Deployment) measured(version, from, to int) (own, inclusive []float64) {
	methods := len(d.Methods)
	own, inclusive = make([]float64, methods), make([]float64, methods)
	here, with := make([]float64, methods), make([]float64, methods)
	calls, all := make([]int64, methods), make([]float64, methods)
	for i := range d.Processes {
		if d.Processes[i].version() != version {
			continue
		}
		for t := from; t < to; t++ {
			d.MeanOwn(i, t, here)
			d.graph.inclusive(here, with)
			d.Calls(i, t, calls)
			for m := range methods {
				n := float64(calls[m])
				all[m] += n
				own[m] += n * here[m]
				inclusive[m] += n * with[m]
			}
		}
	}
	for m := range methods {
		own[m] /= all[m]
		inclusive[m] /= all[m]
	}
	return own, inclusive
}

// MeanOwn sets own to the mean own cost per call in ns of each method of a process in a minute.
func (d *Deployment) MeanOwn(process, minute int, own []float64) {
	rare := d.rare[d.Processes[process].version()]
	for m, level := range d.levels(process, minute) {
		own[m] = level * rare[m].mean()
	}
}

// MeanInclusive sets inclusive to the mean inclusive cost per call in ns of each method, likewise.
func (d *Deployment) MeanInclusive(process, minute int, inclusive []float64) {
	d.MeanOwn(process, minute, inclusive)
	d.graph.inclusive(inclusive, inclusive)
}
