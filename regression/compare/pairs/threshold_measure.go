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

// thresholdMethod is a verdict with the profiles from which it is computed.
type thresholdMethod struct {
	evidence.Verdict
	base, head *query.Profile
	// explained lists the regressed callees that account for the growth of its inclusive time.
	explained []explanation
}

// measured holds the measurements of one pair in one metric.
type measured struct {
	metric query.Metric // empty = nothing was read
	lines  []thresholdMethod
	edges  []edge
}

// edge is the cost of a callee within a caller, in one metric.
type edge struct {
	query.Edge
	metric query.Metric
}

// measure reads the pairs in the metrics that metricOf returns; empty means not to read the pair. Pairs with the
// same bucket length share one query where files are read, because a query with hourly buckets is faster. BigQuery
// bills each query.
func measure(ctx context.Context, w *query.Warehouse, filter query.Filter, pairs []Pair, o Options, metricOf func(i int) query.Metric) ([]measured, error) {
	type kind struct {
		metric query.Metric
		bucket time.Duration
	}
	out := make([]measured, len(pairs))
	asks, at := map[kind]query.ProfileQuery{}, map[kind]map[query.Service]int{} // at maps services to pairs
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
			asks[k], at[k] = query.ProfileQuery{Metric: k.metric, Filter: filter, WarmUp: o.WarmUp}, map[query.Service]int{}
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

// with returns the methods of m, with those that lack CPU time replaced by those of wall.
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

// lackCPU returns the methods that both versions timed but whose CPU times cannot be compared: at least one version did
// not measure the method's CPU time, or only one version measured that of a callee, which is subtracted from the own
// time of the caller.
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

// headOwn returns the own time of all methods in the head version.
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

// afterWarmUp returns how long a deployment ran after the warm-up of its oldest process.
func (d Deployment) afterWarmUp(o Options) time.Duration {
	return max(0, d.Last.Sub(d.First)-max(0, d.Since.Add(o.WarmUp).Sub(d.First)))
}

func (p Pair) side(side query.Side, d Deployment, bucket time.Duration) query.Compared {
	return query.Compared{Service: p.Service, Side: side, Version: d.Version, Window: query.Window{From: d.First, To: d.Until}, TimeBucket: bucket, Whole: d.Alone}
}

// wantClusters is the number of time buckets that each version should have. With fewer, few degrees of freedom make the
// interval wide.
const wantClusters = 24

// bucketFor returns the longest bucket of which both versions have wantClusters, because effects of one bucket
// reach less into the next if buckets are longer. It does not count instances as further clusters, because
// instances share the traffic of a minute.
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
