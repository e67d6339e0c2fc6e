package sim

import (
	"math"
	"time"

	"github.com/corehour/corehour/internal/methodfile"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// peer distributes the budget by the calls of the last minute, without a memory. share is the weight of a method
// for its calls.
type peer struct {
	budget float64 // records a minute
	share  func(key decide.Key, calls float64) float64
}

// Uniform keeps every call with the same probability.
func Uniform(budget float64) Stepper {
	return &peer{budget, func(_ decide.Key, calls float64) float64 { return calls }}
}

// Throughput gives every method the same number of records, like samplers with a throughput per key.
func Throughput(budget float64) Stepper {
	return &peer{budget, func(decide.Key, float64) float64 { return 1 }}
}

// Neyman serves the total alone: records in proportion to T * CV, from the truth.
func Neyman(budget float64, methods []*Method) Stepper {
	return byTruth(budget, methods, func(m *Method, calls float64) float64 { return calls * m.Mean * m.Spread })
}

// Power returns the product's rule without floor and uniform share, from the truth.
func Power(budget float64, methods []*Method) Stepper {
	return byTruth(budget, methods, func(m *Method, calls float64) float64 { return math.Sqrt(calls*m.Mean) * m.Spread })
}

func byTruth(budget float64, methods []*Method, share func(*Method, float64) float64) Stepper {
	truth := make(map[decide.Key]*Method, len(methods))
	for _, m := range methods {
		truth[m.Key] = m
	}
	return &peer{budget, func(key decide.Key, calls float64) float64 { return share(truth[key], calls) }}
}

func (p *peer) Step(_ time.Time, seen []decide.Observation) []decide.Decision {
	shares := make([]float64, len(seen))
	low, high := 0.0, 0.0
	for i, s := range seen {
		shares[i] = p.share(s.Key, s.Calls)
		high = max(high, s.Calls/shares[i])
	}
	for range 60 { // the price at which the budget is spent, no method beyond its calls
		price := (low + high) / 2
		spent := 0.0
		for i, s := range seen {
			spent += min(price*shares[i], s.Calls)
		}
		if spent > p.budget {
			high = price
		} else {
			low = price
		}
	}
	decisions := make([]decide.Decision, len(seen))
	for i, s := range seen {
		decisions[i] = decide.Decision{Key: s.Key, Mode: methodfile.ModeSample, P: min(1, max(1e-5, low*shares[i]/s.Calls))}
	}
	return decisions
}
