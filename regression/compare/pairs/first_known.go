package pairs

import (
	"time"

	"github.com/corehour/corehour/regression/compare/evidence"
)

// rule are the options of an evaluation.
func (o Options) rule() evidence.Options {
	rule := evidence.Defaults()
	rule.WarmUp = o.WarmUp
	rule.Records = max(rule.Records, float64(o.MinRecords))
	rule.LeastChange = max(rule.LeastChange, o.ThresholdPercent/100)
	return rule
}

// mostCells bounds the comparisons that are evaluated again to find since when an alert
// could be known.
const mostCells = 100_000

// firstKnown finds since when alerts could be known: the end of the first time bucket after
// which two evaluations in a row raise them.
type firstKnown struct {
	prepared []*preparedPair
	options  Options
	raised   map[int]map[[3]string]bool // by buckets: kind, caller and method
}

func keyOf(v *evidence.Verdict) [3]string { return [3]string{string(v.Kind), v.Caller, v.FullName} }

// of returns nil where the comparison is too large to be evaluated again and again.
func (k *firstKnown) of(v *evidence.Verdict) (*time.Time, error) {
	d := k.prepared[0].deployment
	if len(d.Cells) > mostCells {
		return nil, nil
	}
	low, high := 1, d.Buckets // it is raised by high, by evaluation or by the last one alone
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

// at lists what is raised after so many buckets.
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
