package sim

import (
	"fmt"
	"math"

	"github.com/corehour/corehour/internal/methodfile"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// The population: call rates over six orders of magnitude (99% of a lognormal
// with a standard deviation of 1.18 decades), means over four, spreads around
// 1.2. The figures are such that the two strategies whose rule leaves nothing
// open come near the design's: one rate for all 0.252% and 32% (0.253% and 30%),
// Neyman's 0.098% and 24.5% (0.096% and 24.5%). The errors are in proportion to
// the spreads, so the goals for them are meaningful relative to these two only.
const (
	decadesOfCalls  = 1.18
	decadesOfMeans  = 0.77
	callsWithMeans  = 0.2 // correlation
	medianSpread    = 1.17
	spreadOfSpreads = 0.67

	designSize    = 2000
	callsPerDay   = 2.6e9
	recordsPerDay = 2e6
	minutesPerDay = 24 * 60
)

// Method is one method and its truth.
type Method struct {
	Key    decide.Key
	Calls  float64 // a minute, on average
	Mean   float64 // ns
	Spread float64
	Phase  float64 // of its day, in radians

	Entry  float64          // share of the calls that come from outside
	Caller *Method          // that makes all its other calls, nil = unknown
	Rule   *methodfile.Rule // nil = the method file does not speak of it

	values lognormal
}

// Population draws methods that are called 2.6e9 times a day per 2,000 of them.
func Population(seed uint64, size int, group decide.Group) []*Method {
	r := newRandom(seed, 1)
	methods := make([]*Method, size)
	total := 0.0
	for i := range methods {
		calls, other := r.NormFloat64(), r.NormFloat64()
		m := &Method{
			Key:    decide.Key{Group: group, Class: "c", Method: fmt.Sprint("m", i)},
			Calls:  math.Pow(10, decadesOfCalls*calls),
			Mean:   1e4 * math.Pow(10, decadesOfMeans*(callsWithMeans*calls+math.Sqrt(1-callsWithMeans*callsWithMeans)*other)),
			Spread: medianSpread * math.Exp(spreadOfSpreads*r.NormFloat64()),
			Phase:  0.5 * r.NormFloat64(),
		}
		m.values = lognormalOf(m.Mean, m.Spread)
		total += m.Calls
		methods[i] = m
	}
	scale := callsPerDay / minutesPerDay * float64(size) / designSize / total
	for _, m := range methods {
		m.Calls *= scale
	}
	return methods
}

// inVersion returns the same method in another version, mean and calls multiplied.
func (m *Method) inVersion(group decide.Group, calls, mean float64) *Method {
	other := *m
	other.Key.Group = group
	other.Calls *= calls
	other.Mean *= mean
	other.values = lognormalOf(other.Mean, other.Spread)
	return &other
}
