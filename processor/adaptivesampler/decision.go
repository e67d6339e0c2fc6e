package adaptivesampler

import (
	"math"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/sampling"

	"github.com/corehour/corehour/internal/methodfile"
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// decision defines how the measurements of a method are sampled in the collector and, if rates are served, in
// the process of the method. It is immutable.
type decision struct {
	mode      methodfile.Mode
	rate      float64 // 0 = off
	cpuRate   float64 // 0 = default of the SDK
	threshold sampling.Threshold
	tvalue    string // the threshold as written in trace states

	tier, class, score, reason string

	label   int  // index of the tier in metrics
	open    bool // the file sets no rate: a strategy can set one
	learned bool // set by a strategy
	shadow  bool // reported, but not applied
	held    bool // cut by a limit for the rest of an interval

	// cold is above 0 until the first decision of the strategy for the method. Until then it is an upper
	// bound: rates up to cold that another collector served stay in force.
	cold float64
}

func (d *decision) off() bool { return d.rate == 0 }

// band is the factor by which a strategy's rate must differ from the rate in force to replace it. Learned rates
// vary a little in every interval, and each change wakes every SDK of the service.
const band = 1.1

func withinBand(a, b float64) bool { return a == b || a <= b*band && b <= a*band }

// sameForSDK reports whether an SDK samples the same under both decisions.
func (d *decision) sameForSDK(other *decision) bool {
	return d.mode == other.mode && d.rate == other.rate && d.cpuRate == other.cpuRate && d.shadow == other.shadow
}

// preparer creates decisions.
type preparer struct {
	defaultRate float64
	shadow      shadowed
	label       func(tier string) int
}

func (p *preparer) finish(d *decision) *decision {
	if d.rate > 0 {
		d.threshold = methodspan.ThresholdOf(d.rate)
		d.tvalue = d.threshold.TValue()
	}
	d.label = p.label(d.tier)
	d.shadow = p.shadow.has(d.tier, d.class)
	return d
}

// fixed returns the decision of the method file.
func (p *preparer) fixed(rule *methodfile.Rule) *decision {
	d := &decision{mode: rule.Mode, rate: rule.Rate, tier: rule.Tier, reason: rule.Reason}
	if !math.IsNaN(rule.CPURate) {
		d.cpuRate = rule.CPURate
	}
	switch {
	case rule.Mode == methodfile.ModeOff:
		d.rate = 0
	case d.rate == 0:
		d.open = true
		d.rate = rule.Bound(p.defaultRate)
		if rule.Index < 0 {
			d.reason = "default_rate"
		}
	}
	return p.finish(d)
}

// learned returns the decision wish of a strategy, within the bounds of the file. If wish differs from inForce
// by noise only, learned returns inForce.
func (p *preparer) learned(wish *decide.Decision, inForce, fixed *decision, bounds *methodfile.Rule) *decision {
	if fixed.off() || bounds.Pinned() { // the file fixes the rate
		return fixed
	}
	d := &decision{mode: wish.Mode, rate: wish.P, cpuRate: wish.CPUP, learned: true,
		tier: wish.Tier, class: wish.Class, score: wish.Score, reason: wish.Reason}
	switch {
	case d.mode == methodfile.ModeOff:
		d.rate = 0
	case d.rate > 0:
		d.rate = min(max(bounds.Bound(d.rate), methodfile.MinRate), 1)
	default: // wish sets no rate
		d.rate = fixed.rate
	}
	if !(d.cpuRate >= 0 && d.cpuRate <= 1) {
		d.cpuRate = 0
	}
	if inForce.learned && inForce.cold == 0 && d.mode == inForce.mode {
		if withinBand(d.rate, inForce.rate) {
			d.rate = inForce.rate
		}
		if withinBand(d.cpuRate, inForce.cpuRate) {
			d.cpuRate = inForce.cpuRate
		}
		if d.rate == inForce.rate && d.cpuRate == inForce.cpuRate && d.tier == inForce.tier &&
			d.class == inForce.class && d.score == inForce.score && d.reason == inForce.reason {
			return inForce
		}
	}
	return p.finish(d)
}

// bounded returns d within the bounds of a changed method file.
func (p *preparer) bounded(d, fixed *decision, bounds *methodfile.Rule) *decision {
	if !d.learned || fixed.off() || bounds.Pinned() {
		return fixed
	}
	again := *d
	if d.rate > 0 {
		again.rate = bounds.Bound(d.rate)
	}
	return p.finish(&again)
}
