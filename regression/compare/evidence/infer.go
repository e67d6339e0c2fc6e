package evidence

import (
	"math"

	"github.com/corehour/corehour/regression/stats"
)

// Spread is the size of a difference: a variance of logarithms, and the degrees of freedom of its estimate.
type Spread struct{ Variance, DF float64 }

// Spreads are learned from earlier deployments: the spread between hosts, and the spread of one method between
// processes. The zero value means unknown.
type Spreads struct {
	Hosts, Processes Spread
	// OneMethod is the number of degrees of freedom that Processes counts as for one method.
	OneMethod float64
}

// ProcessDifferences are the differences between processes of the same version in one deployment.
type ProcessDifferences struct {
	Hosts     stats.Heterogeneity
	Processes []stats.Heterogeneity // one per method
}

// LearnSpreads pools the differences of several deployments.
func LearnSpreads(of []ProcessDifferences) Spreads {
	var hosts, processes []stats.Heterogeneity
	for _, d := range of {
		hosts = append(hosts, d.Hosts)
		processes = append(processes, d.Processes...)
	}
	var s Spreads
	s.Hosts = pool(hosts, Spread{hostsPrior * hostsPrior, hostsPriorDF})
	s.Processes = pool(processes, Spread{betweenPrior * betweenPrior, betweenPriorDF})
	s.OneMethod = stats.PriorDF(processes, s.Processes.Variance)
	return s
}

func pool(groups []stats.Heterogeneity, prior Spread) Spread {
	variance := stats.Pool(groups, prior.Variance, prior.DF)
	return Spread{variance, stats.PooledDF(groups, variance, prior.DF)}
}

const (
	// betweenPrior is the assumed standard deviation of a method between instances, and betweenPriorDF its degrees of
	// freedom, used where nothing was learned.
	betweenPrior   = 0.03
	betweenPriorDF = 4
	// hostsPrior and hostsPriorDF are the same for all methods of a host together.
	hostsPrior   = 0.10
	hostsPriorDF = 4
	// otherTime is the standard deviation of a change that all methods share if the versions ran at different times.
	otherTime = 0.05
	// byLoad is the standard deviation of the change of the cost of all calls when a process gets e times as many
	// calls, and byLoadMethod that of the difference between methods.
	byLoad, byLoadMethod = 0.20, 0.10
	byLoadDF             = 6
)

func (s Spread) or(sd, df float64) Spread {
	if s.DF > 0 && s.Variance > 0 {
		return s
	}
	return Spread{sd * sd, df}
}

// processSpreads are the spreads between hosts and processes that are used for one deployment.
type processSpreads struct {
	hosts   Spread // spread of the difference between the versions that hosts cause
	between [statistics]Spread
	prior   [statistics]float64 // degrees of freedom of between for one method
	changes [statistics]Spread  // of the changes themselves, if one version has a single process
	seen    ProcessDifferences
	taken   Spreads // the spreads behind hosts and between
}

// learnProcessSpreads estimates the spreads of hosts and processes from instances of the same version, together with
// those of earlier deployments.
func learnProcessSpreads(x *index, h hostEffects, methods []compared) processSpreads {
	d := x.d
	hostPrior := d.Spreads.Hosts.or(hostsPrior, hostsPriorDF)
	processPrior := d.Spreads.Processes.or(betweenPrior, betweenPriorDF)
	if h.level == nil { // hosts cannot be distinguished from processes
		processPrior = Spread{hostPrior.Variance + processPrior.Variance, min(hostPrior.DF, processPrior.DF)}
	}
	var out processSpreads
	for s := range out.between {
		groups := heterogeneity(methods, statistic(s))
		out.between[s] = pool(groups, processPrior)
		out.prior[s] = min(max(stats.PriorDF(groups, out.between[s].Variance), d.Spreads.OneMethod), out.between[s].DF)
		out.changes[s] = contrasts(x, methods, statistic(s), out.between[s].Variance, min(out.prior[s], 2*betweenPriorDF))
		if statistic(s) == mean {
			out.seen = ProcessDifferences{h.spread, groups}
		}
	}
	host := pool([]stats.Heterogeneity{h.spread}, hostPrior)
	if h.level == nil {
		host.Variance = 0
	}
	out.taken = Spreads{Hosts: host, Processes: out.between[mean]}
	contrast := host.Variance * h.weights
	if load := x.load(); math.Abs(load) > sameLoad && h.level != nil {
		by := byLoad * byLoad * load * load
		host.DF = stats.Satterthwaite([]float64{contrast, by}, []float64{host.DF, byLoadDF})
		contrast += by
	}
	if d.Overlap != Concurrent {
		other := otherTime * otherTime
		host.DF = stats.Satterthwaite([]float64{contrast, other}, []float64{host.DF, 4})
		contrast += other
	}
	out.hosts = Spread{contrast, host.DF}
	return out
}

