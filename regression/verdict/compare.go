package verdict

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/alert/rules"
	"github.com/corehour/corehour/regression/judge"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/regression/stats"
)

// Level is the confidence of all intervals.
const Level = 0.95

// Options of the rule.
type Options struct {
	Limits
	Base, Head string // versions; empty = newest and the one before
	Metric     string // cpu, wall, or empty: cpu where both versions have it of the method
	// Thresholds are the limits of some methods; of ThresholdRule only.
	Thresholds *rules.Thresholds

	WarmUp time.Duration // left out of every process

	// Of EvidenceRule only.
	AsOf   time.Time     // now, to tell what is over; zero = nothing is
	Bucket time.Duration // 0 = by the length of the run

	byAge bool // compare processes of the same age
}

// Unit is that of the holes after which a version is taken to run again: a minute, or
// a bucket that is shorter.
func (o Options) Unit() time.Duration {
	if o.Bucket > 0 {
		return min(o.Bucket, time.Minute)
	}
	return time.Minute
}

// Line is one method of a comparison.
type Line struct {
	Class     string             `json:"class"`
	Method    string             `json:"method"`
	Signature string             `json:"signature,omitempty"`
	State     judge.VerdictState `json:"state"`
	// Basis is what was tested: by the threshold "self" or "inclusive" time, by evidence
	// "own", "own part of inclusive" or "inclusive" time, adjusted for caller mix and hour.
	Basis  string       `json:"basis,omitempty"`
	Metric query.Metric `json:"metric,omitempty"`
	// Times are ns per call.
	BaseNSPerCall float64     `json:"base_ns_per_call"`
	HeadNSPerCall float64     `json:"head_ns_per_call"`
	ChangePercent *float64    `json:"change_percent"`
	Interval      *[2]float64 `json:"interval"`
	BaseRecords   int64       `json:"base_records"`
	HeadRecords   int64       `json:"head_records"`
	BaseClusters  int64       `json:"base_clusters"`
	HeadClusters  int64       `json:"head_clusters"`

	// By evidence only: the evidence and what it had to reach, the part of the plain
	// change that is due to who calls, the change that would have been raised with 90%
	// probability, and the probability that +10% would have.
	EValue        *float64 `json:"e_value"`
	NeededEValue  *float64 `json:"needed_e_value"`
	OnlyLook      bool     `json:"only_look,omitempty"` // raised by the last evaluation alone, and no other can come
	MixPercent    *float64 `json:"mix_percent"`
	Seen90Percent *float64 `json:"seen_90_percent"`
	PowerAt10     *float64 `json:"power_at_10_percent"`
	// Measured is what these processes measured, Common the part that all methods share
	// and that is taken off, Remaining what is left: ChangePercent. Inclusive is measured,
	// too, with all that the method calls.
	Measured     *Part    `json:"measured_change,omitempty"`
	Common       *Part    `json:"common_part,omitempty"`
	CommonReason string   `json:"common_reason,omitempty"`
	Remaining    *Part    `json:"remaining_change,omitempty"`
	Inclusive    *Part    `json:"inclusive_change,omitempty"`
	Reason       string   `json:"reason,omitempty"`
	Warnings     []string `json:"warnings,omitempty"`
	// NotCompared are measured calls of the time looked at that have no part in the
	// comparison, as those in warm-up or in a bucket that is not over.
	NotCompared int64 `json:"not_compared_records,omitempty"`

	// Trace is how State was decided by evidence.
	Trace judge.Trace `json:"-"`

	full       string
	base, head *query.Profile
	// explained is what raised callees explain of the growth of its whole time.
	explained []explanation
}

// Part is a change in percent, or a part of one, with its interval.
type Part struct {
	Percent  float64    `json:"percent"`
	Interval [2]float64 `json:"interval"`
}

func (p *Part) String() string {
	return fmt.Sprintf("%+.1f%% (%+.1f%% to %+.1f%%)", p.Percent, p.Interval[0], p.Interval[1])
}

