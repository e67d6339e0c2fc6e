package query

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/pricebook"
	"github.com/corehour/corehour/regression/stats"
)

// Place is where a process runs, as far as prices depend on it. Empty parts are
// unknown.
type Place = pricebook.Place

// Class is a class of a service.
type Class struct {
	Service
	Class string
}

// Group is what costs are added up by. Parts that are not asked for are empty.
type Group struct {
	Service
	Version, Class, Method, Owner, GoroutineGroup string
}

// GroupColumns are the columns that costs can be added up by.
var GroupColumns = []string{"service_namespace", "service", "environment", "version", "class", "method", "owner", "goroutine_group"}

// UnknownGoroutineGroup is the group of calls whose row does not say one: of calls that were
// only counted, and of rows that were added up.
const UnknownGoroutineGroup = "(unknown)"

// maxGoroutineGroups are kept apart, those with the most measured calls. Others are one,
// called (other).
const maxGoroutineGroups = 100

// CostAsk is what is asked of costs.
type CostAsk struct {
	Window     Window
	Filter     Filter
	Of         *Service // the only one of the filter that is asked for, but for its instances; nil = all
	TimeBucket time.Duration
	Group      []string // of GroupColumns
	// Metric is that of times; empty = CPU. Wall times have no dollars.
	Metric Metric
	// Owners says who owns a class; nil = nobody.
	Owners func(Class) string
	// Price replaces the stored prices; 0 = unpriced. Nil keeps them.
	Price func(Place) float64
	// Listed says of which places that is a public list price; nil = of none.
	Listed func(Place) bool
}

// MethodCost is one method of one version. Times are in ns, for all calls.
type MethodCost struct {
	Service
	Version, Class, Method, Signature, Owner string
	Full                                     string // class.method, as callers are called
	GoroutineGroup                           string // of parts only

	Calls           float64
	UnmeasuredCalls float64 // of these in cells where nothing was measured
	Measured        int64
	CPUMeasured     int64
	WallN, WallX    float64 // estimates: calls, ns
	BothX           float64 // wall time of the calls whose CPU was timed, N of them
	Errors          float64
	Waits           float64 // of the calls of N: how often they gave up the processor

	N, X           float64 // calls and time with what it calls
	SelfX, SelfUSD float64 // dollars of what has a price
	SelfUnpricedX  float64
	OrphanX        float64         // of X, in calls whose caller is not known and can't be inferred
	Residuals      stats.Residuals // of the clusters of SelfX, in ns, without cubes
}

// GroupCost is what the interval of a group's self time is made of.
type GroupCost struct {
	Group
	N         float64
	Residuals stats.Residuals // of clusters, in ns
	Instances int64
}

// CostEdge is what a method of a version paid for one of its callees.
type CostEdge struct {
	Service
	Version, Caller, Callee string // the caller empty = not known
	GoroutineGroup          string // empty if costs are not by group
	Calls, N, X, USD, Waits float64
	// TimedWall and TimedCPU are the calls that were timed, without and with their CPU.
	TimedWall, TimedCPU float64
}

// Costs is the answer.
type Costs struct {
	Methods []MethodCost
	Parts   []MethodCost // of methods by goroutine group, if it is a column of the groups
	Groups  []GroupCost
	Edges   []CostEdge
}

// ByGoroutineGroup reports whether methods are split by the group of their goroutine.
func (s scope) ByGoroutineGroup() bool { return slices.Contains(s.Group, "goroutine_group") }

// MaxGoroutineGroups is the number of groups that are kept apart.
func (s scope) MaxGoroutineGroups() int { return maxGoroutineGroups }

// TellingCosts is the same scope with rows that are kept apart by what costs depend on.
func (s scope) TellingCosts() scope {
	columns := []string{"instance", "slot_ns", "caller", "signature", "usd_per_core_hour"}
	if s.ByGoroutineGroup() {
		columns = append(columns, "goroutine_group")
	}
	return s.Telling(columns...)
}

// Grouped is a column of a group, or NULL if it is not asked for.
func (s scope) Grouped(column string) string {
	if slices.Contains(s.Group, column) {
		return column
	}
	return "CAST(NULL AS " + s.Text + ") AS " + column
}

