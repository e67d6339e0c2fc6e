package evidence

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// A change with enough evidence is no alert if its own figures contradict it, or if something other than the version
// can be its cause. docs/adr/0051-no-alert-against-its-figures.md has the reasons.

const (
	// busyHost is the change of one method, as a logarithm, that a busy neighbor of the only head process can cause:
	// code that waits for caches slowed down by up to 58%, a loop of arithmetic by 2%.
	busyHost = 0.46
	// agrees is the number of standard errors by which a statistic can contradict the sign of the mean by chance.
	agrees = 1
	// certainFall is the squared number of standard errors from which a fall with the age of a process withdraws an alert.
	certainFall = 9
)

// doubt sets the reason why a method with enough evidence is not raised, and its state.
func (c *compared) doubt(x *index, o Options) {
	v := &c.verdict
	for _, d := range []struct{ reason, needs string }{
		{c.contradiction(), c.neededForSign(x)},
		{c.unresolved(x), "no more data decide: measure a method that calls it often"},
		{c.followsLoad(x), "needs a time in which processes of both versions get as many calls"},
		{c.busyHost(x), "needs a second process of the new version, on another host"},
		{c.stillSettles(), "needs " + Wait(c.aging.age.Minutes()) + " more, for the processes to settle"},
		{c.restarts(x), "needs processes of the new version that do not restart"},
	} {
		if d.reason != "" {
			c.doubted, v.Doubt, v.Needed = NotDistinguishable, d.reason, &Needed{Text: d.needs}
			return
		}
	}
	if share, known := c.share(x); known && share < o.LeastShare {
		c.doubted = Small
		v.Doubt = fmt.Sprintf("%.2g%% of the cost of the service, less than %.6g%%", 100*share, 100*o.LeastShare)
	}
}

// share returns the cost of the change as a share of the service's. A change of calls per call counts as the cost of
// those calls.
func (c *compared) share(x *index) (share float64, known bool) {
	v := &c.verdict
	switch {
	case !(x.headCost > 0) || c.whole:
		return 0, false
	case c.caller != "":
		return v.Change / (1 + v.Change) * c.callsCost / x.headCost, true
	}
	return (v.HeadMean - v.BaseMean) * c.weight[Head] / x.headCost, true
}

// belowShare reports whether all calls of the head, with their callees, cost less than the smallest share that is
// raised. Calls without a known cost are not below it.
func (c *compared) belowShare(o Options) bool {
	cost := c.inclusiveCost
	if c.caller != "" {
		cost = c.callsCost
	}
	return c.x != nil && !c.whole && cost > 0 && cost < o.LeastShare*c.x.headCost
}

// contradiction compares the signs of the mean, the capped mean, the mean logarithm and the printed interval.
func (c *compared) contradiction() string {
	v := &c.verdict
	const heavy = "few heavy calls decide: "
	if c.basis == Typical { // the own mean is known far less well, so noise must not contradict
		if own := partOf(c.fits[mean].change, c.errors[mean].all, c.errors[mean].df); own.Interval[1] < 0 {
			return heavy + fmt.Sprintf("the typical call changed by %s, the own mean by %s", percent(v.Change), own)
		}
	}
	shared := math.Log1p(v.Measured.Change) - math.Log1p(v.Change)
	for s := range statistics {
		if s == mean || !c.fits[s].ok || c.basis != Typical && !slices.Contains(c.decide, s) {
			continue
		}
		if change := c.fits[s].change - shared; v.Change > 0 && change < -agrees*math.Sqrt(c.errors[s].measured) {
			return heavy + fmt.Sprintf("changed by %s, the %s by %s", percent(v.Change), statisticNames[s], percent(shareOf(change)))
		}
	}
	if c.decide[0] == cost && c.caller == "" && v.Change > 0 && c.pooled <= 0 {
		return heavy + fmt.Sprintf("the mean of all time buckets together changed by %s", percent(shareOf(c.pooled)))
	}
	if v.Interval[0] <= 0 {
		if len(c.tails) > 0 {
			return heavy + fmt.Sprintf("the interval of the mean, %s to %s, contains 0", percent(v.Interval[0]), percent(v.Interval[1]))
		}
		return fmt.Sprintf("the interval, %s to %s, contains 0", percent(v.Interval[0]), percent(v.Interval[1]))
	}
	return ""
}

var statisticNames = [statistics]string{cost: "capped mean", level: "typical call", mean: "mean"}

// unresolved compares the change per call with the uncertainty of the probe inside it.
func (c *compared) unresolved(x *index) string {
	if c.caller != "" || !(x.d.Resolution > 0) || c.weight[Head] == 0 {
		return ""
	}
	if change := math.Abs(c.verdict.HeadMean - c.verdict.BaseMean); change < x.d.Resolution {
		return fmt.Sprintf("a change of %.3g ns per call, and a probe resolves %.3g ns", change, x.d.Resolution)
	}
	return ""
}

// followsLoad reports a change that unequal load can cause. CPU time per call can grow or fall as fast as the calls of a
// process. Wall time under a lock grows without limit.
func (c *compared) followsLoad(x *index) string {
	if c.caller != "" {
		return ""
	}
	load := x.load()
	if x.d.Wall && c.load > load {
		load = c.load
	}
	if math.Abs(load) <= sameLoad {
		return ""
	}
	if math.Log1p(c.verdict.Interval[0]) > math.Abs(load) && !(x.d.Wall && load > 0) {
		return ""
	}
	return fmt.Sprintf("not distinguishable from the load: a process of the new version gets %.2g times the calls", math.Exp(load))
}

