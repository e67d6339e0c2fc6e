package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/corehour/corehour/regression/drift"
)

// The model of months. Spreads are standard deviations of logarithms of a day's
// mean; the sampling errors of the means come on top.
const (
	ofMethodDay     = 0.005 // autocorrelated
	dayCorrelation  = 0.5
	ofServiceDay    = 0.01 // what all methods share, autocorrelated
	serviceDays     = 0.7
	serviceWeekdays = 0.02
	methodWeekdays  = 0.015
	ofShares        = 0.05 // of callers, autocorrelated
	shareDays       = 0.9
	spikes          = 0.003 // share of days with an incident,
	spikeHigh       = 0.5   // dearer by up to this
)

// Months says what history to draw.
type Months struct {
	Methods, Days int
	Records       float64 // per method and day
	// Changed of the methods become dearer by Effect from day Begin, linearly over
	// Over days; 0 is a step.
	Changed, Effect float64
	Begin, Over     int
}

// History is one that was drawn, and the plain means that naive rules look at.
type History struct {
	drift.History
	Changed []bool
	Means   [][]float64 // by method and day
}

// DrawMonths draws a history.
func DrawMonths(p Months, seed, run uint64) *History {
	r := source(seed, run, "months")
	h := &History{Changed: make([]bool, p.Methods), Means: make([][]float64, p.Methods)}
	h.Days, h.Callers = p.Days, []string{"a", "b", "c"}
	var weekdays [7]float64
	for w := range weekdays {
		weekdays[w] = serviceWeekdays * r.NormFloat64()
	}
	service := autoregression(r, p.Days, ofServiceDay, serviceDays)
	for d := range service {
		service[d] += weekdays[d%7]
	}
	h.Rows = make([]drift.Day, 0, p.Methods*p.Days*classes)
	for n := range p.Methods {
		h.Methods = append(h.Methods, fmt.Sprintf("service.Method%d", n))
		h.Changed[n] = float64(n) < p.Changed*float64(p.Methods)
		h.method(source(seed, run, fmt.Sprint("months of ", n)), p, n, service)
	}
	return h
}

func (h *History) method(r *rand.Rand, p Months, n int, service []float64) {
	m := newMethod(r, 0, 0)
	own := autoregression(r, p.Days, ofMethodDay, dayCorrelation)
	var weekdays [7]float64
	for w := range weekdays {
		weekdays[w] = methodWeekdays * r.NormFloat64()
	}
	var shares [classes][]float64
	for c := range shares {
		shares[c] = autoregression(r, p.Days, ofShares, shareDays)
	}
	capped, plain := m.meanSpreads()
	h.Means[n] = make([]float64, p.Days)
	for d := range p.Days {
		level := service[d] + own[d] + weekdays[d%7] + ofInstanceMethod/math.Sqrt(instancesOld)*r.NormFloat64()
		if r.Float64() < spikes {
			level += math.Log1p(spikeHigh * r.Float64())
		}
		if h.Changed[n] {
			level += math.Log1p(p.Effect * since(d, p))
		}
		total, sum := 0.0, 0.0
		for c := range classes {
			total += m.share[0][c] * math.Exp(shares[c][d])
		}
		for c := range classes {
			records := math.Round(p.Records * m.share[0][c] * math.Exp(shares[c][d]) / total)
			if records < 1 {
				continue
			}
			mean := math.Exp(m.location[c] + level)
			h.Rows = append(h.Rows, drift.Day{
				Method: int32(n), Caller: int32(c), Day: int32(d), Records: records, Weight: records,
				Capped: records * mean * math.Exp(capped/math.Sqrt(records)*r.NormFloat64()),
			})
			sum += records / p.Records * mean * math.Exp(plain/math.Sqrt(records)*r.NormFloat64())
		}
		h.Means[n][d] = sum
	}
}

// since is how much of the effect is there on a day.
func since(day int, p Months) float64 {
	switch {
	case day < p.Begin:
		return 0
	case day >= p.Begin+p.Over:
		return 1
	}
	return float64(day-p.Begin+1) / float64(p.Over)
}

