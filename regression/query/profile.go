package query

import (
	"context"
	"database/sql"
	"slices"
	"time"
)

// Side is the deployment that a row belongs to, or "all" outside comparisons.
type Side string

const (
	SideBase Side = "base"
	SideHead Side = "head"
)

// Sums are a method's totals, and the sums over clusters from which their standard errors are computed.
// N is in calls, X in ns. Both are estimates for all calls of the cells, not totals of the sampled
// calls.
type Sums struct {
	Records  int64 // measured calls
	Clusters int64 // instance x time bucket with measured calls

	N, X, SelfX float64
	NN, NX, XX  float64 // sums of products over clusters
	NS, SS      float64 // the same for the self time
}

// Profile contains the measurements of one method in one version and one metric.
type Profile struct {
	Service
	Version   string
	Side      Side
	Class     string
	Method    string
	Signature string
	Full      string // class.method, the form of callers
	Sums

	OuterX    float64 // X without recursive calls
	OuterUSD  float64
	SelfUSD   float64 // dollars of the part with a price
	UnpricedX float64 // self time without a price, ns
	OrphanX   float64 // part of X in calls whose caller is neither known nor inferable
}

// Compared is one of the two deployments in a comparison of a service.
type Compared struct {
	Service
	Side       Side
	Version    string
	Window     Window
	TimeBucket time.Duration // the length of a cluster
	// Whole is set if all rows of the version in the window of the warehouse started within Window.
	Whole bool
}

// ProfileQuery contains the metric, services and time of a query.
type ProfileQuery struct {
	Metric Metric
	Filter Filter
	// Compared are the deployments to measure. If empty, all rows of Window are measured, in
	// clusters of length TimeBucket.
	Compared []Compared
	// WarmUp is the time after the start of a process in which rows of Compared are left out. If the
	// start is unknown, it begins with the first row.
	WarmUp     time.Duration
	Window     Window
	TimeBucket time.Duration
}

func (a ProfileQuery) scope() scope {
	sides := len(a.Compared) > 0
	return scope{metricColumns: columnsOf[a.Metric], Filter: a.Filter, Sides: sides, WarmUp: sides && a.WarmUp > 0, Summed: a.shortestTimeBucket() >= sumsFrom}
}

func (a ProfileQuery) shortestTimeBucket() time.Duration {
	_, timeBuckets := a.pieces()
	return slices.Min(timeBuckets)
}

// pieces returns the windows that select rows, and the time buckets that separate them.
func (a ProfileQuery) pieces() (windows []Window, timeBuckets []time.Duration) {
	for _, c := range a.Compared {
		timeBuckets = append(timeBuckets, c.TimeBucket)
		if !c.Whole {
			windows = append(windows, c.Window)
		}
	}
	if len(a.Compared) == 0 {
		return []Window{a.Window}, []time.Duration{a.TimeBucket}
	}
	return windows, timeBuckets
}

func (a ProfileQuery) args() map[string]any {
	args := filterArgs(a.Window, a.Filter)
	if len(a.Compared) > 0 { // each deployment has its own window and bucket
		delete(args, "from_ns")
		delete(args, "to_ns")
		if a.WarmUp > 0 {
			args["warm_up_ns"] = a.WarmUp.Nanoseconds()
		}
		return args
	}
	args["slot_ns"] = a.TimeBucket.Nanoseconds()
	return args
}

// fillCompared fills the table of the compared deployments that statements read.
func (w *Warehouse) fillCompared(ctx context.Context, compared []Compared) error {
	if len(compared) == 0 {
		return nil
	}
	g := smallTable{columns: append(textColumns("service_namespace", "service", "environment", "version", "side"), longColumns("from_ns", "to_ns", "slot_ns")...)}
	for _, c := range compared {
		from, to := c.Window.nanos()
		g.rows = append(g.rows, []any{orNull(c.Namespace), orNull(c.Name), orNull(c.Environment), c.Version, string(c.Side), from, to, c.TimeBucket.Nanoseconds()})
	}
	return w.fillTable(ctx, "compared", g)
}

// Edge is the cost of one callee to a method.
type Edge struct {
	Service
	Side   Side
	Caller string // empty = not known
	Callee string
	N, X   float64
}

// Profiles returns the profile of every method with measurements of any kind, and the edges from callers to
// callees.
func (w *Warehouse) Profiles(ctx context.Context, a ProfileQuery) (methods []Profile, edges []Edge, err error) {
	if err := w.fillCompared(ctx, a.Compared); err != nil {
		return nil, nil, err
	}
	s := a.scope()
	if s.dialect = w.dialect; !s.WarmUp { // the end of a warm-up is within an hour
		windows, timeBuckets := a.pieces()
		if s.dialect, err = w.hourly(ctx, windows, timeBuckets...); err != nil {
			return nil, nil, err
		}
	}
	err = w.queryRows(ctx, "profile", s, a.args(), func(rows *sql.Rows) error {
		var p Profile
		var what, caller string
		err := rows.Scan(&what, nullable(&p.Namespace), nullable(&p.Service.Name), nullable(&p.Environment), nullable(&p.Version), &p.Side, nullable(&caller), &p.Full,
			&p.N, &p.X, nullable(&p.Class), nullable(&p.Method), nullable(&p.Signature),
			&p.Records, &p.Clusters, &p.SelfX,
			&p.OuterX, &p.OuterUSD, &p.SelfUSD, &p.UnpricedX, &p.OrphanX,
			&p.NN, &p.NX, &p.XX, &p.NS, &p.SS)
		p.Records = atMostCounted(p.Records, p.N)
		if what == "method" {
			methods = append(methods, p)
		} else {
			edges = append(edges, Edge{Service: p.Service, Side: p.Side, Caller: caller, Callee: p.Full, N: p.N, X: p.X})
		}
		return err
	})
	return methods, edges, err
}

// Services returns the services with rows on the dates of the window.
func (w *Warehouse) Services(ctx context.Context) ([]Service, error) {
	var out []Service
	err := w.queryRows(ctx, "services", scope{}, nil, func(rows *sql.Rows) error {
		var s Service
		err := rows.Scan(nullable(&s.Namespace), nullable(&s.Name), nullable(&s.Environment))
		out = append(out, s)
		return err
	})
	return out, err
}