// Comparison is the result for one service.
type Comparison struct {
	query.Service
	BaseVersion  string   `json:"base_version"`
	HeadVersion  string   `json:"head_version"`
	BaseRevision string   `json:"base_revision"`
	HeadRevision string   `json:"head_revision"`
	ChosenBy     BaseRule `json:"chosen_by"` // why these are base and head
	// GenericPrice is set where processes of the head version are priced by a public list price.
	GenericPrice bool         `json:"generic_price"`
	BaseFrom     time.Time    `json:"base_from"`
	BaseTo       time.Time    `json:"base_to"`
	HeadFrom     time.Time    `json:"head_from"`
	HeadTo       time.Time    `json:"head_to"`
	Metric       query.Metric `json:"metric"`
	// Clusters says what the intervals are made of.
	Clusters string `json:"clusters"`
	// WholeService is about what all methods have in common; null where it was not
	// judged.
	WholeService *Line    `json:"whole_service"`
	Spreads      *Spreads `json:"spreads"` // null by the threshold rule
	// AssumedShare is the part of the measured calls of head of which nothing says how they were sampled.
	AssumedShare float64       `json:"assumed_share,omitempty"`
	Warnings     []string      `json:"warnings"`
	Methods      []Line        `json:"methods"`
	Alerts       []alert.Alert `json:"alerts"`

	warmUp  judge.WarmUp
	headOwn map[query.Metric]float64 // ns of all methods without their callees, by the threshold
}

// markPrices marks alerts whose dollars are by a public list price.
func (c *Comparison) markPrices() {
	for i := range c.Alerts {
		c.Alerts[i].GenericPrice = c.GenericPrice && c.Alerts[i].USDPerDay != nil
	}
}

// markAssumed says of the comparison and of its alerts how much is only known from below.
func (c *Comparison) markAssumed() {
	if c.AssumedShare == 0 {
		return
	}
	c.Warnings = append(c.Warnings, alert.AtLeast(c.AssumedShare))
	for i := range c.Alerts {
		c.Alerts[i].MarkAssumed(c.AssumedShare)
	}
}

// Records are the calls that were measured of both versions.
func (c *Comparison) Records() (n int64) {
	for i := range c.Methods {
		n += c.Methods[i].BaseRecords + c.Methods[i].HeadRecords + c.Methods[i].NotCompared
	}
	return n
}

// AlertsFirst orders comparisons with alerts before others, and these by what was measured.
func AlertsFirst(a, b *Comparison) int {
	return cmp.Or(cmp.Compare(min(1, len(b.Alerts)), min(1, len(a.Alerts))), cmp.Compare(b.Records(), a.Records()))
}

// Judged reports whether any method could be judged.
func (c *Comparison) Judged() bool {
	return slices.ContainsFunc(c.Methods, func(l Line) bool { return l.State.Judged() })
}

// Told reports whether any method could be judged, and none or the whole service was
// measured to be much more expensive and could not.
func (c *Comparison) Told() bool {
	undecided := func(l Line) bool { return l.State == judge.Undecided }
	return c.Judged() && !slices.ContainsFunc(c.Methods, undecided) && (c.WholeService == nil || !undecided(*c.WholeService))
}

// Compare compares each method by CPU time where both versions have it of the method, else by
// wall time.
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
		c := &Comparison{
			Service:     p.Service,
			BaseVersion: p.Base.Version, HeadVersion: p.Head.Version,
			BaseRevision: p.Base.Revision, HeadRevision: p.Head.Revision, ChosenBy: p.ChosenBy, GenericPrice: p.Head.ListPrice,
			BaseFrom: p.Base.First, BaseTo: p.Base.Last, HeadFrom: p.Head.First, HeadTo: p.Head.Last,
			Metric: first[i].metric, AssumedShare: p.Head.assumedShare(), Clusters: "instance x " + bucketName(bucketFor(p, o)), Warnings: []string{},
			Methods: first[i].with(second[i]),
			headOwn: map[query.Metric]float64{first[i].metric: first[i].headOwn(), second[i].metric: second[i].headOwn()},
		}
		j := threshold{options: o, service: p.Service}
		j.first(c.Methods)
		j.attributeCallees(c.Methods, append(first[i].edges, second[i].edges...))
		notGone(c.Methods)
		c.Warnings = append(c.Warnings, allWarmUp(c, p, o)...)
		if c.Alerts, err = alerts(c, p, o, dayOfHead(ctx, w, p, o)); err != nil {
			return nil, nil, err
		}
		c.markPrices()
		c.markAssumed()
		out[i] = c
	}
	return out, nil, nil
}

