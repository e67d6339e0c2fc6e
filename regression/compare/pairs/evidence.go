package pairs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/probecost"
	"github.com/corehour/corehour/regression/query"
)

// Compare compares all pairs with enough measured calls, and some of the others. A method is raised by two
// consecutive evaluations, of all complete buckets but the last and of all of them. If no more buckets will come,
// one evaluation with more evidence is enough. So the verdict depends on the stored data only, not on how often it
// is evaluated.
//
// The differences between hosts and between processes are learned from the processes of each comparison. If these are
// few, they are learned from earlier deployments of the service, else from those of all services.
func (EvidenceRule) Compare(ctx context.Context, w *query.Warehouse, filter query.Filter, pairs []Pair, o Options) ([]*Comparison, []Skip, error) {
	pairs, skips := leaveOutFew(pairs, o.MinRecords)
	costs, err := probecost.Read(ctx, w, w.Window, filter)
	if err != nil {
		return nil, nil, err
	}
	out := make([]*Comparison, len(pairs))
	var all []evidence.ProcessDifferences
	again := map[int][]*preparedPair{} // comparisons with few processes
	for i, p := range pairs {
		prepared, err := assembleAll(ctx, w, p, o, costs)
		if err != nil {
			return nil, nil, err
		}
		day := dayOfHead(ctx, w, p, o)
		priced(prepared, day)
		var seen evidence.ProcessDifferences
		if out[i], seen, err = judgeAllOf(prepared, p, o); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", p.Service, err)
		}
		if prepared[0].unsettled(out[i].warmUp) {
			byAge, err := assembleByAge(ctx, w, p, o, costs)
			if err != nil {
				return nil, nil, err
			}
			if byAge != nil {
				prepared = byAge
				priced(prepared, day)
				if out[i], seen, err = judgeAllOf(prepared, p, o); err != nil {
					return nil, nil, fmt.Errorf("%s: %w", p.Service, err)
				}
			}
		}
		all = append(all, seen)
		out[i].Spreads.From = theseProcesses
		if prepared[0].few() {
			again[i] = prepared
		}
	}
	h := history{w: w, options: o, costs: costs}
	defer h.close()
	for i, p := range pairs {
		prepared, few := again[i]
		if !few {
			continue
		}
		seen, err := h.of(ctx, p)
		if err != nil {
			return nil, nil, err
		}
		spreads, from := evidence.LearnSpreads(seen), learnedFrom(len(seen), 0)
		if spreads.Hosts.DF < enoughHosts {
			spreads, from = evidence.LearnSpreads(append(seen, all...)), learnedFrom(len(seen), len(all)-1)
		}
		for _, s := range prepared {
			s.deployment.Spreads = spreads
		}
		if out[i], _, err = judgeAllOf(prepared, p, o); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", p.Service, err)
		}
		out[i].Spreads.From = from
	}
	return out, skips, nil
}

const (
	// fewProcesses is the number of processes of a version that are enough to estimate the differences between
	// processes.
	fewProcesses = 6
	// enoughHosts is the number of degrees of freedom from which the spread of hosts counts as known.
	enoughHosts = 8
)

// judgeAllOf judges a comparison in all its metrics, each method by one of them.
func judgeAllOf(prepared []*preparedPair, p Pair, o Options) (*Comparison, evidence.ProcessDifferences, error) {
	first := prepared[0]
	c := newComparison(p, first.metric, first.describe())
	c.Methods, c.Alerts = []evidence.Verdict{}, []alert.Alert{}
	results, err := evaluate(prepared, o, first.deployment.Buckets, true)
	if err != nil {
		return nil, evidence.ProcessDifferences{}, err
	}
	c.warmUp = results[0].WarmUp
	c.Spreads = spreadsOf(results[0].Spreads)
	c.Warnings = append(c.Warnings, first.missing(c, p)...)
	c.Warnings = append(c.Warnings, results[0].Warnings...)
	c.Warnings = append(c.Warnings, first.plan.warnings()...)
	c.Warnings = append(c.Warnings, first.due(results[0])...)
	uncounted := 0
	for i, s := range prepared {
		for m, v := range results[i].Methods {
			if v.State != evidence.Elsewhere {
				s.identify(m, &v)
				c.Methods = append(c.Methods, v)
			}
		}
		uncounted += s.uncounted
	}
	resetNewAndGone(c.Methods)
	if uncounted == 0 { // else uncounted is the reason
		c.Warnings = append(c.Warnings, leftOut(c.Methods)...)
	}
	c.Warnings = append(c.Warnings, refused(c.Methods)...)
	if results[0].Service.State.Judged() {
		c.WholeService = &results[0].Service
		c.WholeService.Metric = string(first.metric)
	}
	for _, v := range results[0].Calls {
		if v.State == evidence.NotDistinguishable {
			first.identifyAlert(&v)
			c.Doubtful = append(c.Doubtful, v)
		}
	}
	since := firstKnown{prepared: prepared, options: o}
	for i, s := range prepared {
		for _, a := range results[i].Alerts {
			made, err := s.alert(c, a)
			if err != nil {
				return nil, evidence.ProcessDifferences{}, err
			}
			if made.KnowableSince, err = since.of(&a); err != nil {
				return nil, evidence.ProcessDifferences{}, err
			}
			c.Alerts = append(c.Alerts, made)
		}
	}
	slices.SortStableFunc(c.Methods, func(a, b evidence.Verdict) int { return strings.Compare(a.FullName, b.FullName) })
	slices.SortStableFunc(c.Alerts, alert.MoreExpensive)
	c.markPrices()
	c.markAssumed()
	return c, results[0].ProcessDifferences, nil
}

// evaluate runs the consecutive evaluations that a verdict after the given number of buckets needs, from stored data.
// last is true if no later evaluation of a finished comparison follows.
func evaluate(prepared []*preparedPair, o Options, buckets int, last bool) (results []*evidence.Result, err error) {
	rule := o.rule()
	var memory evidence.Memory
	for n := min(buckets, max(1, buckets-rule.Evaluations+1)); n <= buckets && err == nil; n++ {
		deployments := make([]*evidence.Deployment, len(prepared))
		for i, s := range prepared {
			d := *s.deployment // the data at that time
			d.Over, d.Buckets = d.Over && last && n == buckets, n
			deployments[i] = &d
		}
		results, memory, err = evidence.EvaluateAll(deployments, rule, memory)
	}
	return results, err
}
