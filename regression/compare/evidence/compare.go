package evidence

import (
	"github.com/corehour/corehour/regression/stats"
)

// compared is one method while it is judged.
type compared struct {
	name    string // the whole service has none
	caller  string // of a pair
	fits    [statistics]fit
	basis   Basis
	loading float64 // how much of a shared change is in its own
	// decide are the statistics that e-values are made of.
	decide    []statistic
	inclusive fit // of the mean, with all it calls
	// inclusiveCost is what all calls of the head cost with all they call, and
	// inclusiveBase what they would have cost in the base.
	inclusiveCost, inclusiveBase float64
	entry                        float64 // the share of its calls that none of the methods makes
	tails                        []tail
	load                         float64 // logarithm of the head's calls per process over the base's
	seen                         [2]float64
	weight                       [2]float64

	errors  [statistics]errorOf
	surely  float64 // the lower end of what was measured
	proven  bool    // it has the evidence and the size of an alert
	alone   bool    // judged against what hosts can do, not next to the other methods
	logE    float64
	spread  errorOf // of what decides, with what all methods share
	answers answers
	// hypotheses is the size of its family.
	hypotheses int
	verdict    outcome
}

// errorOf is the error of a change.
type errorOf struct {
	measured float64 // variance of what was measured
	all      float64 // and of what processes differ by
	df       float64 // of all
}

func (c *compared) alertKey() alertKey { return alertKey{c.caller, c.name} }

func pointers(all []compared) []*compared {
	out := make([]*compared, len(all))
	for i := range all {
		out[i] = &all[i]
	}
	return out
}

// compare fits every method, less what all methods of an instance and bucket share.
func compare(x *index, z *standard, shared []float64) []compared {
	z.remove(shared)
	out := make([]compared, len(x.d.Methods))
	for m, name := range x.d.Methods {
		c := &out[m]
		c.name, c.basis, c.loading, c.decide = name, Inclusive, 1, []statistic{cost, level}
		cells := x.of(m)
		ok := z.method(cells)
		c.seen, c.weight = z.seen, z.weight
		if ok {
			c.tails = z.tails(cells)
			c.fit(z, m)
		}
		c.describe(z, ok)
		c.verdict.Mix = callerMix(x, cells)
	}
	return out
}

// fit estimates the changes of a method: of its own cost where callers are known.
func (c *compared) fit(z *standard, m int) {
	for s := range c.fits {
		c.fits[s] = z.fitOf(statistic(s))
	}
	c.inclusive = c.fits[mean]
	c.load = z.load()
	c.inclusiveBase, c.inclusiveCost = z.costs()
	c.entry = z.x.entryShare(m)
	if !z.x.callersKnown {
		return
	}
	c.basis = Own
	if len(z.x.callees[m]) == 0 {
		return // nothing is called: all of it is its own
	}
	var basis Basis
	if basis, c.loading = z.ownCost(z.x.callees[m]); basis == Inclusive {
		c.basis = Inclusive
		return
	}
	c.basis, c.decide, c.tails = basis, []statistic{mean}, nil
	c.fits[mean] = z.fitOf(mean)
}

// describe gives the means and what could not be compared.
func (c *compared) describe(z *standard, ok bool) {
	v := &c.verdict
	v.Method, v.Basis = c.name, c.basis
	v.BaseRecords, v.HeadRecords = c.seen[Base], c.seen[Head]
	if z.measured[Base] == 0 { // new: there is nothing to match it with
		v.HeadRecords = z.measured[Head]
		return
	}
	if ok && c.weight[Head] > 0 {
		base, head := z.costs()
		v.BaseMean, v.HeadMean = base/c.weight[Head], head/c.weight[Head]
	}
	if z.unmatched > 0.5*(z.unmatched+c.weight[Head]) {
		v.Warnings = append(v.Warnings, "most calls come from callers that the base version did not have")
	}
}

// costs are those of all calls of the head, as the base would have paid them and as it
// paid them.
func (z *standard) costs() (base, head float64) {
	g := &z.grids[mean]
	for at := range g.expected {
		if z.x.d.Instances[at/z.x.d.Buckets].Side == Head {
			base += g.expected[at]
			head += g.expected[at] + g.residual[at]
		}
	}
	return base, head
}

// load is the logarithm of the calls of a head's process in a bucket over the base's.
func (z *standard) load() float64 {
	var calls [2]float64
	for at, n := range z.calls {
		calls[z.x.d.Instances[at/z.x.d.Buckets].Side] += n
	}
	return z.x.loadOf(calls)
}

// heterogeneity lists what instances differ by in a statistic, of all methods.
func heterogeneity(methods []compared, s statistic) []stats.Heterogeneity {
	out := make([]stats.Heterogeneity, 0, len(methods))
	for i := range methods {
		if f := &methods[i].fits[s]; f.ok {
			out = append(out, f.instances)
		}
	}
	return out
}
