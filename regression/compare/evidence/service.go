package evidence

import (
	"fmt"
	"math"

	"github.com/corehour/corehour/regression/stats"
)

const (
	// mostMoved is the expected share of the other methods that may have changed for
	// reasons of their own, a third and what is expected of those that did not; with more,
	// what is common to all cannot be distinguished from what changed.
	mostMoved = 0.38
	// beyondHosts is the probability with which hosts differ by less than the common part
	// that is still taken off.
	beyondHosts = 0.98
)

// identified says why the common part cannot be identified, "" if it can.
func identified(d *Deployment, w *stats.Without, hosts Spread) string {
	switch {
	case d.Wall:
		return "not identified: wall time does not follow the speed of a host"
	case w.Voters == 0 || hosts.Variance == 0:
		return "not identified: no other method's own cost is known well enough to compare with"
	case w.Moved > mostMoved:
		return "not identified: more than a third of the other methods changed as well"
	case math.Abs(w.Likeliest) > stats.Estimate{SE: math.Sqrt(hosts.Variance + w.Variance), DF: hosts.DF}.Margin(beyondHosts):
		return moreThanHosts
	}
	return ""
}

const moreThanHosts = "not identified: what the other methods share is more than hosts differ by"

const (
	// usualHosts is how many standard deviations of what hosts differ by the common part
	// may be to be taken for theirs. A version that changes all methods by more than
	// that is as likely.
	usualHosts = 1.0
	// knownSD are the standard errors from which a common part is known not to be 0.
	knownSD = 2.0
)

// attributed says why an identified common part is not taken off, "" if it is: it is not
// known to be other than 0, or the version is as likely to have caused it as hosts are.
func attributed(w *stats.Without, hosts Spread) string {
	switch {
	case w.Low <= 0 && w.High >= 0 && math.Abs(w.Likeliest) < knownSD*math.Sqrt(w.Variance):
		return "not identified: what the other methods share may be nothing"
	case math.Abs(w.Likeliest) > usualHosts*math.Sqrt(hosts.Variance+w.Variance):
		return fmt.Sprintf("not identified: the other methods share %s, of hosts or of the version", percent(shareOf(w.Likeliest)))
	}
	return ""
}

const takenOff = "what the other methods share, within what hosts differ by"

// judgeService makes the verdict on all methods together: on the change that they share,
// or, where that is not identified, on the change of the cost of all of them.
func judgeService(x *index, methods []compared, shared *stats.Shared, d processSpreads, o Options) *compared {
	c := &compared{verdict: outcome{Method: "whole service", State: FewBuckets, Basis: Own}, decide: []statistic{mean}}
	bill, ok := serviceCost(methods, d)
	if !ok {
		return c
	}
	v := &c.verdict
	v.State = NotProven
	measured := o.Inflation * bill.variance
	v.Measured = partOf(bill.change, measured, bill.df)
	v.Inclusive = v.Measured
	change, variance, df := bill.change, o.Inflation*(bill.variance+bill.processes), bill.df
	w := shared.Without(-1)
	v.CommonReason = identified(x.d, w, d.hosts)
	if v.CommonReason == "" {
		v.CommonReason = "what the methods share"
		v.Common = &changePart{shareOf(w.Mean), [2]float64{shareOf(w.Low), shareOf(w.High)}}
	}
	if v.Common != nil || v.CommonReason == moreThanHosts { // the methods agree
		change, variance, df = w.Likeliest, w.Variance, math.Inf(1)
	}
	c.alone = v.Common == nil
	c.surely = partOf(change, variance, df).Interval[0]
	c.spread = errorOf{measured, variance, df}.with(d.hosts)
	c.logE = stats.LogEStudent(change, c.spread.all, c.spread.df, margin(o), scales)
	whole := partOf(change, c.spread.all, c.spread.df)
	v.Change, v.Interval = whole.Change, whole.Interval
	c.fits[mean] = fit{change: change, ok: true}
	c.atMost(c.logE)
	return c
}

type bill struct{ change, variance, processes, df float64 }

// serviceCost compares the cost of all methods, each at the calls of the head: what calls
// that none of the methods makes cost with all they call.
func serviceCost(methods []compared, d processSpreads) (bill, bool) {
	var base, head float64
	var out bill
	var variances, df []float64
	for m := range methods {
		c := &methods[m]
		f := &c.inclusive
		if !c.verdict.State.Judged() || !f.ok || c.entry == 0 {
			continue
		}
		b, h := c.entry*c.inclusiveBase, c.entry*c.inclusiveCost
		base, head = base+b, head+h
		variances = append(variances, (f.within+f.buckets)*h*h)
		df = append(df, f.df)
		between, _ := f.instances.Moderated(d.between[mean].Variance, d.prior[mean])
		out.processes += between * f.spread * h * h
	}
	if !(base > 0) || !(head > 0) {
		return bill{}, false
	}
	for _, v := range variances {
		out.variance += v / (head * head)
	}
	out.processes /= head * head
	out.change, out.df = math.Log(head/base), stats.Satterthwaite(variances, df)
	return out, true
}