func (w *Warehouse) costScope(ctx context.Context, a CostAsk) (scope, error) {
	s := scope{metricColumns: columnsOf[cmp.Or(a.Metric, CPU)], Filter: a.Filter, Errors: true, Summed: a.TimeBucket >= sumsFrom, Group: a.Group, Repriced: a.Price != nil, Owned: a.Owners != nil}
	if s.Repriced {
		if err := w.reprice(ctx, a); err != nil {
			return s, err
		}
	}
	if s.Owned {
		if err := w.own(ctx, a.Filter, a.Owners); err != nil {
			return s, err
		}
	}
	return s, nil
}

// Costs adds up what methods cost.
func (w *Warehouse) Costs(ctx context.Context, a CostAsk) (*Costs, error) {
	s, err := w.costScope(ctx, a)
	if err != nil {
		return nil, err
	}
	if s.dialect = w.dialect; !s.ByGoroutineGroup() { // rollups do not have it
		if s.dialect, err = w.hourly(ctx, []Window{a.Window}, a.TimeBucket); err != nil {
			return nil, err
		}
	}
	args := filterArgs(a.Window, a.Filter)
	if s.Of = a.Of; s.Of != nil {
		s.Filter = Filter{}
		maps.Copy(args, serviceArgs(*s.Of))
	}
	args["slot_ns"] = a.TimeBucket.Nanoseconds()
	out := &Costs{}
	err = w.each(ctx, "cost", s, args, func(rows *sql.Rows) error {
		var what, caller string
		var m MethodCost
		var residuals stats.Residuals
		var instances int64
		err := rows.Scan(&what, into(&m.Namespace), into(&m.Name), into(&m.Environment), into(&m.Version), into(&m.Class), into(&m.Method),
			into(&m.Owner), into(&m.GoroutineGroup), into(&m.Full), into(&caller), into(&m.Signature),
			into(&m.Calls), into(&m.UnmeasuredCalls), into(&m.Measured), into(&m.CPUMeasured), into(&m.WallN), into(&m.WallX), into(&m.BothX), into(&m.Errors), into(&m.Waits),
			into(&m.N), into(&m.X), into(&m.SelfX), into(&m.SelfUSD), into(&m.SelfUnpricedX), into(&m.OrphanX),
			into(&residuals.Squares), into(&residuals.Cubes), into(&residuals.Count), into(&instances))
		switch what {
		case "method":
			m.Residuals = residuals
			out.Methods = append(out.Methods, m)
		case "group":
			out.Groups = append(out.Groups, GroupCost{Group{m.Service, m.Version, m.Class, m.Method, m.Owner, m.GoroutineGroup}, m.N, residuals, instances})
		case "part":
			out.Parts = append(out.Parts, m)
		default:
			out.Edges = append(out.Edges, CostEdge{m.Service, m.Version, caller, m.Full, m.GoroutineGroup, m.Calls, m.N, m.X, m.SelfUSD, m.Waits, m.WallN, m.WallX})
		}
		return err
	})
	out.boundRecords()
	return out, err
}

// reprice makes the table of prices by place.
func (w *Warehouse) reprice(ctx context.Context, a CostAsk) error {
	var places []Place
	err := w.each(ctx, "places", scope{}, nil, func(rows *sql.Rows) error {
		var p Place
		err := rows.Scan(into(&p.CloudProvider), into(&p.Region), into(&p.HostType), into(&p.CapacityType))
		places = append(places, p)
		return err
	})
	if err != nil {
		return err
	}
	g := smallTable{columns: texts("cloud_provider", "region", "host_type", "capacity_type", "usd_per_core_hour", "listed")}
	for _, p := range places {
		usd := "" // unpriced
		if x := a.Price(p); x > 0 {
			usd = strconv.FormatFloat(x, 'g', -1, 64)
		}
		listed := ""
		if a.Listed != nil && a.Listed(p) {
			listed = "yes"
		}
		g.rows = append(g.rows, []any{orNull(p.CloudProvider), orNull(p.Region), orNull(p.HostType), orNull(p.CapacityType), orNull(usd), orNull(listed)})
	}
	return w.give(ctx, "repriced", g)
}

