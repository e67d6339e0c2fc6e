package query

import (
	"context"
	"database/sql"
	"slices"
	"time"
)

// Side is which of two deployments a row is about; "all" where none are compared.
type Side string

const (
	SideBase Side = "base"
	SideHead Side = "head"
)

// Sums are a method's totals and the sums over clusters that their standard
// errors are made of. N is in calls, X in ns; both are estimates for all calls
// of the cells, not for the sampled ones.
type Sums struct {
	Records  int64 // measured calls behind the figures
	Clusters int64 // instance x bucket with such records

	N, X, SelfX float64
	NN, NX, XX  float64 // sums over clusters of products
	NS, SS      float64 // the same for the self time
}

// Profile is the measurements of one method of one version in one metric.
type Profile struct {
	Service
	Version   string
	Side      Side
	Class     string
	Method    string
	Signature string
	Full      string // class.method, as callers are called
	Sums

	OuterX    float64 // X without calls from the method itself
	OuterUSD  float64
	SelfUSD   float64 // of what has a price
	UnpricedX float64 // self time without a price, ns
	OrphanX   float64 // of X, in calls whose caller is not known and can't be inferred
}

// Compared is one of the two deployments that are compared in a service.
type Compared struct {
	Service
	Side       Side
	Version    string
	Window     Window
	TimeBucket time.Duration // the length of a cluster
	// Whole: no row of the version in the window of the warehouse started outside of Window.
	Whole bool
}

// Ask says what to measure, where and when.
type Ask struct {
	Metric Metric
	Filter Filter
	// Compared are the deployments to measure. Empty means all rows of Window, in
	// clusters of length Bucket.
	Compared []Compared
	// WarmUp is the time from the start of its process, or from its first row where the
	// start is unknown, in which rows of Compared are left out.
	WarmUp     time.Duration
	Window     Window
	TimeBucket time.Duration
}

func (a Ask) scope() scope {
	sides := len(a.Compared) > 0
	return scope{metricColumns: columnsOf[a.Metric], Filter: a.Filter, Sides: sides, WarmUp: sides && a.WarmUp > 0, Summed: a.shortestTimeBucket() >= sumsFrom}
}

func (a Ask) shortestTimeBucket() time.Duration {
	_, timeBuckets := a.pieces()
	return slices.Min(timeBuckets)
}

// pieces are the windows that leave out rows, and the buckets that these are distinguished by.
func (a Ask) pieces() (windows []Window, timeBuckets []time.Duration) {
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

func (a Ask) args() map[string]any {
	args := filterArgs(a.Window, a.Filter)
	if len(a.Compared) > 0 { // each has its own window and bucket
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

// prepare makes the table that the statements read what is compared from.
func (w *Warehouse) prepare(ctx context.Context, compared []Compared) error {
	if len(compared) == 0 {
		return nil
	}
	g := smallTable{columns: append(texts("service_namespace", "service", "environment", "version", "side"), longs("from_ns", "to_ns", "slot_ns")...)}
	for _, c := range compared {
		from, to := c.Window.nanos()
		g.rows = append(g.rows, []any{orNull(c.Namespace), orNull(c.Name), orNull(c.Environment), c.Version, string(c.Side), from, to, c.TimeBucket.Nanoseconds()})
	}
	return w.give(ctx, "compared", g)
}

// Edge is what a method paid for one of its callees.
type Edge struct {
	Service
	Side   Side
	Caller string // empty = not known
	Callee string
	N, X   float64
}

// Profiles measures every method with measurements of any kind, and who paid for
// whom.
func (w *Warehouse) Profiles(ctx context.Context, a Ask) (methods []Profile, edges []Edge, err error) {
	if err := w.prepare(ctx, a.Compared); err != nil {
		return nil, nil, err
	}
	s := a.scope()
	if s.dialect = w.dialect; !s.WarmUp { // which ends within hours
		windows, timeBuckets := a.pieces()
		if s.dialect, err = w.hourly(ctx, windows, timeBuckets...); err != nil {
			return nil, nil, err
		}
	}
	err = w.each(ctx, "profile", s, a.args(), func(rows *sql.Rows) error {
		var p Profile
		var what, caller string
		err := rows.Scan(&what, into(&p.Namespace), into(&p.Service.Name), into(&p.Environment), into(&p.Version), &p.Side, into(&caller), &p.Full,
			&p.N, &p.X, into(&p.Class), into(&p.Method), into(&p.Signature),
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

// Services lists the services with rows on the dates of the window.
func (w *Warehouse) Services(ctx context.Context) ([]Service, error) {
	var out []Service
	err := w.each(ctx, "services", scope{}, nil, func(rows *sql.Rows) error {
		var s Service
		err := rows.Scan(into(&s.Namespace), into(&s.Name), into(&s.Environment))
		out = append(out, s)
		return err
	})
	return out, err
}
