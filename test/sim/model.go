package sim

import (
	"math"
	"math/rand/v2"
	"time"
)

// Parameters of the model of a deployment. Spreads are standard deviations of logarithms.
const (
	classes       = 3 // of callers
	instancesOld  = 40
	canaries      = 4
	canaryMinutes = 60
	halfMinutes   = 30
	bucketMinutes = 5
	// Looks is the number of buckets of a deployment. Each bucket ends with an evaluation.
	Looks = (canaryMinutes + halfMinutes) / bucketMinutes

	withinLow, withinHigh = 0.4, 1.2 // of the calls of one class
	betweenClasses        = 0.8
	tailShare             = 0.20 // share of methods with a Pareto tail
	tailCalls             = 0.01 // share of their calls in the tail
	tailFactor            = 10   // factor of the cost of a tail call,
	tailExponent          = 2.2  // times a Pareto variable of this exponent
	sharedByRequest       = 0.3  // spread of the factor shared by the records of one request
	moreInRequest         = 1    // mean number of records of a request after the first

	ofInstance        = 0.06
	slowInstances     = 0.05 // share of instances that are slow
	slowFactor        = 1.20
	ofInstanceBucket  = 0.03 // autocorrelated over buckets
	bucketCorrelation = 0.6
	ofInstanceMethod  = 0.015

	diurnal         = 0.08 // amplitude
	warmUp          = 0.30 // maximum overhead, falls linearly to zero
	warmUpLow       = 3.0  // minimum minutes of warm-up
	warmUpHigh      = 10.0 // maximum minutes of warm-up
	mixShifted      = 0.10 // share of methods with a caller mix that changes with the version
	mixSpread       = 0.5
	incidents       = 0.03 // share of methods with an incident, on all instances
	incidentMinutes = 15
	incidentHigh    = 2.0 // maximum factor

	// Number of records of the head version in the whole deployment, log-uniform.
	recordsLow, recordsHigh = 30, 1_000_000
)

// headMinutes is the total running time of all head instances, in minutes.
const headMinutes = canaries*canaryMinutes + instancesOld/2*halfMinutes

var begin = time.Date(2026, 3, 4, 9, 0, 0, 0, time.UTC)

// Method contains the true parameters of one method.
type Method struct {
	// Records is the expected number of records of the head version.
	Records float64
	// Effect is the change of the cost, ln(head/base). It is 0 for an unchanged method.
	Effect float64

	within     float64
	tail       bool
	location   [classes]float64 // median of the logarithm of a call in ns
	share      [2][classes]float64
	caps       [classes]float64 // 99.5% quantiles
	phase      float64
	incident   int // bucket, or -1 for no incident
	incidentBy float64
}

func newMethod(r *rand.Rand, effect, phase float64) Method {
	m := Method{
		Records:  recordsLow * math.Pow(recordsHigh/recordsLow, r.Float64()),
		Effect:   effect,
		within:   withinLow + (withinHigh-withinLow)*r.Float64(),
		tail:     r.Float64() < tailShare,
		phase:    phase + 0.5*r.NormFloat64(),
		incident: -1,
	}
	level := math.Log(20_000) + r.NormFloat64()
	for c := range classes {
		m.location[c] = level + betweenClasses*r.NormFloat64()
		m.share[0][c] = 0.2 + r.Float64()
		m.caps[c] = math.Exp(m.location[c] + quantile995(m.sigma(), m.tail))
	}
	m.share[1] = m.share[0]
	if r.Float64() < mixShifted {
		for c := range classes {
			m.share[1][c] *= math.Exp(mixSpread * r.NormFloat64())
		}
	}
	for side := range m.share {
		total := 0.0
		for _, s := range m.share[side] {
			total += s
		}
		for c := range m.share[side] {
			m.share[side][c] /= total
		}
	}
	m.drawIncident(r)
	return m
}

func (m *Method) drawIncident(r *rand.Rand) {
	m.incident = -1
	if r.Float64() < incidents {
		m.incident = r.IntN(Looks - incidentMinutes/bucketMinutes + 1)
		m.incidentBy = math.Log(1.2 + (incidentHigh-1.2)*r.Float64())
	}
}

// sigma is the standard deviation of the logarithm of a call of one class, over all requests.
func (m *Method) sigma() float64 { return math.Hypot(m.within, sharedByRequest) }

// at returns the log factor that applies to all calls of the method in a bucket, in both versions.
func (m *Method) at(bucket int) float64 {
	hours := (float64(bucket) + 0.5) * bucketMinutes / 60
	return math.Log1p(diurnal*math.Sin(m.phase+2*math.Pi*hours/24)) + m.incidentAt(bucket)
}

func (m *Method) incidentAt(bucket int) float64 {
	if m.incident >= 0 && bucket >= m.incident && bucket < m.incident+incidentMinutes/bucketMinutes {
		return m.incidentBy
	}
	return 0
}

// quantile995 returns the 99.5% quantile of the logarithm of a call, relative to its location. The distribution
// is normal, or with a tail a mixture. It is found by bisection.
func quantile995(sigma float64, tail bool) float64 {
	const target = 0.005
	if !tail {
		return 2.575829303548901 * sigma
	}
	lo, hi := 0.0, 40.0
	for range 60 {
		mid := (lo + hi) / 2
		if (1-tailCalls)*upper(mid/sigma)+tailCalls*tailAbove(mid, sigma) > target {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// tailAbove returns P(sigma*Z + ln(factor) + Exp(exponent) > y).
func tailAbove(y, sigma float64) float64 {
	d := y - math.Log(tailFactor)
	return upper(d/sigma) + math.Exp(-tailExponent*d+tailExponent*tailExponent*sigma*sigma/2)*upper(tailExponent*sigma-d/sigma)
}

// upper returns the probability that a standard normal variable exceeds z.
func upper(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }
