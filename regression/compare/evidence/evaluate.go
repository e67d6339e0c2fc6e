package evidence

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/corehour/corehour/regression/stats"
)

// Evaluate judges all methods by the complete buckets. memory is that of the previous evaluation; the returned
// Memory is for the next one.
func Evaluate(d *Deployment, o Options, memory Memory) (*Result, Memory, error) {
	results, memory, err := EvaluateAll([]*Deployment{d}, o, memory)
	if err != nil {
		return nil, memory, err
	}
	return results[0], memory, nil
}

// EvaluateAll judges the methods of one deployment that was measured by several metrics, one Deployment per metric.
// Each method is judged by one metric, and all methods are one family of hypotheses. The verdicts on the whole
// service and on calls come from the first metric.
func EvaluateAll(ds []*Deployment, o Options, memory Memory) ([]*Result, Memory, error) {
	if err := o.validate(); err != nil {
		return nil, memory, err
	}
	looks := make([]*evaluation, len(ds))
	var costs []*compared
	for i, d := range ds {
		l, err := newEvaluation(d, o)
		if err != nil {
			return nil, memory, err
		}
		if i == 0 {
			if l.calls, err = compareCalls(l.x, l.o); err != nil {
				return nil, memory, err
			}
		}
		l.infer()
		looks[i] = l
		costs = append(costs, l.judged()...)
	}
	first := looks[0]
	costs = append(costs, first.service)
	calls := pointers(first.calls)
	seen := first.x.d.Begin.Add(first.x.d.Bucket * time.Duration(first.x.d.Buckets))
	for _, c := range slices.Concat(costs, calls) {
		c.before = memory.count(c.alertKey()) >= o.Evaluations
	}
	against := map[alertKey]int{}
	raisedCosts := memory.keep(costs, raise(costs, o.LeastChange, first.o), o.LeastChange, o, seen, against)
	raisedCalls := memory.keep(calls, raise(calls, leastCallsChange, first.o), leastCallsChange, o, seen, against)
	memory = memory.next(seen, append(raisedCosts, raisedCalls...), against)
	confirm(slices.Concat(costs, calls), memory, o)
	if first.x.d.Over {
		confirmLast(costs, first.o)
		confirmLast(calls, first.o)
	}
	undecided(costs, o)
	attributeService(first.methods, first.service)
	results := make([]*Result, len(looks))
	for i, l := range looks {
		attribute(l.x, l.methods, l.calls, l.x.withCommon(l.hosts.level, l.service.verdict.Common), l.o)
		excesses(l.x, l.methods)
		l.setNeeded()
		results[i] = l.report(first.calls)
	}
	return results, memory, nil
}

// MeasureDifferences returns the differences between processes of the same version.
func MeasureDifferences(d *Deployment, o Options) (ProcessDifferences, error) {
	if err := o.validate(); err != nil {
		return ProcessDifferences{}, err
	}
	l, err := newEvaluation(d, o)
	if err != nil {
		return ProcessDifferences{}, err
	}
	return l.processSpreads.seen, nil
}

// evaluation is the evaluation of one Deployment.
type evaluation struct {
	x              *index
	o              Options
	inflation      float64 // factor for the variance between processes
	hosts          hostEffects
	methods        []compared
	processSpreads processSpreads
	service        *compared
	common         float64 // change that all methods share
	calls          []compared
}

// newEvaluation measures each method and the differences between processes.
func newEvaluation(d *Deployment, o Options) (*evaluation, error) {
	x, err := newIndex(d, o)
	if err != nil {
		return nil, err
	}
	inflation := o.Inflation // without apartInflation: correlation between buckets does not make processes differ more
	if d.Overlap != Concurrent {
		o.Inflation *= apartInflation
	}
	z := newStandard(x)
	if o.WarmUp == Learn {
		x.learnWarmUp(z)
	}
	x.findCallees(o)
	x.measureLoad()
	l := &evaluation{x: x, o: o, inflation: inflation, hosts: withinVersions(x, z)}
	l.methods = compare(x, z, l.hosts.level)
	l.processSpreads = learnProcessSpreads(x, l.hosts, l.methods)
	return l, nil
}

// infer computes the verdict of each method, before e-BH, and that of the whole service.
func (l *evaluation) infer() {
	for i := range l.methods {
		l.methods[i].estimate(l.processSpreads, l.o, l.inflation)
	}
	l.service, l.common = inferAll(l.x, l.methods, l.processSpreads, l.o)
	l.measureShares()
	for _, c := range slices.Concat(pointers(l.methods), pointers(l.calls), []*compared{l.service}) {
		c.x = l.x
	}
}

// judged returns the methods that this evaluation judges, and marks the others Elsewhere.
func (l *evaluation) judged() (out []*compared) {
	for m := range l.methods {
		if judge := l.x.d.Judge; judge == nil || judge[m] {
			out = append(out, &l.methods[m])
			continue
		}
		l.methods[m].verdict.State = Elsewhere
	}
	return out
}

// inferAll computes the verdicts of all methods and returns that of the whole service, and the change that all share.
func inferAll(x *index, methods []compared, d processSpreads, o Options) (*compared, float64) {
	votes, at := votes(methods, x.d)
	shared := stats.NewShared(votes, d.hosts.Variance, d.hosts.DF, soloists(methods, at)...)
	service := judgeService(x, methods, shared, d, o)
	for m := range methods {
		c := &methods[m]
		if c.verdict.State != NotProven {
			continue
		}
		c.inferWith(shared.Without(at[m]), x.d, d, o)
	}
	return service, shared.Without(-1).Mean
}

// inferWith computes the verdict of a method by what the other methods show of the common change.
func (c *compared) inferWith(w *stats.Without, deployment *Deployment, d processSpreads, o Options) {
	switch reason := identified(deployment, w, d.hosts); reason {
	case "":
		c.inferNext(w, d, o)
	case moreThanHosts:
		// The part of its change that all others share belongs to the whole service.
		alone := c.evidence(w, Spread{}, o)
		c.inferAlone(reason, d, o)
		c.atMost(alone)
	default:
		c.inferAlone(reason, d, o)
	}
}

// withCommon returns level with the common change of the head added to the head's instances.
func (x *index) withCommon(level []float64, common *changePart) []float64 {
	out := make([]float64, len(x.warm))
	copy(out, level)
	if common != nil {
		for at := range out {
			if x.d.Instances[at/x.d.Buckets].Side == Head {
				out[at] += math.Log1p(common.Change)
			}
		}
	}
	return out
}

// soloists returns up to 16 methods without a vote, at whose changes the likelihood of the others is computed.
func soloists(methods []compared, at []int) (out []stats.Vote) {
	const few = 16
	for m := range methods {
		if c := &methods[m]; at[m] < 0 && c.verdict.State == NotProven && len(out) < few {
			out = append(out, stats.Vote{Change: c.fits[c.best()].change, Variance: c.errors[c.best()].all})
		}
	}
	return out
}

// undecidedFrom is the measured change from which a method that cannot be judged is reported as undecided.
const undecidedFrom = 0.20

// undecided marks methods that were measured as much more expensive but could not be judged, because the effect of the
// version cannot be separated from that of its hosts.
func undecided(family []*compared, o Options) {
	least := max(undecidedFrom, o.LeastChange)
	for _, c := range family {
		if v := &c.verdict; v.State == NotProven && !c.proven && c.surely > least && v.Interval[1] > least {
			v.State = Undecided
			c.answers.endAt(enoughEvidence)
		}
	}
}

// report returns the result of the evaluation. calls are those of the first evaluation, which judges them.
func (l *evaluation) report(calls []compared) *Result {
	r := &Result{
		Methods: make([]Verdict, len(l.methods)), Calls: make([]Verdict, len(l.calls)),
		WarmUp: l.x.learned, ProcessDifferences: l.processSpreads.seen, Spreads: l.processSpreads.taken, Warnings: warnings(l.x),
	}
	oftener := map[string]bool{}
	for i := range calls {
		if v := &calls[i].verdict; v.State == Regressed {
			oftener[v.Method] = true
		}
	}
	for i := range l.methods {
		c := &l.methods[i]
		c.verdict.Reason = costReason(&c.verdict)
		c.verdict.Trace = c.trace(l.o, oftener[c.name])
		r.Methods[i] = c.verdict.verdict(Regression)
	}
	for i := range l.calls {
		v := &l.calls[i].verdict
		describeCalls(v)
		r.Calls[i] = v.verdict(MoreCalls)
	}
	l.service.verdict.Reason = costReason(&l.service.verdict)
	r.Service = l.service.verdict.verdict(WholeService)
	for _, v := range slices.Concat(r.Methods, r.Calls, []Verdict{r.Service}) {
		if v.State == Regressed {
			r.Alerts = append(r.Alerts, v)
		}
	}
	slices.SortStableFunc(r.Alerts, func(a, b Verdict) int { return cmp.Compare(b.ExcessPerDay, a.ExcessPerDay) })
	return r
}

// raise applies e-BH and the conditions of an alert to one family of hypotheses, and returns the raised methods. It
// also sets the power of each test. Methods that cost too little to be raised are no hypotheses.
func raise(family []*compared, least float64, o Options) []alertKey {
	logE := make([]float64, len(family))
	hypotheses := 0
	for i, c := range family {
		if logE[i] = c.logE; c.belowShare(o) {
			logE[i] = math.Inf(-1)
		} else if c.verdict.State.Judged() {
			hypotheses++
		}
	}
	rejected, needed := stats.EBH(logE, hypotheses, o.Alpha)
	var raised []alertKey
	for i, c := range family {
		if !c.verdict.State.Judged() {
			continue
		}
		if below := c.belowShare(o); c.alone || below {
			// A host affects all methods that are judged alone at once, so each needs the evidence that e-BH requires of
			// the first rejection.
			needed[i] = math.Log(float64(max(hypotheses, 1)) / o.Alpha)
			rejected[i] = (rejected[i] || below) && c.logE >= needed[i]
		}
		if c.whole {
			needed[i] = max(needed[i], -math.Log(serviceError))
			rejected[i] = rejected[i] && c.logE >= needed[i]
		}
		c.verdict.NeededE, c.hypotheses = math.Exp(needed[i]), hypotheses
		c.describePower(needed[i], o)
		large, known := c.answers.ask(largeEnough, c.changed() >= least), c.answers.ask(enoughEvidence, rejected[i])
		c.proven = large && known
		if c.proven && c.byTypical && !c.ownGrew(least) {
			c.decideByTypical()
		}
		if c.proven && c.x != nil {
			c.doubt(c.x, o)
		}
		if c.proven && c.answers.ask(stillMore, c.verdict.Tail || c.fits[c.best()].up()) {
			raised = append(raised, c.alertKey())
		}
	}
	return raised
}

