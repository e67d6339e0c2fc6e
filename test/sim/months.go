package sim

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/corehour/corehour/regression/drift"
)

// Parameters of the model of months. Spreads are standard deviations of the logarithm of a day's mean.
// The sampling errors of the means are added to them.
const (
	ofMethodDay     = 0.005 // autocorrelated
	dayCorrelation  = 0.5
	ofServiceDay    = 0.01 // shared by all methods, autocorrelated
	serviceDays     = 0.7
	serviceWeekdays = 0.02
	methodWeekdays  = 0.015
	ofShares        = 0.05 // of the shares of callers, autocorrelated
	shareDays       = 0.9
	spikes          = 0.003 // share of days with an incident
	spikeHigh       = 0.5   // maximum increase during an incident
)

// Months describes the history to draw.
type Months struct {
	Methods, Days int
	Records       float64 // per method and day
	// The share Changed of the methods becomes more expensive by Effect. The change starts on day Begin and
	// grows linearly over Over days. Over 0 is a step.
	Changed, Effect float64
	Begin, Over     int
}

// History is a drawn history, with the plain means that naive rules use.
type History struct {
	drift.History
	Changed []bool
	Means   [][]float64 // indexed by method and day
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
	spread, correlation := m.logSpread()
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
			// The sampling errors of the two statistics are correlated: they come from the same records.
			z, own := r.NormFloat64(), r.NormFloat64()
			logs := spread / math.Sqrt(records) * z
			costs := capped / math.Sqrt(records) * (correlation*z + math.Sqrt(1-correlation*correlation)*own)
			h.Rows = append(h.Rows, drift.Day{
				Method: int32(n), Caller: int32(c), Day: int32(d), Records: records, Weight: records,
				Capped: records * mean * math.Exp(costs), Log: records * (m.location[c] + level + logs),
			})
			sum += records / p.Records * mean * math.Exp(plain/math.Sqrt(records)*r.NormFloat64())
		}
		h.Means[n][d] = sum
	}
}

// since returns the share of the effect that is present on a day, 0 to 1.
func since(day int, p Months) float64 {
	switch {
	case day < p.Begin:
		return 0
	case day >= p.Begin+p.Over:
		return 1
	}
	return float64(day-p.Begin+1) / float64(p.Over)
}

// meanSpreads returns the relative standard deviations of one record, capped and uncapped, inflated for the
// correlation between records of the same request.
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
	// On average a record shares its request with 1.5 other records.
	shared := (moreInRequest*moreInRequest + 2*moreInRequest) / (1.0 + moreInRequest) * sharedByRequest * sharedByRequest
	return math.Sqrt(square/(mean*mean) - 1 + shared), math.Sqrt(plainSquare/(plainMean*plainMean) - 1 + shared)
}

// logSpread returns the standard deviation of the logarithm of one record, inflated likewise, and the correlation of
// a mean of logarithms with the capped mean. The correlation is that of a lognormal variable and its logarithm;
// with a tail it would be lower.
func (m *Method) logSpread() (spread, correlation float64) {
	v := m.sigma() * m.sigma()
	correlation = m.sigma() / math.Sqrt(math.Expm1(v))
	shared := (moreInRequest*moreInRequest + 2*moreInRequest) / (1.0 + moreInRequest) * sharedByRequest * sharedByRequest
	if m.tail {
		v += tailCalls * (math.Pow(math.Log(tailFactor)+1/tailExponent, 2) + 1/(tailExponent*tailExponent))
		correlation *= 0.7
	}
	return math.Sqrt(v + shared), correlation
}

// autoregression draws a stationary autoregressive series of order 1.
func autoregression(r *rand.Rand, n int, sd, rho float64) []float64 {
	y := make([]float64, n)
	last := r.NormFloat64()
	for i := range y {
		y[i] = sd * last
		last = rho*last + math.Sqrt(1-rho*rho)*r.NormFloat64()
	}
	return y
}
