package report

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/compare/pairs"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/ledger"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/regression/stats"
)

// Limits of a chart, for readability and for the browser.
const (
	maxVersions = 6 // the newest versions of one method
	maxPoints   = 120
	confidence  = 0.95 // of the intervals
)

// Options choose the warehouse, the window and the extent of the report.
type Options struct {
	Warehouse string
	Window    query.Window
	Zone      *time.Location
	Now       time.Time
	Filter    query.Filter
	// NoFrameworks leaves out spans of instrumentation libraries.
	NoFrameworks bool
	// Top is the maximum number of lines in each part of the page, and of trees; 0 = all.
	Top     int
	Methods int // number of methods with charts: those that regressed first, then the most expensive
	Rule    pairs.Rule
	Verdict pairs.Options
	// Notices, if not nil, receives cost estimates and waits of a warehouse that costs money, a line each.
	Notices io.Writer
	// Verified, if not nil, remembers the files whose checksums were verified.
	Verified *parquet.VerifiedFiles
}

// Gather reads the content of the report from the warehouse. It fails with query.ErrNoData if the window is empty.
func Gather(ctx context.Context, o Options) (*Report, error) {
	r := &Report{Made: o.Now, Warehouse: o.Warehouse, zone: o.Zone, top: o.Top}
	w, err := query.Open(ctx, o.Warehouse, o.Window, query.WithNotices(o.Notices), query.WithVerifiedFiles(o.Verified), query.WithoutFrameworks(o.NoFrameworks))
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if err := r.gather(ctx, w, o); err != nil {
		return nil, err
	}
	end := r.To
	if o.Now.Before(end) {
		end = o.Now
	}
	r.Health, err = ledger.Check(ctx, w, o.Filter, end)
	if err != nil {
		return nil, err
	}
	if len(r.Health.Services) == 0 {
		return nil, w.NoRowsError(ctx, o.Filter, o.Window, o.Zone)
	}
	r.Instances = len(r.Health.Processes)
	return r, nil
}

func (r *Report) gather(ctx context.Context, w *query.Warehouse, o Options) error {
	costs, err := cost.Compute(ctx, w, cost.Options{Filter: o.Filter, Wall: true})
	if err != nil {
		return err
	}
	r.From, r.To = costs.From, costs.To
	if r.To.IsZero() {
		r.To = o.Now
	}
	r.addCosts(costs)
	runs, err := w.Runs(ctx, w.Window, o.Filter)
	if err != nil {
		return err
	}
	if err := r.compare(ctx, w, o, runs); err != nil {
		return err
	}
	metric := query.CPU
	if !slices.ContainsFunc(costs.Methods, func(m cost.Line) bool { return m.CPUMeasured > 0 }) {
		metric = query.Wall
	}
	r.Metric = string(metric)
	if err := r.addMethods(ctx, w, o, metric, runs); err != nil {
		return err
	}
	r.truncate()
	var edges []query.Edge
	if metric == query.CPU { // cost.Compute has read them
		edges = ofAllVersions(costs.Edges)
	} else if _, edges, err = w.Profiles(ctx, query.ProfileQuery{Metric: metric, Window: w.Window, Filter: o.Filter, TimeBucket: time.Hour}); err != nil {
		return err
	}
	r.Trees, r.TreesLeft = trees(edges, o.Top)
	return nil
}

// ofAllVersions sums the edges of all versions of a service.
func ofAllVersions(costs []query.CostEdge) (edges []query.Edge) {
	type edge struct {
		query.Service
		caller, callee string
	}
	at := map[edge]int{}
	for _, c := range costs {
		key := edge{c.Service, c.Caller, c.Callee}
		i, ok := at[key]
		if !ok {
			i = len(edges)
			at[key] = i
			edges = append(edges, query.Edge{Service: c.Service, Caller: c.Caller, Callee: c.Callee})
		}
		edges[i].N += c.N
		edges[i].X += c.X
	}
	return edges
}

