package evidence

import "testing"

// A method with a comparable own cost, but without a comparable inclusive cost, is not judged.
func TestEstimate_InclusiveCostRequired(t *testing.T) {
	good := fit{ok: true, df: 10, within: 1}
	c := compared{decide: []statistic{mean}, inclusive: good}
	c.seen[Base], c.seen[Head] = 1000, 1000
	c.fits[mean] = good
	if c.estimate(processSpreads{}, Defaults(), 1); c.verdict.State != NotProven {
		t.Errorf("%s", c.verdict.State)
	}
	c.inclusive = fit{}
	if c.estimate(processSpreads{}, Defaults(), 1); c.verdict.State != FewBuckets {
		t.Errorf("%s", c.verdict.State)
	}
}
