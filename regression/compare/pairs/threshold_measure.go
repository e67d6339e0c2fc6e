package pairs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/regression/stats"
)

// thresholdMethod is a verdict with the profiles that it follows from.
type thresholdMethod struct {
	evidence.Verdict
	base, head *query.Profile
	// explained lists the regressed callees that account for the growth of its inclusive time.
	explained []explanation
}

// measured is what one pair measured in one metric.
type measured struct {
	metric query.Metric // empty = nothing was asked
	lines  []thresholdMethod
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
func (m measured) with(wall measured) []thresholdMethod {
	byName := map[string]thresholdMethod{}
	for _, l := range wall.lines {
		byName[l.FullName] = l
	}
	lack := m.lackCPU()
	out := append([]thresholdMethod{}, m.lines...)
	for i, l := range out {
		if byWall, ok := byName[l.FullName]; ok && lack[l.FullName] {
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
		if both[l.FullName] = l.base != nil && l.head != nil; both[l.FullName] && min(l.BaseRecords, l.HeadRecords) == 0 {
			out[l.FullName], once[l.FullName] = true, max(l.BaseRecords, l.HeadRecords) > 0
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

// allWarmUp returns a warning for each version whose measured calls all lie within the warm-up.
func (j *threshold) allWarmUp(p Pair) (out []string) {
	warmUp := j.options.WarmUp
	if warmUp <= 0 {
		return nil
	}
	for side, d := range map[query.Side]Deployment{query.SideBase: p.Base, query.SideHead: p.Head} {
		seen := slices.ContainsFunc(j.methods, func(m thresholdMethod) bool {
			return side == query.SideBase && m.base != nil || side == query.SideHead && m.head != nil
		})
		if d.Measured > 0 && !seen {
			out = append(out, fmt.Sprintf("nothing that version %s measured is compared: all of it began within %s of the start of its process: give a shorter --warm-up", d.Version, warmUp))
		}
	}
	slices.Sort(out)
	return out
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

func lines(profiles []query.Profile, metric query.Metric) []thresholdMethod {
	at := map[string]int{}
	var out []thresholdMethod
	for i := range profiles {
		p := &profiles[i]
		j, ok := at[p.Full]
		if !ok {
			j = len(out)
			at[p.Full] = j
			out = append(out, thresholdMethod{Verdict: evidence.Verdict{
				Kind: evidence.Regression, FullName: p.Full, Class: p.Class, Method: p.Method, Metric: string(metric),
			}})
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