// measured is what one pair measured in one metric.
type measured struct {
	metric query.Metric // empty = nothing was asked
	lines  []Line
	edges  []edge
}

// edge is what a caller paid for a callee in one metric.
type edge struct {
	query.Edge
	metric query.Metric
}

// measure measures the pairs in the metrics that metricOf wants, which is empty for none.
// Of files those with buckets of one length are asked for together: what is asked by the hour
// is answered sooner. BigQuery bills each question.
func measure(ctx context.Context, w *query.Warehouse, filter query.Filter, pairs []Pair, o Options, metricOf func(i int) query.Metric) ([]measured, error) {
	type kind struct {
		metric query.Metric
		bucket time.Duration
	}
	out := make([]measured, len(pairs))
	asks, at := map[kind]query.Ask{}, map[kind]map[query.Service]int{} // at: the pairs
	var kinds []kind
	for i, p := range pairs {
		k, bucket := kind{metric: metricOf(i)}, bucketFor(p, o)
		if k.metric == "" {
			continue
		}
		if w.InFiles() {
			k.bucket = bucket
		}
		if at[k] == nil {
			kinds = append(kinds, k)
			asks[k], at[k] = query.Ask{Metric: k.metric, Filter: filter, WarmUp: o.WarmUp}, map[query.Service]int{}
		}
		at[k][p.Service] = i
		out[i].metric = k.metric
		ask := asks[k]
		ask.Compared = append(ask.Compared, p.side(query.SideBase, p.Base, bucket), p.side(query.SideHead, p.Head, bucket))
		asks[k] = ask
	}
	for _, k := range kinds {
		profiles, edges, err := w.Profiles(ctx, asks[k])
		if err != nil {
			return nil, err
		}
		profilesOf := map[query.Service][]query.Profile{}
		for _, p := range profiles {
			profilesOf[p.Service] = append(profilesOf[p.Service], p)
		}
		for service, own := range profilesOf {
			out[at[k][service]].lines = lines(own, k.metric)
		}
		for _, e := range edges {
			m := &out[at[k][e.Service]]
			m.edges = append(m.edges, edge{e, k.metric})
		}
	}
	return out, nil
}

// with are the lines with those of wall time in the place of those that lack CPU time.
func (m measured) with(wall measured) []Line {
	byName := map[string]Line{}
	for _, l := range wall.lines {
		byName[l.full] = l
	}
	lack := m.lackCPU()
	out := append([]Line{}, m.lines...)
	for i, l := range out {
		if byWall, ok := byName[l.full]; ok && lack[l.full] {
			out[i] = byWall
		}
	}
	return out
}

// lackCPU are the methods that both versions timed and that have no CPU time to compare:
// one version at least did not time it, or it is a caller's and one version timed that of a
// callee, which is taken off the caller's own time, and the other did not.
func (m measured) lackCPU() map[string]bool {
	out, once := map[string]bool{}, map[string]bool{}
	both := map[string]bool{}
	for i := range m.lines {
		l := &m.lines[i]
		if both[l.full] = l.base != nil && l.head != nil; both[l.full] && min(l.BaseRecords, l.HeadRecords) == 0 {
			out[l.full], once[l.full] = true, max(l.BaseRecords, l.HeadRecords) > 0
		}
	}
	for _, e := range m.edges {
		if once[e.Callee] && both[e.Caller] {
			out[e.Caller] = true
		}
	}
	return out
}