// estimate computes the errors of a method's changes and sets its state: NotProven if it can be judged. inflation
// multiplies the variance between processes.
func (c *compared) estimate(d processSpreads, o Options, inflation float64) {
	v := &c.verdict
	enough := c.answers.ask(enoughRecords, min(c.seen[Base], c.seen[Head]) >= o.Records)
	switch {
	case c.seen[Head] == 0 && c.seen[Base] > 0 && v.HeadRecords == 0:
		v.State = Gone
		return
	case c.seen[Base] == 0:
		v.State = New
		return
	case !enough:
		v.State = FewRecords
		return
	case !c.fits[c.decide[0]].ok || !c.fits[mean].ok || !c.inclusive.ok:
		v.State = FewBuckets
		return
	}
	v.State = NotProven
	load := 0.0
	if math.Abs(c.load) > sameLoad {
		load = byLoadMethod * byLoadMethod * c.load * c.load
	}
	for s := range c.fits {
		f := &c.fits[s]
		if !f.ok {
			continue
		}
		between, df := f.instances.Moderated(d.between[s].Variance, d.prior[s])
		measured, processes := f.measured(o.Inflation), inflation*between*f.spread
		if changes := d.changes[s]; changes.DF > 0 && (f.instances.DF == 0 || inflation*changes.Variance > processes) {
			processes, df = inflation*changes.Variance, changes.DF
		}
		c.errors[s] = errorOf{
			measured: measured, all: measured + processes + load,
			df: stats.Satterthwaite([]float64{measured, processes, load}, []float64{f.df, df, byLoadDF}),
		}
	}
}

// best returns the deciding statistic with the smallest error.
func (c *compared) best() statistic {
	best := c.decide[0]
	for _, s := range c.decide[1:] {
		if c.fits[s].ok && c.errors[s].all < c.errors[best].all {
			best = s
		}
	}
	return best
}

// leastVote is the largest standard error of a method's change with which it has a vote on the common change.
const leastVote = 0.35

// votes returns the methods' votes on the change that all share. at holds the index of each method's vote, or -1.
func votes(methods []compared, d *Deployment) (out []stats.Vote, at []int) {
	at = make([]int, len(methods))
	for m := range methods {
		c := &methods[m]
		at[m] = -1
		if c.verdict.State != NotProven || c.basis == OwnPart || d.Wall {
			continue
		}
		e := c.errors[c.best()]
		if e.all > leastVote*leastVote {
			continue
		}
		at[m] = len(out)
		out = append(out, stats.Vote{Change: c.fits[c.best()].change, Variance: e.all, DF: e.df})
	}
	return out, at
}

// evidence returns the logarithm of the e-value of a method: against the common change of the other methods or, if w is
// nil, against the spread of hosts. With several statistics it is a mean of their e-values whose weights do not depend
// on the estimates, so it is an e-value.
func (c *compared) evidence(w *stats.Without, hosts Spread, o Options) float64 {
	var logs, variances [statistics]float64
	for s := range logs {
		if !c.fits[s].ok {
			continue
		}
		e, change := c.errors[s], c.fits[s].change
		loading := c.loadingOf(statistic(s))
		if variances[s] = e.all; w != nil {
			logs[s] = w.LogE(change, stats.Error{Variance: e.all, DF: e.df}, loading, margin(o), scales)
			continue
		}
		whole := e.with(Spread{loading * loading * hosts.Variance, hosts.DF})
		logs[s] = stats.LogEStudent(change, whole.all, whole.df, margin(o), scales)
	}
	if len(c.decide) == 1 {
		if !c.typical {
			return logs[c.decide[0]]
		}
		c.byTypical = logs[level] > logs[mean]
		return stats.LogMean(logs[mean], logs[level])
	}
	both := meanEvidence(logs, variances)
	if len(c.tails) == 0 {
		return both
	}
	processes := c.errors[c.best()]
	shared := 0.0
	if w != nil {
		shared = w.Mean - w.SD
	}
	rare := c.tailEvidence(math.Sqrt(processes.all-processes.measured+hosts.Variance), shared)
	whole := weighted([]float64{1 - meanShare - tailShare, meanShare, tailShare}, both, logs[mean], rare)
	// Most calls changed by less than half the change of the mean.
	c.verdict.Tail = max(logs[mean], rare) > both && c.fits[level].change < c.fits[mean].change/2
	return whole
}

// loadingOf returns the coefficient of a change that all methods share in a statistic. The level of a method with
// callees is inclusive.
func (c *compared) loadingOf(s statistic) float64 {
	if c.typical && s == level {
		return 1
	}
	return c.loading
}

// weighted returns the logarithm of the weighted mean of values that are given as logarithms.
func weighted(weights []float64, logs ...float64) float64 {
	for i := range logs {
		logs[i] += math.Log(weights[i] * float64(len(logs)))
	}
	return stats.LogMean(logs...)
}

// with returns e with the variance between hosts added.
func (e errorOf) with(hosts Spread) errorOf {
	return errorOf{e.measured, e.all + hosts.Variance, stats.Satterthwaite([]float64{e.all, hosts.Variance}, []float64{e.df, hosts.DF})}
}

// inferNext computes the verdict of a method relative to the common change of the other methods. If the version may be
// the cause of the common change, nothing is subtracted: the interval covers both cases, the change caused by hosts and
// the change caused by the version, and the evidence must hold in both.
func (c *compared) inferNext(w *stats.Without, d processSpreads, o Options) {
	v := &c.verdict
	c.measure(o)
	e, f := c.errors[mean], c.fits[mean]
	low, high := w.Interval(f.change, e.all, e.df, c.loading)
	left := changePart{shareOf(f.change - c.loading*w.Mean), [2]float64{shareOf(low), shareOf(high)}}
	hosts := Spread{w.SD * w.SD, math.Inf(1)}
	c.spread = c.errors[c.best()].with(Spread{c.loading * c.loading * w.SD * w.SD, math.Inf(1)})
	if v.CommonReason = attributed(w, d.hosts); v.CommonReason != "" {
		version := partOf(f.change, e.all, e.df)
		v.Change, v.Interval = version.Change, [2]float64{min(version.Interval[0], left.Interval[0]), max(version.Interval[1], left.Interval[1])}
		c.logE = c.evidence(nil, Spread{0, math.Inf(1)}, o)
		c.atMost(c.evidence(w, hosts, o))
		return
	}
	v.CommonReason = takenOff
	v.Common = &changePart{shareOf(c.loading * w.Mean), [2]float64{shareOf(c.loading * w.Low), shareOf(c.loading * w.High)}}
	v.Remaining, v.Change, v.Interval = &left, left.Change, left.Interval
	c.logE = c.evidence(w, hosts, o)
	c.atMost(c.logE)
}

// inferAlone computes the verdict of a method relative to the spread of hosts, because the common change is not known.
// reason explains why; it is empty for calls per call, which hosts do not change.
func (c *compared) inferAlone(reason string, d processSpreads, o Options) {
	v := &c.verdict
	c.measure(o)
	c.alone, v.CommonReason = reason != "", reason
	hosts := Spread{c.loading * c.loading * d.hosts.Variance, d.hosts.DF}
	c.spread = c.errors[c.best()].with(hosts)
	whole := c.errors[mean].with(hosts)
	part := partOf(c.fits[mean].change, whole.all, whole.df)
	v.Change, v.Interval = part.Change, part.Interval
	c.logE = c.evidence(nil, d.hosts, o)
	c.atMost(c.logE)
}

// measure sets the measured changes.
func (c *compared) measure(o Options) {
	v, f := &c.verdict, c.fits[mean]
	v.Measured = partOf(f.change, c.errors[mean].measured, f.df)
	v.Inclusive = partOf(c.inclusive.change, c.inclusive.measured(o.Inflation), c.inclusive.df)
	c.surely = v.Measured.Interval[0]
}

// atMost limits the evidence to logE.
func (c *compared) atMost(logE float64) {
	c.logE = min(c.logE, logE)
	c.verdict.LogE, c.verdict.EValue = c.logE, math.Exp(min(c.logE, 700))
}

// meanShare and tailShare are the weights of the uncapped mean and of rare calls in the evidence.
const meanShare, tailShare = 0.05, 0.1

// tailEvidence returns the logarithm of the mean e-value of the thresholds; 0 if there are none.
func (c *compared) tailEvidence(processes, shared float64) float64 {
	logs := make([]float64, 0, thresholds)
	for k := range c.tails {
		logs = append(logs, c.tails[k].logE(processes, shared))
	}
	return stats.LogMean(logs...)
}

// partOf returns a change with its 95% interval.
func partOf(change, variance, df float64) changePart {
	half := stats.Estimate{SE: math.Sqrt(variance), DF: min(df, 1e6)}.Margin(0.95)
	return changePart{shareOf(change), [2]float64{shareOf(change - half), shareOf(change + half)}}
}

func margin(o Options) float64 { return math.Log1p(o.Margin) }