// confirm makes a raised method Regressed if enough consecutive evaluations raised it, else Pending.
func confirm(all []*compared, memory Memory, o Options) {
	for _, c := range all {
		n := memory.count(c.alertKey())
		switch {
		case n == 0:
		case c.answers.ask(confirmed, n >= o.Evaluations):
			c.regressed()
		default:
			c.verdict.State = Pending
		}
	}
}

// regressed marks a method as an alert, unless the alert would be doubtful. attribute can still explain it by other
// methods.
func (c *compared) regressed() {
	if !c.answers.ask(undoubted, c.doubted == "") {
		c.verdict.State = c.doubted
		return
	}
	c.answers.ask(itsOwn, true)
	c.verdict.State = Regressed
}

// notItsOwn marks a method whose change other methods explain: regressed callees, or a caller that saves as much
// elsewhere. The explanation replaces the conditions on the last bucket and the confirmation.
func (c *compared) notItsOwn(state VerdictState, explains []string) {
	c.answers.ask(stillMore, true)
	if !c.verdict.LastEvaluation {
		c.answers.ask(confirmed, true)
	}
	c.answers.ask(itsOwn, false)
	c.verdict.State, c.verdict.Explains = state, explains
}

// changed returns the change to compare with the smallest raised change: the largest of the mean and the deciding
// statistics, because a few calls can hide in the mean a change that all other calls show.
func (c *compared) changed() float64 {
	shared := c.fits[mean].change - math.Log1p(c.verdict.Change)
	most := c.verdict.Change
	if c.byTypical {
		most = max(most, shareOf(c.fits[level].change-shared))
	}
	for _, s := range c.decide {
		if c.fits[s].ok {
			most = max(most, shareOf(c.fits[s].change-shared))
		}
	}
	return most
}

// ownPrecise is the standard error below which the own cost is the figure of an alert that the typical cost proves.
const ownPrecise = 0.1

// ownGrew reports whether the own cost is known to ownPrecise and grew by more than its 95% interval allows for.
func (c *compared) ownGrew(least float64) bool {
	return c.basis == Own && c.verdict.Interval[0] >= least && c.errors[mean].all < ownPrecise*ownPrecise
}

// decideByTypical makes the typical cost the tested one: the verdict has its change and its interval.
func (c *compared) decideByTypical() {
	v, change := &c.verdict, c.typicalChange()
	c.ownVerdict = *v
	v.Change, v.Interval = change.Change, change.Interval
	v.Measured = partOf(c.fits[level].change, c.errors[level].measured, c.fits[level].df)
	if v.Remaining != nil {
		v.Remaining = &change
	}
	c.spread = c.typicalSpread()
	v.BaseMean, v.HeadMean = c.typicalBase, c.typicalBase*math.Exp(c.fits[level].change)
	c.decide, c.basis, v.Basis = []statistic{level}, Typical, Typical
	c.aging = c.typicalAging
}

// restoreOwn gives the verdict the own cost again: its callees explain the typical cost.
func (c *compared) restoreOwn() {
	v, own := &c.verdict, &c.ownVerdict
	v.Basis, v.Change, v.Interval, v.Measured, v.Remaining = own.Basis, own.Change, own.Interval, own.Measured, own.Remaining
	v.BaseMean, v.HeadMean = own.BaseMean, own.HeadMean
	c.basis, c.decide = own.Basis, []statistic{mean}
}

// typicalSpread returns the error of the typical cost, with that of the common part.
func (c *compared) typicalSpread() errorOf {
	hosts := max(c.spread.all-c.errors[c.best()].all, 0)
	if c.loading > 0 {
		hosts /= c.loading * c.loading
	}
	return c.errors[level].with(Spread{hosts, c.spread.df})
}

// typicalChange returns the change of the typical cost without the common part.
func (c *compared) typicalChange() changePart {
	shared := 0.0
	if c.verdict.Common != nil && c.loading > 0 {
		shared = math.Log1p(c.verdict.Common.Change) / c.loading
	}
	e := c.typicalSpread()
	return partOf(c.fits[level].change-shared, e.all, e.df)
}

// describePower sets the detectable change and the power at 10%, given the required evidence.
func (c *compared) describePower(logNeeded float64, o Options) {
	need := stats.RequiredLogE(c.spread.all, c.spread.df, margin(o), scales, logNeeded)
	c.verdict.Seen90 = shareOf(need.Detectable(0.9))
	c.verdict.PowerAt10 = need.Power(math.Log(1.1))
}
