package evidence

import (
	"math"

	"github.com/corehour/corehour/regression/stats"
)

// compared is the state of one method during an evaluation.
type compared struct {
	name    string // empty for the whole service
	caller  string // of a pair
	fits    [statistics]fit
	basis   Basis
	loading float64 // coefficient of a change that all methods share, in the tested cost
	// decide are the statistics from which the e-value is computed.
	decide []statistic
	// typical is true if the level of the inclusive cost is tested next to the own cost. byTypical is true if it has
	// more evidence. typicalBase is the geometric mean of the base's calls in ns.
	typical, byTypical bool
	typicalBase        float64
	ownVerdict         outcome // the verdict before the typical cost decided it
	inclusive          fit     // fit of the mean with all callees
	// inclusiveCost is the cost of all calls of the head with their callees, and inclusiveBase the cost that they
	// would have had in the base.
	inclusiveCost, inclusiveBase float64
	entry                        float64 // share of its calls that come from outside the measured methods
	tails                        []tail
	load                         float64 // logarithm of calls per process, head over base
	seen                         [2]float64
	weight                       [2]float64

	errors [statistics]errorOf
	surely float64 // lower end of the interval of the measured change
	proven bool    // has the evidence and the size of an alert
	before bool    // earlier evaluations raised it
	kept   bool    // and this one alone would not, but does not refute it
	alone  bool    // compared with the spread of hosts, as the part common to all methods is unknown
	logE   float64
	pooled float64 // change of the mean with all time buckets together
	aging  aging
	// typicalAging replaces aging if the typical cost decides.
	typicalAging aging
	x            *index       // that decides whether an alert would be doubtful
	whole        bool         // the whole service
	callsCost    float64      // cost of the head's calls of a pair
	doubted      VerdictState // the state if the evidence is enough, but an alert would be doubtful; else empty
	spread       errorOf      // error of the best statistic, with that of the common part
	answers      answers
	// hypotheses is the size of the family that the method belongs to.
	hypotheses int
	verdict    outcome
}

// errorOf is the error of an estimated change.
type errorOf struct {
	measured float64 // variance of the measurement
	all      float64 // measured plus the variance between processes
	df       float64 // degrees of freedom of all
}

func (c *compared) alertKey() alertKey { return alertKey{c.caller, c.name} }

func pointers(all []compared) []*compared {
	out := make([]*compared, len(all))
	for i := range all {
		out[i] = &all[i]
	}
	return out
}

// compare fits every method, after subtracting the effects that all methods of an instance and bucket share.
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
			c.measureAging(z)
		}
		c.describe(z, ok)
		c.verdict.Mix = callerMix(x, cells)
		if len(x.kept[m]) > 0 {
			c.verdict.Warnings = append(c.verdict.Warnings, "its own cost includes callees of one version only: "+x.keptCallees(m))
		}
	}
	return out
}

// fit estimates the changes of method m: those of its own cost, if callers are known.
func (c *compared) fit(z *standard, m int) {
	for s := range c.fits {
		c.fits[s] = z.fitOf(statistic(s))
	}
	c.inclusive = c.fits[mean]
	c.typicalBase, c.load = z.typicalBase(), z.load()
	c.pooled = z.pooledChange()
	c.inclusiveBase, c.inclusiveCost = z.costs()
	c.entry = z.x.entryShare(m)
	if !z.x.callersKnown {
		return
	}
	c.basis = Own
	if len(z.x.callees[m]) == 0 {
		return // it calls no measured method: its whole cost is its own
	}
	var basis Basis
	if basis, c.loading = z.ownCost(z.x.callees[m]); basis == Inclusive {
		c.basis = Inclusive
		return
	}
	c.basis, c.decide, c.tails = basis, []statistic{mean}, nil
	c.typical = c.fits[level].ok
	c.fits[mean] = z.fitOf(mean)
}

// describe sets the means, the numbers of records and the warning about callers that the base did not have.
func (c *compared) describe(z *standard, ok bool) {
	v := &c.verdict
	v.Method, v.Basis = c.name, c.basis
	v.BaseRecords, v.HeadRecords = c.seen[Base], c.seen[Head]
	if z.measured[Base] == 0 { // new: the base has nothing to compare with
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

// costs returns the cost of all calls of the head: at the base's means, and as measured.
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

// typicalBase returns the geometric mean of a call at the base's levels and the head's calls.
func (z *standard) typicalBase() float64 {
	if z.headLevel[0] <= 0 {
		return 0
	}
	return math.Exp(z.headLevel[1] / z.headLevel[0])
}

// load returns the logarithm of calls per process and bucket, head over base.
func (z *standard) load() float64 {
	var calls [2]float64
	for at, n := range z.calls {
		calls[z.x.d.Instances[at/z.x.d.Buckets].Side] += n
	}
	return z.x.loadOf(calls)
}

// heterogeneity returns, for each method, how much instances differ in statistic s.
func heterogeneity(methods []compared, s statistic) []stats.Heterogeneity {
	out := make([]stats.Heterogeneity, 0, len(methods))
	for i := range methods {
		if f := &methods[i].fits[s]; f.ok {
			out = append(out, f.instances)
		}
	}
	return out
}