// headOwn is the own time of all methods in the head version.
func (m measured) headOwn() (sum float64) {
	for i := range m.lines {
		if h := m.lines[i].head; h != nil {
			sum += h.SelfX
		}
	}
	return sum
}

// allWarmUp says of which versions all that was measured is left out.
func allWarmUp(c *Comparison, p Pair, o Options) (out []string) {
	if o.WarmUp <= 0 {
		return nil
	}
	for side, d := range map[query.Side]Deployment{query.SideBase: p.Base, query.SideHead: p.Head} {
		seen := slices.ContainsFunc(c.Methods, func(l Line) bool {
			return side == query.SideBase && l.base != nil || side == query.SideHead && l.head != nil
		})
		if d.Measured > 0 && !seen {
			out = append(out, fmt.Sprintf("nothing that version %s measured is compared: all of it began within %s of the start of its process: give a shorter --warm-up", d.Version, o.WarmUp))
		}
	}
	slices.Sort(out)
	return out
}

func metricOf(p Pair, o Options) query.Metric {
	switch {
	case o.Metric != "":
		return query.Metric(o.Metric)
	case p.Base.CPUMeasured > 0 && p.Head.CPUMeasured > 0:
		return query.CPU
	}
	return query.Wall
}

// afterWarmUp is how long a deployment ran without the warm-up of its oldest process.
func (d Deployment) afterWarmUp(o Options) time.Duration {
	return max(0, d.Last.Sub(d.First)-max(0, d.Since.Add(o.WarmUp).Sub(d.First)))
}

func (p Pair) side(side query.Side, d Deployment, bucket time.Duration) query.Compared {
	return query.Compared{Service: p.Service, Side: side, Version: d.Version, Window: query.Window{From: d.First, To: d.Until}, TimeBucket: bucket, Whole: d.Alone}
}

// wantClusters is how many buckets in time a side should have: with fewer the
// interval is wide for want of degrees of freedom.
const wantClusters = 24

// bucketFor chooses the longest buckets of which both sides have enough: the longer,
// the less what happens in one depends on the one before. Instances multiply
// them but are not counted here: instances of one minute share their traffic.
func bucketFor(p Pair, o Options) time.Duration {
	span := min(p.Base.afterWarmUp(o), p.Head.afterWarmUp(o))
	for _, bucket := range []time.Duration{time.Hour, 10 * time.Minute, time.Minute} {
		if span >= wantClusters*bucket {
			return bucket
		}
	}
	return 10 * time.Second
}

func bucketName(d time.Duration) string {
	switch d {
	case time.Hour:
		return "1 h"
	case 10 * time.Minute:
		return "10 min"
	case time.Minute:
		return "1 min"
	}
	return "10 s"
}

func lines(profiles []query.Profile, metric query.Metric) []Line {
	at := map[string]int{}
	var out []Line
	for i := range profiles {
		p := &profiles[i]
		j, ok := at[p.Full]
		if !ok {
			j = len(out)
			at[p.Full] = j
			out = append(out, Line{Class: p.Class, Method: p.Method, Metric: metric, full: p.Full})
		}
		l := &out[j]
		l.Signature = cmp.Or(p.Signature, l.Signature)
		if p.Side == query.SideBase {
			l.base, l.BaseRecords, l.BaseClusters = p, p.Records, p.Clusters
		} else {
			l.head, l.HeadRecords, l.HeadClusters = p, p.Records, p.Clusters
		}
	}
	return out
}

func selfOf(p *query.Profile) stats.Clusters {
	return stats.Clusters{Count: p.Clusters, N: p.N, X: p.SelfX, NN: p.NN, NX: p.NS, XX: p.SS}
}

func wholeOf(p *query.Profile) stats.Clusters {
	return stats.Clusters{Count: p.Clusters, N: p.N, X: p.X, NN: p.NN, NX: p.NX, XX: p.XX}
}