// addCosts copies the costs into the report, the most expensive first.
func (r *Report) addCosts(costs *cost.Table) {
	r.Notes = append(r.Notes, cost.Few(costs.AssumedNotes())...)
	for _, m := range costs.Methods {
		r.Records += m.Measured
		if m.SelfWallHours != nil {
			r.Walls = append(r.Walls, Wall{
				MethodName:    query.MethodName{Service: m.Service, Class: m.Class, Method: m.Method},
				SelfWallHours: *m.SelfWallHours, Interval: m.SelfWallHoursInterval, Clipped: m.SelfWallClipped, InclusiveWallHours: *m.InclusiveWallHours,
				Calls: m.Calls, CallsSE: m.CallsSE, AssumedCalls: m.AssumedCalls, Records: m.Measured, Uncertain: m.Why,
			})
		}
		if m.SelfCoreHours == nil {
			continue
		}
		r.Costs = append(r.Costs, Cost{
			MethodName:    query.MethodName{Service: m.Service, Class: m.Class, Method: m.Method},
			SelfCoreHours: *m.SelfCoreHours, Error: m.SelfCoreHoursSE, Interval: m.SelfCoreHoursInterval, Warning: m.Warning, SelfUSD: m.SelfUSD, GenericPrice: m.GenericPrice,
			Calls: m.Calls, CallsSE: m.CallsSE, AssumedCalls: m.AssumedCalls, Records: m.CPUMeasured, Uncertain: m.Why,
		})
	}
	slices.SortStableFunc(r.Costs, func(a, b Cost) int { return cmp.Compare(b.SelfCoreHours, a.SelfCoreHours) })
}

// truncate cuts the tables to r.top lines.
func (r *Report) truncate() {
	r.Costs, r.CostsLeft = output.First(r.Costs, r.top)
	r.Walls, r.WallsLeft = output.First(r.Walls, r.top) // ordered as the costs are
	r.Alerts, r.AlertsLeft = output.First(r.Alerts, r.top)
	r.Changes, r.ChangesLeft = output.First(r.Changes, r.top)
}

func (r *Report) compare(ctx context.Context, w *query.Warehouse, o Options, runs []query.Run) error {
	chosen, skips, err := pairs.Choose(runs, o.Verdict.Base, o.Verdict.Head)
	if err != nil {
		return err
	}
	o.Verdict.AsOf = o.Now
	comparisons, few, err := o.Rule.Compare(ctx, w, o.Filter, chosen, o.Verdict)
	if err != nil {
		return err
	}
	skips = append(skips, few...)
	byRecords := func(a, b pairs.Skip) int { return cmp.Compare(b.Records, a.Records) }
	skips, left := output.Most(skips, o.Top, byRecords)
	for _, s := range skips {
		r.NotCompared = append(r.NotCompared, fmt.Sprintf("%s: %s", s.Service, s.Reason))
	}
	r.NotComparedLeft = len(left)
	r.Alerts, r.Compared = []alert.Alert{}, []Compared{}
	shown, more := output.Most(comparisons, o.Top, pairs.AlertsFirst)
	r.ComparedLeft = len(more)
	for _, c := range shown {
		r.Compared = append(r.Compared, Compared{c.Service, c.BaseVersion, c.HeadVersion, c.ChosenBy})
		if !c.Conclusive() {
			if !c.Judged() {
				r.NotCompared = append(r.NotCompared, fmt.Sprintf("%s: version %s against %s: no method has enough of both to compare", c.Service, c.HeadVersion, c.BaseVersion))
			}
			r.NotCompared = append(r.NotCompared, c.Open(o.Top)...)
			for _, warning := range c.Warnings {
				r.NotCompared = append(r.NotCompared, fmt.Sprintf("%s: %s", c.Service, warning))
			}
		}
	}
	for _, c := range comparisons {
		r.Alerts = append(r.Alerts, c.Alerts...)
		for _, row := range c.Rows() {
			if row.ChangePercent != nil {
				r.Changes = append(r.Changes, Change{row, row.State == evidence.Regressed})
			}
		}
	}
	slices.SortStableFunc(r.Alerts, alert.MoreExpensive)
	slices.SortStableFunc(r.Changes, func(a, b Change) int {
		if a.Proven != b.Proven {
			if a.Proven {
				return -1
			}
			return 1
		}
		return cmp.Compare(math.Abs(*b.ChangePercent), math.Abs(*a.ChangePercent))
	})
	return nil
}

