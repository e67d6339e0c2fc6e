package sim

import (
	"fmt"
	"math"
	"slices"

	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// Service is the precision that ten minutes give of the methods with 1% of a service's own cost, and with at least
// twice the calls that the precision needs.
type Service struct {
	Known float64 // part of the methods known to 5%
	Worst float64 // relative standard error of the method known least
	Total float64 // relative standard error of the service's own cost
}

const (
	serviceSize    = 450
	knownTo        = 0.05
	expensiveShare = 0.01
	tenMinutes     = 10
)

// callTree draws a service: entries that call methods that call methods. Own costs spread over four decades, so
// that some 20 methods have a hundredth of the service's each, and a method's mean includes its callees.
func callTree(seed uint64, size int, group decide.Group) (methods []*Method, own map[*Method]float64) {
	const entries, fanoutDecades, ownDecades = 6, 0.7, 0.9
	r := newRandom(seed, 11)
	own = make(map[*Method]float64, size) // ns a minute
	for i := range size {
		m := &Method{Key: decide.Key{Group: group, Class: "c", Method: fmt.Sprint("m", i)}}
		if i < entries {
			m.Calls, m.Entry = 60*math.Pow(10, 1.5+0.7*r.NormFloat64()), 1
		} else {
			m.Caller = methods[r.IntN(i)]
			m.Calls = m.Caller.Calls * math.Pow(10, fanoutDecades*r.NormFloat64())
		}
		m.Calls = min(max(m.Calls, 1), 60*200_000)
		m.Spread = min(math.Exp(0.5*r.NormFloat64()), 2)
		own[m] = math.Pow(10, ownDecades*r.NormFloat64())
		methods = append(methods, m)
	}
	inclusive := make(map[*Method]float64, size)
	for _, m := range slices.Backward(methods) {
		inclusive[m] += own[m]
		if m.Caller != nil {
			inclusive[m.Caller] += inclusive[m]
		}
	}
	total := 0.0
	for _, x := range own {
		total += x
	}
	const minuteOfCore = 60e9
	for _, m := range methods {
		own[m] *= minuteOfCore / total
		m.Mean = inclusive[m] * minuteOfCore / total / m.Calls
		m.values = lognormalOf(m.Mean, m.Spread)
	}
	return methods, own
}

// judgeService evaluates the records since the last reset.
func judgeService(w *World, own map[*Method]float64) (s Service) {
	var all, variance float64
	for _, x := range own {
		all += x
	}
	var errors []float64
	for m, cost := range own {
		t := w.Tally(m)
		relative := 1.0
		if t.Records > 0 {
			relative = m.Spread * math.Sqrt(t.Lost) / t.Weights
		}
		variance += relative * cost * relative * cost
		if need := m.Spread / knownTo * m.Spread / knownTo; cost >= expensiveShare*all && t.Calls >= 2*need {
			errors = append(errors, m.Spread/math.Sqrt(max(t.Records, 1))) // of a call's mean
		}
	}
	s.Total = math.Sqrt(variance) / all
	if len(errors) == 0 {
		return s
	}
	s.Worst = slices.Max(errors)
	for _, e := range errors {
		if e <= knownTo {
			s.Known += 1 / float64(len(errors))
		}
	}
	return s
}

// FirstMinutes returns the precision from a service's first ten minutes, from ten minutes of its second hour, and
// of the new version from the first ten minutes in which it runs alongside the old one, with half of the calls each.
func FirstMinutes(budget float64, seed uint64) (first, later, compared Service) {
	cfg := decide.DefaultConfig()
	cfg.Budget.RecordsPerSecond = budget
	group := decide.Group{Service: "shop", Version: "1"}
	methods, own := callTree(seed, serviceSize, group)
	w := NewWorld(methods, decide.New(cfg), seed)
	pass := func(minutes int, load Load) {
		w.Reset()
		for range minutes {
			w.Pass(load)
		}
	}
	pass(tenMinutes, steady)
	first = judgeService(w, own)
	pass(50, steady)
	pass(tenMinutes, steady)
	later = judgeService(w, own)

	head, headOwn := make([]*Method, len(methods)), make(map[*Method]float64)
	next := make(map[*Method]*Method)
	for i, m := range methods {
		head[i] = m.inVersion(decide.Group{Service: "shop", Version: "2"}, 1, 1)
		head[i].Caller = next[m.Caller]
		next[m], headOwn[head[i]] = head[i], own[m]
	}
	w.Add(head)
	pass(tenMinutes, times(0.5))
	return first, later, judgeService(w, headOwn)
}