// busyHost reports a change of a single head process that a busy host can cause. Processes of the base on the same host
// at the same time would be slower, too. All methods together are slower also on a slow host.
func (c *compared) busyHost(x *index) string {
	most := busyHost
	if c.whole {
		most *= 2
	}
	if sameHost := x.d.SameHost && x.d.Overlap == Concurrent; c.caller != "" || sameHost || x.processes[Head] != 1 || math.Log1p(c.verdict.Interval[0]) > most {
		return ""
	}
	return fmt.Sprintf("not distinguishable from a busy host: one process of the new version, and a busy host alone can cause %s", percent(shareOf(most)))
}

// aging is the change of a method in the first and in the second half of the age of young head processes.
type aging struct {
	early, late float64
	// variances of the changes
	earlyVariance, lateVariance float64
	// left is the ratio of late to early of an excess that decays with the age of the late half as its time constant.
	left float64
	age  time.Duration
	ok   bool
}

// stillSettles reports a change to which an excess that decays with the age of the processes fits better than a constant
// change.
func (c *compared) stillSettles() string {
	a := &c.aging
	misfit := func(left float64) float64 {
		d := a.late - left*a.early
		return d * d / (a.lateVariance + left*left*a.earlyVariance)
	}
	if !a.ok || a.early <= a.late || misfit(a.left) > misfit(1) || c.before && misfit(1) < certainFall {
		return ""
	}
	return fmt.Sprintf("not distinguishable from the age of the processes: %s in the first half of %s, %s in the second",
		percent(shareOf(a.early)), a.age.Round(time.Second), percent(shareOf(a.late)))
}

// restarts reports a new version of which most processes ended young, as in a crash loop: their start is in the change.
func (c *compared) restarts(x *index) string {
	mostly := func(s Side) bool { return 2*x.restarted[s] > x.processes[s] }
	if c.caller != "" || !mostly(Head) || mostly(Base) {
		return ""
	}
	return fmt.Sprintf("not distinguishable from restarts: %d of %d processes of the new version ended within %.0f minutes",
		x.restarted[Head], x.processes[Head], mostWarmUp.Minutes())
}

// equallyYoung reports whether most processes of the base are at most twice as old as the youngest of the head. The age
// of processes is then in both versions.
func (x *index) equallyYoung() bool {
	var last time.Time
	for _, in := range x.d.Instances {
		if in.Side == Head && in.Started.After(last) {
			last = in.Started
		}
	}
	young, end := 0, x.d.Begin.Add(x.d.Bucket*time.Duration(x.d.Buckets))
	for _, in := range x.d.Instances {
		if in.Side == Base && !in.Started.IsZero() && end.Sub(in.Started) <= 2*end.Sub(last) {
			young += max(1, in.Processes)
		}
	}
	return 2*young > x.processes[Base]
}

// ages compares the first and the second half of the head's young processes with the base in the same buckets.
func (z *standard) ages(s statistic, f fit) (out aging) {
	g, d := &z.grids[s], z.x.d
	if z.x.equallyYoung() {
		return aging{}
	}
	var u, e, v, ages [2]float64
	for i, in := range d.Instances {
		if in.Side != Head || in.Started.IsZero() || d.Begin.Sub(in.Started) >= mostWarmUp {
			continue
		}
		first, end := -1, 0
		for b := range d.Buckets {
			if g.expected[i*d.Buckets+b] > 0 {
				if end = b + 1; first < 0 {
					first = b
				}
			}
		}
		if end-first < 2 {
			continue
		}
		out.age = max(out.age, d.Begin.Add(time.Duration(end)*d.Bucket).Sub(in.Started))
		for b := first; b < end; b++ {
			half := 0
			if 2*(b-first) >= end-first {
				half = 1
			}
			at := i*d.Buckets + b
			ages[half] += g.expected[at] * d.Begin.Add(d.Bucket*time.Duration(b)+d.Bucket/2).Sub(in.Started).Seconds()
			u[half], e[half], v[half] = u[half]+g.expected[at], e[half]+g.residual[at], v[half]+g.variance[at]
		}
	}
	if !(u[0] > 0) || !(u[1] > 0) || s != level && min(e[0]/u[0], e[1]/u[1]) <= -1 {
		return aging{}
	}
	change := func(half int) (float64, float64) {
		ratio := e[half] / u[half]
		if s == level {
			return ratio, f.kappa * v[half] / (u[half] * u[half])
		}
		// The errors of the head grow with its cost.
		return math.Log1p(ratio), f.kappa * v[half] / (u[half] * u[half])
	}
	out.early, out.earlyVariance = change(0)
	out.late, out.lateVariance = change(1)
	early, late := ages[0]/u[0], ages[1]/u[1]
	out.left, out.ok = math.Exp((early-late)/late), true
	return out
}

// pooledChange returns the logarithm of the head's mean over that of the base at the head's callers, all time buckets
// together.
func (z *standard) pooledChange() float64 {
	base := 0.0
	for c := range z.callers {
		if !(z.totalW[byCalls][c] > 0) {
			continue
		}
		for k := c * z.x.d.Buckets; k < (c+1)*z.x.d.Buckets; k++ {
			base += z.headW[byCalls][k] * z.totalMean[mean][c]
		}
	}
	if _, head := z.costs(); base > 0 && head > 0 {
		return math.Log(head / base)
	}
	return 0
}

// measureAging sets aging, by the typical call if its logarithms are tested, because it is known best.
func (c *compared) measureAging(z *standard) {
	if s := c.decide[len(c.decide)-1]; c.fits[s].ok {
		c.aging = z.ages(s, c.fits[s])
	}
	if c.typical {
		c.typicalAging = z.ages(level, c.fits[level])
	}
}
