package pairs

import (
	"time"

	"github.com/corehour/corehour/regression/compare/evidence"
)

// rule returns the options of an evaluation.
func (o Options) rule() evidence.Options {
	rule := evidence.Defaults()
	rule.WarmUp = o.WarmUp
	rule.Records = max(rule.Records, float64(o.MinRecords))
	rule.LeastChange = max(rule.LeastChange, o.ThresholdPercent/100)
	rule.LeastShare = o.MinSharePercent / 100
	return rule
}

// mostCells is the maximum size of comparisons that are evaluated again to find when an alert was first known.
const mostCells = 100_000

// firstKnown finds when alerts were first known: at the end of the first time bucket after which two consecutive
// evaluations raise them.
type firstKnown struct {
	prepared []*preparedPair
	options  Options
	raised   map[int]map[[3]string]bool // number of buckets -> raised kind, caller and method
}

func keyOf(v *evidence.Verdict) [3]string { return [3]string{string(v.Kind), v.Caller, v.FullName} }

// of returns when verdict v was first known, or nil if the comparison is too large to be evaluated repeatedly.
func (k *firstKnown) of(v *evidence.Verdict) (*time.Time, error) {
	d := k.prepared[0].deployment
	if len(d.Cells) > mostCells {
		return nil, nil
	}
	low, high := 1, d.Buckets // all buckets raise it, by evaluation or by the last evaluation alone
	for low < high {
		middle := (low + high) / 2
		raised, err := k.at(middle)
		if err != nil {
			return nil, err
		}
		if raised[keyOf(v)] {
			high = middle
		} else {
			low = middle + 1
		}
	}
	end := d.Begin.Add(time.Duration(high) * d.Bucket)
	return &end, nil
}

// at returns the alerts that are raised after the given number of buckets.
func (k *firstKnown) at(buckets int) (map[[3]string]bool, error) {
	if raised, ok := k.raised[buckets]; ok {
		return raised, nil
	}
	results, err := evaluate(k.prepared, k.options, buckets, false)
	if err != nil {
		return nil, err
	}
	raised := map[[3]string]bool{}
	for _, r := range results {
		for i := range r.Alerts {
			raised[keyOf(&r.Alerts[i])] = true
		}
	}
	if k.raised == nil {
		k.raised = map[int]map[[3]string]bool{}
	}
	k.raised[buckets] = raised
	return raised, nil
}