// addMethods adds the details of o.Methods methods: those that regressed first, then the most expensive.
func (r *Report) addMethods(ctx context.Context, w *query.Warehouse, o Options, metric query.Metric, runs []query.Run) error {
	var chosen []query.MethodName
	choose := func(m query.MethodName) {
		if len(chosen) < o.Methods && !slices.Contains(chosen, m) {
			chosen = append(chosen, m)
		}
	}
	for _, m := range r.Changes {
		if m.Proven {
			choose(query.MethodName{Service: m.Service, Class: m.Class, Method: m.Method})
		}
	}
	for _, c := range r.Costs {
		choose(c.MethodName)
	}
	if metric == query.Wall {
		for _, m := range r.Walls {
			choose(m.MethodName)
		}
	}
	if len(chosen) == 0 {
		return nil
	}
	bucket := bucketFor(timeSpan(runs))
	ask := query.ProfileQuery{Metric: metric, Window: w.Window, Filter: o.Filter, TimeBucket: max(bucket/6, time.Second)}
	points, err := w.History(ctx, ask, bucket, chosen)
	if err != nil {
		return err
	}
	shares, err := w.Distribution(ctx, ask, chosen)
	if err != nil {
		return err
	}
	for _, name := range chosen {
		m := Method{MethodName: name}
		m.addHistory(points)
		m.addDistributions(shares)
		r.Methods = append(r.Methods, m)
	}
	return nil
}

// timeSpan returns the time from the first to the last row of all runs.
func timeSpan(runs []query.Run) time.Duration {
	var first, last time.Time
	for _, run := range runs {
		if first.IsZero() || run.First.Before(first) {
			first = run.First
		}
		if run.Last.After(last) {
			last = run.Last
		}
	}
	return last.Sub(first)
}

var buckets = []time.Duration{
	5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour,
}

func bucketFor(span time.Duration) time.Duration {
	for _, b := range buckets {
		if span <= maxPoints*b {
			return b
		}
	}
	return 7 * 24 * time.Hour
}

func (m *Method) addHistory(points []query.Point) {
	at := map[string]int{}
	for _, p := range points {
		if p.MethodName != m.MethodName || !(p.N > 0) {
			continue
		}
		i, ok := at[p.Version]
		if !ok {
			i = len(m.History)
			at[p.Version] = i
			m.History = append(m.History, History{Version: p.Version})
		}
		point := Point{At: p.At, NS: p.X / p.N, Records: p.Records}
		sums := stats.Clusters{Count: p.Clusters, N: p.N, X: p.X, NN: p.NN, NX: p.NX, XX: p.XX}
		if e, ok := sums.Mean(); ok {
			margin := e.Margin(confidence)
			point.Interval = &[2]float64{max(0, e.Value-margin), e.Value + margin}
		}
		m.History[i].Points = append(m.History[i].Points, point)
		m.Records += p.Records
	}
	slices.SortStableFunc(m.History, func(a, b History) int { return a.Points[0].At.Compare(b.Points[0].At) })
	if len(m.History) > maxVersions {
		m.History = m.History[len(m.History)-maxVersions:]
	}
}

// addDistributions adds the Distribution of each version in m.History, in the same order.
func (m *Method) addDistributions(shares []query.Share) {
	for _, c := range m.History {
		s := Distribution{Version: c.Version, Bins: map[int64]float64{}}
		for _, share := range shares {
			if share.MethodName == m.MethodName && share.Version == c.Version {
				s.Bins[share.Bin] += share.N
				s.Calls += share.N
			}
		}
		if !(s.Calls > 0) {
			continue
		}
		for bin := range s.Bins {
			s.Bins[bin] /= s.Calls
		}
		m.Distributions = append(m.Distributions, s)
	}
}