// meanSpreads are the relative standard deviations of one record, capped and
// plain, made larger by what records of a request share.
func (m *Method) meanSpreads() (capped, plain float64) {
	v := m.sigma() * m.sigma()
	z := quantile995(m.sigma(), m.tail)
	limit := math.Exp(z)
	below, above := math.Exp(v/2)*upper(m.sigma()-z/m.sigma()), upper(z/m.sigma())
	mean := below + limit*above
	square := math.Exp(2*v)*upper(2*m.sigma()-z/m.sigma()) + limit*limit*above
	plainMean, plainSquare := math.Exp(v/2), math.Exp(2*v)
	if m.tail {
		const a = tailExponent
		mean = (1-tailCalls)*mean + tailCalls*limit
		square = (1-tailCalls)*square + tailCalls*limit*limit
		plainMean *= 1 - tailCalls + tailCalls*tailFactor*a/(a-1)
		plainSquare *= 1 - tailCalls + tailCalls*tailFactor*tailFactor*a/(a-2)
	}
	// Each record shares its request with 1.5 others on average.
	shared := (moreInRequest*moreInRequest + 2*moreInRequest) / (1.0 + moreInRequest) * sharedByRequest * sharedByRequest
	return math.Sqrt(square/(mean*mean) - 1 + shared), math.Sqrt(plainSquare/(plainMean*plainMean) - 1 + shared)
}

// autoregression is a stationary series of first order.
func autoregression(r *rand.Rand, n int, sd, rho float64) []float64 {
	y := make([]float64, n)
	last := r.NormFloat64()
	for i := range y {
		y[i] = sd * last
		last = rho*last + math.Sqrt(1-rho*rho)*r.NormFloat64()
	}
	return y
}

// DriftScore is what is counted of a way of finding drift.
type DriftScore struct {
	MethodDays float64 // of unchanged methods, looked at
	False      int     // alarms on them, counted when they begin
	Methods    int     // changed ones
	Found      int
	Days       []float64 // from the beginning to the alarm, sorted
}

// FalsePer1000Days are the false alarms per 1000 methods and day.
func (s *DriftScore) FalsePer1000Days() float64 { return 1000 * float64(s.False) / s.MethodDays }

// FoundShare is in percent.
func (s *DriftScore) FoundShare() float64 { return 100 * float64(s.Found) / float64(s.Methods) }

// MedianDay is that of those found.
func (s *DriftScore) MedianDay() float64 {
	if len(s.Days) == 0 {
		return math.Inf(1)
	}
	return s.Days[(len(s.Days)-1)/2]
}

// firstLook is the day from which alarms count: the methods have their 56 days.
const firstLook = 63

// count adds the alarms of a day, by method, those of the look before being known.
func (s *DriftScore) count(h *History, p Months, day int, now, before, ever []bool) {
	for m := range now {
		switch {
		case h.Changed[m] && day >= p.Begin && now[m] && !ever[m]:
			ever[m] = true
			s.Found++
			s.Days = append(s.Days, float64(day-p.Begin))
		case !h.Changed[m] && now[m] && !before[m]:
			s.False++
		}
	}
}

func (h *History) score() (s DriftScore) {
	for _, changed := range h.Changed {
		if changed {
			s.Methods++
		}
	}
	s.MethodDays = float64((len(h.Changed) - s.Methods) * (h.Days - firstLook))
	return s
}

// WatchDrift looks at a history every week.
func WatchDrift(h *History, p Months) (DriftScore, error) {
	s := h.score()
	number := map[string]int{}
	for m, name := range h.Methods {
		number[name] = m
	}
	var memory drift.Memory
	before, ever := make([]bool, len(h.Methods)), make([]bool, len(h.Methods))
	for day := firstLook - 7; day <= h.Days; day += 7 {
		shown := h.History
		shown.Days = day
		findings, next, err := drift.Look(&shown, memory)
		if err != nil {
			return s, err
		}
		memory = next
		now := make([]bool, len(h.Methods))
		for _, f := range findings {
			if m, ok := number[f.Method]; ok && f.Confirmed {
				now[m] = true
			}
		}
		s.count(h, p, day, now, before, ever)
		before = now
	}
	slices.Sort(s.Days)
	return s, nil
}

// WatchWeeks looks every day, the naive way: the last week's mean above that of the
// four weeks before it by more than 5%.
func WatchWeeks(h *History, p Months) DriftScore {
	s := h.score()
	before, ever := make([]bool, len(h.Methods)), make([]bool, len(h.Methods))
	average := func(y []float64) float64 {
		sum := 0.0
		for _, v := range y {
			sum += v
		}
		return sum / float64(len(y))
	}
	for day := firstLook; day <= h.Days; day++ {
		now := make([]bool, len(h.Methods))
		for m, y := range h.Means {
			now[m] = average(y[day-7:day]) > 1.05*average(y[day-35:day-7])
		}
		s.count(h, p, day, now, before, ever)
		before = now
	}
	slices.Sort(s.Days)
	return s
}
