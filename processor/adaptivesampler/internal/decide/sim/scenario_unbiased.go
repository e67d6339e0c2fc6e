package sim

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// Unbiased compares estimates of totals with the truth while a strategy changes the rates.
type Unbiased struct {
	Estimates int
	Bias      float64 // mean relative error of the total over all methods
	Coverage  float64 // part of the intervals, nominally of 95%, with the truth inside
	Plain     float64 // bias of calls times the plain mean of the records
	Dropped   float64 // bias where what queues drop is not aggregated
}

// Minutes and methods of one run, and records a minute.
const (
	unbiasedMinutes = 3 * 60
	unbiasedMethods = 24
	unbiasedBudget  = 600.0
)

// Measure runs with many seeds. The conditions are adverse for the estimator: calls are slow when there are many of
// them, which is when rates fall; queues drop only slow calls; rates jump with the load.
func Measure(runs int, seed uint64) Unbiased {
	var u Unbiased
	var truth, estimate, plain, dropped float64
	covered := 0
	for run := range runs {
		for _, e := range unbiasedRun(seed + uint64(run)) {
			u.Estimates++
			scale := 1 / e.expected
			truth += e.truth * scale
			estimate += e.total * scale
			plain += e.plain * scale
			dropped += e.dropped * scale
			if math.Abs(e.total-e.truth) <= 1.96*e.error {
				covered++
			}
		}
	}
	u.Bias, u.Plain, u.Dropped = estimate/truth-1, plain/truth-1, dropped/truth-1
	u.Coverage = float64(covered) / float64(u.Estimates)
	return u
}

// estimated is one method in one run.
type estimated struct{ truth, expected, total, error, plain, dropped float64 }

// watchedMethod is a method, the rate of its SDKs, and its kept records.
type watchedMethod struct {
	*Method
	sdk, here float64
	minutes   []estimateCell
	truth     float64
	records   float64
	sum       float64
	weak      []estimateCell // without what was dropped
}

func unbiasedRun(seed uint64) []estimated {
	r := newRandom(seed, 3)
	cfg := decide.DefaultConfig()
	cfg.Budget.RecordsPerSecond = unbiasedBudget / 60
	strategy := decide.New(cfg)
	index := make(map[decide.Key]*watchedMethod)
	var methods []*watchedMethod
	for i, m := range Population(seed, unbiasedMethods, decide.Group{Service: "shop", Version: "1"}) {
		m.Calls = math.Pow(10, 1.5+3.5*float64(i)/unbiasedMethods) // 30 to 100,000 a minute
		m.Spread = min(m.Spread, 1.5)
		w := &watchedMethod{Method: m, sdk: 0.05, here: 0.05}
		methods = append(methods, w)
		index[m.Key] = w
	}
	busy := 1.0
	for minute := range unbiasedMinutes {
		if minute%20 == 0 {
			busy = math.Exp(r.NormFloat64())
		}
		seen := make([]decide.Observation, 0, len(methods))
		for _, m := range methods {
			seen = append(seen, m.pass(r, busy))
			m.sdk = m.here // what was decided a minute ago arrives
		}
		for _, d := range strategy.Step(start.Add(time.Duration(minute+1)*time.Minute), seen) {
			index[d.Key].here = d.P
		}
	}
	all := make([]estimated, len(methods))
	for i, m := range methods {
		all[i] = m.estimate()
	}
	return all
}

// pass lets a minute pass: the SDK keeps calls at its rate, the processor thins
// them to the one it has decided since, a full queue aggregates the slow ones.
func (m *watchedMethod) pass(r *rand.Rand, busy float64) decide.Observation {
	calls := poisson(r, m.Calls*busy)
	mean := m.Mean * math.Sqrt(busy)
	values := lognormalOf(mean, m.Spread)
	p := min(m.sdk, m.here)
	kept := binomial(r, binomial(r, calls, m.sdk), p/m.sdk)
	full := busy > 2
	var c, weak estimateCell
	c.calls, weak.calls = calls, calls
	s := decide.Observation{Key: m.Key, Calls: calls, Arrived: m.sdk}
	for range int(kept) {
		x := values.draw(r)
		c.addRecord(x, 1/p)
		m.truth += x
		m.sum += x
		if !full || x < mean || r.Float64() < 0.5 {
			weak.addRecord(x, 1/p)
		}
		s.Wall.Records++
		s.Wall.Weight += 1 / p
		s.Wall.Sum += x / p
		s.Wall.Squares += x * x / p
	}
	m.records += kept
	m.truth += unseen(r, values, mean, m.Spread, calls-kept)
	m.minutes = append(m.minutes, c)
	m.weak = append(m.weak, weak)
	s.CPU = s.Wall
	return s
}

// unseen returns the time of the calls that were not kept.
func unseen(r *rand.Rand, values lognormal, mean, spread, calls float64) float64 {
	if calls > 200 {
		return calls*mean + math.Sqrt(calls)*mean*spread*r.NormFloat64()
	}
	sum := 0.0
	for range int(calls) {
		sum += values.draw(r)
	}
	return sum
}

func (m *watchedMethod) estimate() estimated {
	total, variance := totalOf(m.minutes)
	weak, _ := totalOf(m.weak)
	calls := 0.0
	for _, c := range m.minutes {
		calls += c.calls
	}
	return estimated{
		truth: m.truth, expected: m.Calls * m.Mean * unbiasedMinutes,
		total: total, error: math.Sqrt(variance), plain: calls * m.sum / math.Max(m.records, 1), dropped: weak,
	}
}
