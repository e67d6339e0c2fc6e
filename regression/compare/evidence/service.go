package evidence

import (
	"fmt"
	"math"

	"github.com/corehour/corehour/regression/stats"
)

const (
	// mostMoved is the maximum expected share of the other methods that changed for reasons of their own: a third,
	// plus the contribution expected from unchanged methods. Above it the common part cannot be separated from
	// their changes.
	mostMoved = 0.38
	// beyondHosts is the confidence level of the limit of differences between hosts. A larger common part is not
	// subtracted.
	beyondHosts = 0.98
)

// identified returns the reason why the common part cannot be identified, or "" if it can.
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
	// usualHosts is the maximum common part that is attributed to hosts, in standard deviations of the difference
	// between hosts. For a larger common part the version is an equally likely cause.
	usualHosts = 1.0
	// knownSD is the number of standard errors from which a common part counts as different from 0.
	knownSD = 2.0
)

// attributed returns the reason why an identified common part is not subtracted, or "" if it is: it can be 0, or the
// version is as likely a cause as the hosts.
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

// serviceError is the share of deployments in which the whole service may be raised by mistake, by any evaluation. It
// is a budget of its own next to that of the methods.
const serviceError = 0.001

// judgeService returns the verdict on all methods together: on the change that they share or, where it is not
// identified, on the change of their total cost.
func judgeService(x *index, methods []compared, shared *stats.Shared, d processSpreads, o Options) *compared {
	c := &compared{whole: true, verdict: outcome{Method: "whole service", State: FewBuckets, Basis: Own}, decide: []statistic{mean}}
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
		// Few processes say little about the spread of the votes, however many minutes they run.
		change, variance, df = w.Likeliest, w.Variance, float64(x.processes[Base]+x.processes[Head])
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

// serviceCost compares the cost of the whole service at the calls of the head: the inclusive cost of calls that come
// from outside the measured methods.
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
