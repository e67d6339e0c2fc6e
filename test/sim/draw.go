package sim

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"
)

// oneByOne is the maximum number of requests of a cell that is drawn record by record.
const oneByOne = 32

// drawnSums are the sums over the records of a cell.
type drawnSums struct {
	n, x, xx, capped, log float64
}

// draw draws a cell: the requests of one caller class. shift is added to the logarithm of every call.
func (m *Method) draw(r *rand.Rand, class int, expectedRecords, shift float64) drawnSums {
	requests := poisson(r, expectedRecords/(1+moreInRequest))
	if requests == 0 {
		return drawnSums{}
	}
	at := m.location[class] + shift
	if requests > oneByOne {
		return m.drawTogether(r, at, m.caps[class], requests)
	}
	var s drawnSums
	for range requests {
		shared := at + sharedByRequest*r.NormFloat64()
		for range 1 + poisson(r, moreInRequest) {
			s.addValue(shared+m.within*r.NormFloat64()+m.tailOf(r), m.caps[class])
		}
	}
	return s
}

// tailOf draws the term that the tail adds to the logarithm of a call.
func (m *Method) tailOf(r *rand.Rand) float64 {
	if !m.tail || r.Float64() >= tailCalls {
		return 0
	}
	return tailStep(r)
}

func tailStep(r *rand.Rand) float64 { return math.Log(tailFactor) + r.ExpFloat64()/tailExponent }

func (s *drawnSums) addValue(y, limit float64) {
	x := math.Exp(y)
	s.n++
	s.x += x
	s.xx += x * x
	s.capped += math.Min(x, limit)
	s.log += y
}

// drawTogether draws the sums of many requests. Calls outside the tail are lognormal with standard deviation
// sigma of the logarithm, and calls of the same request are correlated. The sums need the moments of X, min(X, cap)
// and ln X, which all have a closed form. The covariance of g(Y) and Y is sigma^2 E[g'(Y)] (Stein's lemma).
// The covariance of g(Y1) and g(Y2) is approximated to first order in their correlation.
func (m *Method) drawTogether(r *rand.Rand, at, limit float64, requests int) drawnSums {
	k := float64(requests)
	more := poisson(r, k*moreInRequest)
	n := requests + more
	var s drawnSums
	if m.tail {
		for range binomial(r, n, tailCalls) {
			s.addValue(at+m.within*r.NormFloat64()+sharedByRequest*r.NormFloat64()+tailStep(r), limit)
			n--
		}
	}
	body := float64(n)
	v, shared := m.within*m.within+sharedByRequest*sharedByRequest, sharedByRequest*sharedByRequest
	sigma := math.Sqrt(v)
	// Ordered pairs of records of the same request: each of the `more` extra records joins a request with
	// 1 + others, so E[G(G-1)] = moreInRequest^2 + 2*moreInRequest.
	pairs := k * (moreInRequest*moreInRequest + 2*moreInRequest)

	logVariance := body*v + pairs*shared
	logNoise := math.Sqrt(logVariance) * r.NormFloat64()
	s.log += body*at + logNoise

	z := (math.Log(limit) - at) / sigma
	below := math.Exp(at+v/2) * upper(sigma-z) // E[X; X < cap]
	above := upper(z)
	mean := below + limit*above
	square := math.Exp(2*at+2*v)*upper(2*sigma-z) + limit*limit*above
	// Var(sum) and Cov(sum, sum of logs): contributions of single records plus those of pairs.
	variance := body*(square-mean*mean) + pairs*below*below*shared
	slope := below // Cov / Var of logs: (body*v + pairs*shared)*below over the same
	rest := math.Max(0, variance-slope*slope*logVariance)
	capped := body*mean + slope*logNoise + math.Sqrt(rest)*r.NormFloat64()
	s.capped += capped

	// The part above the cap is skewed even in sums. Its variance is the difference between the variances of the
	// sum and of the capped sum, which gives the sum the right variance.
	full := math.Exp(at + v/2)
	excess := body * (full - mean)
	spread := body*full*full*math.Expm1(v) + pairs*full*full*math.Expm1(shared) - variance
	beyond := distuv.Gamma{Alpha: excess * excess / spread, Beta: excess / spread, Src: r}.Rand()
	s.x += capped + beyond
	s.xx += body * math.Exp(2*at+2*v)
	s.n += body
	return s
}
