package sim

import (
	"math"
	"math/rand/v2"
	"time"
)

// The model of a deployment. Spreads are standard deviations of logarithms.
const (
	classes       = 3 // of callers
	instancesOld  = 40
	canaries      = 4
	canaryMinutes = 60
	halfMinutes   = 30
	bucketMinutes = 5
	// Looks is the number of buckets of a deployment, with an evaluation after each.
	Looks = (canaryMinutes + halfMinutes) / bucketMinutes

	withinLow, withinHigh = 0.4, 1.2 // of calls of one class
	betweenClasses        = 0.8
	tailShare             = 0.20 // of methods have calls of a Pareto tail,
	tailCalls             = 0.01 // this share of their calls,
	tailFactor            = 10   // more expensive by this
	tailExponent          = 2.2  // times a Pareto variable
	sharedByRequest       = 0.3  // records of one request share a factor
	moreInRequest         = 1    // records of a request after the first, on average

	ofInstance        = 0.06
	slowInstances     = 0.05 // share of instances that are
	slowFactor        = 1.20
	ofInstanceBucket  = 0.03 // autocorrelated in time
	bucketCorrelation = 0.6
	ofInstanceMethod  = 0.015

	diurnal         = 0.08 // amplitude
	warmUp          = 0.30 // greatest, falling to nothing
	warmUpLow       = 3.0  // within so many minutes,
	warmUpHigh      = 10.0 // or so many
	mixShifted      = 0.10 // share of methods whose callers' shares the version changes
	mixSpread       = 0.5
	incidents       = 0.03 // share of methods that have one, in all instances
	incidentMinutes = 15
	incidentHigh    = 2.0 // greatest factor

	// Records of the head version over the whole deployment, log-uniform.
	recordsLow, recordsHigh = 30, 1_000_000
)

// headMinutes are the minutes that all head instances run, added up.
const headMinutes = canaries*canaryMinutes + instancesOld/2*halfMinutes

var begin = time.Date(2026, 3, 4, 9, 0, 0, 0, time.UTC)

// Method is the truth about one method.
type Method struct {
	// Records expected of the head version.
	Records float64
	// Effect on cost, ln(head/base): 0 where nothing changed.
	Effect float64

	within     float64
	tail       bool
	location   [classes]float64 // of the logarithm of a call in ns
	share      [2][classes]float64
	caps       [classes]float64 // 99.5% quantile
	phase      float64
	incident   int // bucket, -1 for none
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

// sigma is the spread of a call of one class whatever its request.
func (m *Method) sigma() float64 { return math.Hypot(m.within, sharedByRequest) }

// at is what moves every call of the method in a bucket, in both versions.
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

// quantile995 is the 99.5% quantile of the logarithm of a call around its
// location: normal, and with a tail a mixture, found by bisection.
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

// tailAbove is the chance that sigma*Z + ln(factor) + Exp(exponent) > y.
func tailAbove(y, sigma float64) float64 {
	d := y - math.Log(tailFactor)
	return upper(d/sigma) + math.Exp(-tailExponent*d+tailExponent*tailExponent*sigma*sigma/2)*upper(tailExponent*sigma-d/sigma)
}

// upper is the chance that a standard normal variable exceeds z.
func upper(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }
