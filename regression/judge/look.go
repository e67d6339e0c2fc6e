package judge

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/corehour/corehour/regression/stats"
)

// betweenPrior is the spread between instances that is assumed where a deployment
// says nothing about it, and the pooled estimate's degrees of freedom it counts as.
const (
	betweenPrior   = 0.02
	betweenPriorDF = 4
	// moderation is what the pooled variance between instances counts as in that
	// of one method.
	moderation = 10
)

// compared is one method while it is judged.
type compared struct {
	name    string // the whole service has none
	caller  string // of a pair
	fits    [statistics]fit
	used    int // statistics that e-values are made of, from cost on
	logE    float64
	seen    [2]float64
	weight  [2]float64
	spread  float64 // variance of the change of cost, inflated
	verdict Verdict
}

func (c *compared) subject() subject { return subject{c.caller, c.name} }

// Look judges all methods by the complete slots. memory is that of the look
// before; the one to keep for the next is returned.
func Look(d *Deployment, o Options, memory Memory) (*Result, Memory, error) {
	if err := o.validate(); err != nil {
		return nil, memory, err
	}
	x, err := newIndex(d, o)
	if err != nil {
		return nil, memory, err
	}
	if d.Overlap != Concurrent {
		o.Inflation *= apartInflation
	}
	z := newStandard(x)
	common := commonMode(x, z, nil)
	methods := compare(x, z, common)
	infer(methods, o)
	if own := ownReasons(methods); own != nil {
		common = commonMode(x, z, own)
		methods = compare(x, z, common)
		infer(methods, o)
	}
	service := judgeService(x, common, o)
	calls, err := compareCalls(x, o)
	if err != nil {
		return nil, memory, err
	}

	seen := d.Begin.Add(d.Slot * time.Duration(d.Slots))
	costs := append(pointers(methods), service)
	memory = memory.next(seen, append(raise(costs, o.LeastChange, o), raise(pointers(calls), leastCallsChange, o)...))
	for _, c := range append(costs, pointers(calls)...) {
		if n := memory.count(c.subject()); n >= o.Looks {
			c.verdict.State = Regressed
		} else if n > 0 {
			c.verdict.State = Pending
		}
	}
	if d.Over {
		settle(costs, o)
		settle(pointers(calls), o)
	}
	excesses(x, methods)
	wait(x, methods, common)
	fold(x, methods, calls, common, o)
	return report(x, methods, service, calls, o), memory, nil
}

// report puts the verdicts into words and lists those to tell people.
func report(x *index, methods []compared, service *compared, calls []compared, o Options) *Result {
	r := &Result{Methods: make([]Verdict, len(methods)), Calls: make([]Verdict, len(calls)), Alerts: []Alert{}, Warnings: warnings(x.d)}
	for i := range methods {
		v := &methods[i].verdict
		v.Reason = costReason(v)
		r.Methods[i] = *v
		r.raise(Regression, *v)
	}
	for i := range calls {
		v := &calls[i].verdict
		describeCalls(v)
		r.Calls[i] = *v
		r.raise(MoreCalls, *v)
	}
	service.verdict.Reason = costReason(&service.verdict)
	r.Service = service.verdict
	r.raise(WholeService, r.Service)
	slices.SortStableFunc(r.Alerts, func(a, b Alert) int { return cmp.Compare(b.ExcessPerDay, a.ExcessPerDay) })
	return r
}

func (r *Result) raise(kind Kind, v Verdict) {
	if v.State == Regressed {
		r.Alerts = append(r.Alerts, Alert{kind, v})
	}
}

func pointers(all []compared) []*compared {
	out := make([]*compared, len(all))
	for i := range all {
		out[i] = &all[i]
	}
	return out
}

// compare fits every method.
func compare(x *index, z *standard, common []float64) []compared {
	z.remove(common)
	out := make([]compared, len(x.d.Methods))
	for m, name := range x.d.Methods {
		c := &out[m]
		c.name, c.used = name, int(statistics)
		cells := x.of(m)
		if z.method(cells) {
			for s := range c.fits {
				c.fits[s] = z.fitOf(statistic(s))
			}
		}
		c.seen, c.weight = z.seen, z.weight
		c.describeMeans(z)
		c.verdict.Mix = mixOf(x, cells)
	}
	return out
}

// describeMeans tells the means and what could not be compared.
func (c *compared) describeMeans(z *standard) {
	v := &c.verdict
	v.Method = c.name
	v.BaseRecords, v.HeadRecords = c.seen[Base], c.seen[Head]
	if c.weight[Head] > 0 {
		g := &z.grids[cost]
		var u, e float64
		for i, in := range z.x.d.Instances {
			if in.Side != Head {
				continue
			}
			for at := i * z.x.d.Slots; at < (i+1)*z.x.d.Slots; at++ {
				u += g.expected[at]
				e += g.residual[at]
			}
		}
		v.BaseMean, v.HeadMean = u/c.weight[Head], (u+e)/c.weight[Head]
	}
	if z.unmatched > 0.5*(z.unmatched+c.weight[Head]) {
		v.Warnings = append(v.Warnings, "most calls come from callers that the base version did not have")
	}
}

// infer turns fits into e-values: first what instances differ by, pooled over all
// methods, then each method with its own share of it.
func infer(methods []compared, o Options) {
	var pooled [statistics]float64
	for s := range pooled {
		groups := make([]stats.Heterogeneity, 0, len(methods))
		for i := range methods {
			if f := &methods[i].fits[s]; f.ok {
				groups = append(groups, f.instances)
			}
		}
		pooled[s] = stats.Pool(groups, betweenPrior*betweenPrior, betweenPriorDF)
	}
	for i := range methods {
		methods[i].infer(pooled, o)
	}
}

func (c *compared) infer(pooled [statistics]float64, o Options) {
	v := &c.verdict
	switch {
	case c.seen[Head] == 0 && c.seen[Base] > 0:
		v.State = Gone
		return
	case c.seen[Base] == 0:
		v.State = New
		return
	case min(c.seen[Base], c.seen[Head]) < o.Records:
		v.State = FewRecords
		return
	case !c.fits[cost].ok:
		v.State = FewSlots
		return
	}
	v.State = NotProven
	var logs, variances [statistics]float64
	for s := range c.used {
		if f := &c.fits[s]; f.ok {
			variances[s] = f.variance(f.instances.Moderated(pooled[s], moderation), o.Inflation)
			logs[s] = stats.LogE(f.change, variances[s], margin(o), scales)
		}
	}
	c.spread, c.logE = variances[cost], logs[cost]
	if c.used == int(statistics) {
		c.logE = combine(logs, variances)
	}
	v.LogE, v.EValue = c.logE, math.Exp(min(c.logE, 700))
	v.Change = shareOf(c.fits[cost].change)
	half := 1.959964 * math.Sqrt(c.spread)
	v.Interval = [2]float64{shareOf(c.fits[cost].change - half), shareOf(c.fits[cost].change + half)}
}

func margin(o Options) float64 { return math.Log1p(o.Margin) }

// raise names what one family of hypotheses has against it: e-BH, and the
// predicates. It also tells what would have been seen.
func raise(family []*compared, least float64, o Options) []subject {
	logE := make([]float64, len(family))
	for i, c := range family {
		logE[i] = c.logE
	}
	rejected, needed := stats.EBH(logE, len(family), o.Alpha)
	var raised []subject
	for i, c := range family {
		if !c.verdict.State.Judged() {
			continue
		}
		c.verdict.NeededE = math.Exp(needed[i])
		c.describePower(needed[i], o)
		if rejected[i] && c.verdict.Change >= least && c.fits[cost].last >= 0 {
			raised = append(raised, c.subject())
		}
	}
	return raised
}

// describePower tells what would have been seen, so much evidence being needed.
func (c *compared) describePower(logNeeded float64, o Options) {
	c.verdict.Seen90 = shareOf(stats.DetectableLogE(c.spread, margin(o), scales, logNeeded, 0.9))
	c.verdict.PowerAt10 = stats.PowerLogE(math.Log(1.1), c.spread, margin(o), scales, logNeeded)
}