// own makes the table of owners by class.
func (w *Warehouse) own(ctx context.Context, f Filter, owner func(Class) string) error {
	args := filterArgs(Window{}, f)
	delete(args, "from_ns")
	delete(args, "to_ns")
	var classes []Class
	err := w.each(ctx, "classes", scope{Filter: f}, args, func(rows *sql.Rows) error {
		var c Class
		err := rows.Scan(into(&c.Namespace), into(&c.Name), into(&c.Environment), into(&c.Class))
		classes = append(classes, c)
		return err
	})
	if err != nil {
		return err
	}
	g := smallTable{columns: texts("service_namespace", "service", "environment", "class", "owner")}
	for _, c := range classes {
		if name := owner(c); name != "" {
			g.rows = append(g.rows, []any{orNull(c.Namespace), orNull(c.Name), orNull(c.Environment), orNull(c.Class), name})
		}
	}
	return w.give(ctx, "owned", g)
}

// Bill is what the processes of a service used and could have used.
type Bill struct {
	Service
	Observed
	First, Last        time.Time // of all its rows in the window
	Assumed            bool      // nothing says how some spans were sampled
	Others             bool      // some spans are of other SDKs
	Intervals          int64     // process rows with CPU time; 0 = not known
	IntervalsWithCores int64     // of these with the number of cores
	IntervalsAlone     int64     // of these paid by process: no host is known, or not its cores
	IntervalsNamed     int64     // of hosts that are known by name only
	IntervalsLimited   int64     // of processes with a CPU limit
	Instances          int64
	ListPrice          bool    // some price is of a public list
	CPUNS, CPUUSD      float64 // dollars of what has a price
	UnpricedCPUNS      float64
	SDKNS, SDKUSD      sql.NullFloat64 // of the CPU, the SDK's own; null = not said by all
	PaidNS, PaidUSD    float64         // its share of cores x time of its hosts
	UnpricedPaidNS     float64
}

// Bills lists it for every service with rows.
func (w *Warehouse) Bills(ctx context.Context, a CostAsk) ([]Bill, error) {
	s, err := w.costScope(ctx, CostAsk{Filter: a.Filter, Price: a.Price, Listed: a.Listed})
	if err != nil {
		return nil, err
	}
	var out []Bill
	err = w.each(ctx, "bill", s, filterArgs(a.Window, a.Filter), func(rows *sql.Rows) error {
		var b Bill
		var began, counted, first, last, assumed, others, listed int64
		err := rows.Scan(into(&b.Namespace), into(&b.Name), into(&b.Environment), &began, into(&counted), &first, &last, &assumed, &others, &b.Intervals, &b.IntervalsWithCores,
			&b.IntervalsAlone, &b.IntervalsNamed, &b.IntervalsLimited, &b.Instances, &listed,
			into(&b.CPUNS), into(&b.CPUUSD), into(&b.UnpricedCPUNS), &b.SDKNS, &b.SDKUSD, into(&b.PaidNS), into(&b.PaidUSD), into(&b.UnpricedPaidNS))
		if b.Began, b.First, b.Last = at(began), at(first), at(last); counted != 0 {
			b.Counted = at(counted)
		}
		b.Assumed, b.Others, b.ListPrice = assumed > 0, others > 0, listed > 0
		out = append(out, b)
		return err
	})
	if err == nil {
		err = w.lookBack(ctx, a.Window, a.Filter, out)
	}
	return out, err
}

// WallOfBoth is the wall time of the calls whose CPU was timed.
const WallOfBoth Metric = "both"

// Spread is how often the calls of a method take about how long.
type Spread struct {
	MethodName
	Metric Metric
	Bins   methodspan.Histogram
}

// Spreads lists it for every method, by service, class, method and metric.
func (w *Warehouse) Spreads(ctx context.Context, window Window, f Filter) ([]Spread, error) {
	d, err := w.hourly(ctx, []Window{window})
	if err != nil {
		return nil, err
	}
	var out []Spread
	err = w.each(ctx, "percentiles", scope{dialect: d, Filter: f}, filterArgs(window, f), func(rows *sql.Rows) error {
		var s Spread
		var b methodspan.Bin
		err := rows.Scan(into(&s.Namespace), into(&s.Name), into(&s.Environment), into(&s.Class), into(&s.Method), &s.Metric, &b.Bin, &b.N)
		if n := len(out); n > 0 && out[n-1].MethodName == s.MethodName && out[n-1].Metric == s.Metric {
			out[n-1].Bins = append(out[n-1].Bins, b)
		} else {
			s.Bins = methodspan.Histogram{b}
			out = append(out, s)
		}
		return err
	})
	return out, err
}
