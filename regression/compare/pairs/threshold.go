package pairs

import (
	"cmp"
	"context"
	"slices"

	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/regression/stats"
)

const (
	// knownBelow is the relative standard error below which a self time can be the base of a percentage.
	knownBelow = 0.30
	// explainedFrom is the share of a caller's growth that regressed callees must account for, so that they explain it.
	explainedFrom = 0.80
)

// explanation is a raised or explained callee and its share of the caller's growth.
type explanation struct {
	callee string
	share  float64
}

// Compare compares each method by CPU time if both versions have it for the method, else by wall time.
func (ThresholdRule) Compare(ctx context.Context, w *query.Warehouse, filter query.Filter, pairs []Pair, o Options) ([]*Comparison, []Skip, error) {
	first, err := measure(ctx, w, filter, pairs, o, func(i int) query.Metric { return metricOf(pairs[i], o) })
	if err != nil {
		return nil, nil, err
	}
	second, err := measure(ctx, w, filter, pairs, o, func(i int) query.Metric {
		if o.Metric == "" && first[i].metric == query.CPU && len(first[i].lackCPU()) > 0 {
			return query.Wall
		}
		return ""
	})
	if err != nil {
		return nil, nil, err
	}
	out := make([]*Comparison, len(pairs))
	for i, p := range pairs {
		c := newComparison(p, first[i].metric, "instance x "+bucketName(bucketFor(p, o)))
		c.Methods = []evidence.Verdict{}
		j := threshold{
			options: o, service: p.Service, methods: first[i].with(second[i]),
			headOwn: map[query.Metric]float64{first[i].metric: first[i].headOwn(), second[i].metric: second[i].headOwn()},
		}
		j.first()
		j.attributeCallees(append(first[i].edges, second[i].edges...))
		for m := range j.methods {
			c.Methods = append(c.Methods, j.methods[m].Verdict)
		}
		resetNewAndGone(c.Methods)
		c.Warnings = append(c.Warnings, j.allWarmUp(p)...)
		if c.Alerts, err = j.alerts(c, p, dayOfHead(ctx, w, p, o)); err != nil {
			return nil, nil, err
		}
		c.markPrices()
		c.markAssumed()
		out[i] = c
	}
	return out, nil, nil
}

// threshold decides each method of a comparison.
type threshold struct {
	options Options
	service query.Service
	methods []thresholdMethod
	headOwn map[query.Metric]float64 // own time of all methods in ns
	grown   []*thresholdMethod       // methods whose inclusive time grew significantly, in no order
}

// first judges each method by its own figures.
func (j *threshold) first() {
	for i := range j.methods {
		j.line(&j.methods[i])
	}
}

func (j *threshold) line(l *thresholdMethod) {
	least, records := j.options.Thresholds.Of(j.service.Namespace, j.service.Name, j.service.Environment, l.Class, l.FullName,
		j.options.ThresholdPercent, j.options.MinRecords)
	switch {
	case l.base == nil:
		l.State = evidence.New
		return
	case l.head == nil:
		l.State = evidence.Gone
		return
	case min(l.BaseRecords, l.HeadRecords) < records:
		l.State = evidence.FewRecords
		return
	}
	self0, ok0 := selfOf(l.base).Mean()
	self1, ok1 := selfOf(l.head).Mean()
	whole0, ok2 := wholeOf(l.base).Mean()
	whole1, ok3 := wholeOf(l.head).Mean()
	if !ok0 || !ok1 || !ok2 || !ok3 || min(l.BaseClusters, l.HeadClusters) < minClusters {
		l.State = evidence.FewBuckets
		return
	}
	l.State = evidence.NotProven
	wholeChange, wholeInterval, wholeKnown := stats.Change(whole0, whole1, Level)
	if wholeKnown && wholeInterval.Low > 0 {
		j.grown = append(j.grown, l)
	}
	if self0.Relative() <= knownBelow && self1.Relative() <= knownBelow {
		change, interval, _ := stats.Change(self0, self1, Level)
		l.say("self", self0, self1, change, interval)
		if 100*change > least && interval.Low > 0 {
			l.State = evidence.Regressed
		}
		return
	}
	if !wholeKnown {
		return
	}
	l.say("inclusive", whole0, whole1, wholeChange, wholeInterval)
	_, difference := stats.Difference(self0, self1, Level)
	if 100*wholeChange > least && wholeInterval.Low > 0 && difference.Low > 0 {
		l.State = evidence.Regressed // attributeCallees can change it to Explained
	}
}

// minClusters is the minimum number of clusters for an interval.
const minClusters = 3

func (l *thresholdMethod) say(basis evidence.Basis, base, head stats.Estimate, change float64, iv stats.Interval) {
	l.Basis, l.BaseNSPerCall, l.HeadNSPerCall = basis, base.Value, head.Value
	percent := 100 * change
	l.ChangePercent = &percent
	l.Interval = &[2]float64{100 * iv.Low, 100 * iv.High}
}

// attributeCallees finds the methods whose growth is only that of their callees. It goes from the cheapest inclusive
// time to the most expensive, so callees come before their callers. The cost of a callee within a caller is in the
// caller's metric.
func (j *threshold) attributeCallees(edges []edge) {
	calls := map[string]map[string][2]float64{} // caller, callee -> ns per call of the caller, base and head
	byName := map[string]*thresholdMethod{}
	for i := range j.methods {
		byName[j.methods[i].FullName] = &j.methods[i]
	}
	for _, e := range edges {
		l := byName[e.Caller]
		if e.Caller == "" || l == nil || l.base == nil || l.head == nil || e.Caller == e.Callee || string(e.metric) != l.Metric {
			continue
		}
		if calls[e.Caller] == nil {
			calls[e.Caller] = map[string][2]float64{}
		}
		paid := calls[e.Caller][e.Callee]
		if e.Side == query.SideBase {
			paid[0] += e.X / l.base.N
		} else {
			paid[1] += e.X / l.head.N
		}
		calls[e.Caller][e.Callee] = paid
	}
	slices.SortFunc(j.grown, func(a, b *thresholdMethod) int {
		return cmp.Or(cmp.Compare(a.head.X, b.head.X), cmp.Compare(a.FullName, b.FullName))
	})
	for _, l := range j.grown {
		growth := l.head.X/l.head.N - l.base.X/l.base.N
		share := 0.0
		for callee, paid := range calls[l.FullName] {
			c := byName[callee]
			if c == nil || c.State != evidence.Regressed && c.State != evidence.Explained || paid[1] <= paid[0] {
				continue
			}
			part := (paid[1] - paid[0]) / growth
			share += part
			l.explained = append(l.explained, explanation{callee, part})
		}
		slices.SortFunc(l.explained, func(a, b explanation) int {
			return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(a.callee, b.callee))
		})
		switch {
		case share < explainedFrom:
			l.explained = nil
		case l.State == evidence.NotProven || l.State == evidence.Regressed && l.Basis == "inclusive":
			// The state describes the inclusive time, and so must the figures.
			l.State = evidence.Explained
			whole0, _ := wholeOf(l.base).Mean()
			whole1, _ := wholeOf(l.head).Mean()
			change, interval, _ := stats.Change(whole0, whole1, Level)
			l.say("inclusive", whole0, whole1, change, interval)
		default:
			l.explained = nil // its own time grew as well
		}
	}
}
