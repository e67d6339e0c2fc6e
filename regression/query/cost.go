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

// Place is the part of a process's location that prices depend on. Empty parts are unknown.
type Place = pricebook.Place

// Class is a class of a service.
type Class struct {
	Service
	Class string
}

// Group is a key by which costs are grouped. Parts that were not requested are empty.
type Group struct {
	Service
	Version, Class, Method, Owner, GoroutineGroup string
}

// GroupColumns are the columns by which costs can be grouped.
var GroupColumns = []string{"service_namespace", "service", "environment", "version", "class", "method", "owner", "goroutine_group"}

// UnknownGoroutineGroup is the group of calls whose row has no goroutine group: calls that were only counted,
// and calls in rollup rows.
const UnknownGoroutineGroup = "(unknown)"

// maxGoroutineGroups is the maximum number of separate groups, by measured calls. The remaining groups are
// added up as (other).
const maxGoroutineGroups = 100

// CostQuery contains the parameters of a query for costs.
type CostQuery struct {
	Window     Window
	Filter     Filter
	Of         *Service // the only service to return, without its instances that measured nothing; nil = all services of Filter
	TimeBucket time.Duration
	Group      []string // of GroupColumns
	// Metric is the metric of times; empty = CPU. Wall times have no dollars.
	Metric Metric
	// Owners returns the owner of a class; nil = no owners.
	Owners func(Class) string
	// Price returns the price that replaces the stored one; 0 = unpriced. Nil keeps the stored prices.
	Price func(Place) float64
	// Listed reports whether the price of a place is a public list price; nil = no place.
	Listed func(Place) bool
}

// MethodCost is the cost of one method in one version. Times are in ns, for all calls.
type MethodCost struct {
	Service
	Version, Class, Method, Signature, Owner string
	Full                                     string // class.method, the form of callers
	GoroutineGroup                           string // in Parts only

	Calls           float64
	UnmeasuredCalls float64 // calls in cells without measurements
	Measured        int64
	CPUMeasured     int64
	WallN, WallX    float64 // estimates: calls, ns
	BothX           float64 // wall time of the N calls with CPU time
	Errors          float64
	Waits           float64 // how often the N calls gave up the processor

	N, X           float64 // calls, and their time including callees
	SelfX, SelfUSD float64 // dollars of the part with a price
	SelfUnpricedX  float64
	OrphanX        float64         // part of X in calls whose caller is neither known nor inferable
	Residuals      stats.Residuals // of the clusters of SelfX, in ns, without cubes
}

// GroupCost contains the inputs of the confidence interval of a group's self time.
type GroupCost struct {
	Group
	N         float64
	Residuals stats.Residuals // of clusters, in ns
	Instances int64
}

// CostEdge is the cost of one callee to a method in one version.
type CostEdge struct {
	Service
	Version, Caller, Callee string // an empty caller is unknown
	GoroutineGroup          string // empty if costs are not by group
	Calls, N, X, USD, Waits float64
	// TimedWall and TimedCPU are the numbers of calls timed without and with their CPU.
	TimedWall, TimedCPU float64
}

// Costs is the result of a query for costs.
type Costs struct {
	Methods []MethodCost
	Parts   []MethodCost // methods by goroutine group, if the groups have that column
	Groups  []GroupCost
	Edges   []CostEdge
}

// ByGoroutineGroup reports whether methods are split by goroutine group.
func (s scope) ByGoroutineGroup() bool { return slices.Contains(s.CostGroup, "goroutine_group") }

// MaxGoroutineGroups returns the maximum number of separate goroutine groups.
func (s scope) MaxGoroutineGroups() int { return maxGoroutineGroups }

// GroupByCostColumns returns the scope with all columns that costs depend on as GROUP BY columns.
func (s scope) GroupByCostColumns() scope {
	columns := []string{"instance", "slot_ns", "caller", "signature", "usd_per_core_hour"}
	if s.ByGoroutineGroup() {
		columns = append(columns, "goroutine_group")
	}
	return s.GroupBy(columns...)
}

// CostGroupColumn returns a column of a group, or NULL if it was not requested.
func (s scope) CostGroupColumn(column string) string {
	if slices.Contains(s.CostGroup, column) {
		return column
	}
	return "CAST(NULL AS " + s.Text + ") AS " + column
}

func (w *Warehouse) costScope(ctx context.Context, a CostQuery) (scope, error) {
	s := scope{metricColumns: columnsOf[cmp.Or(a.Metric, CPU)], Filter: a.Filter, Errors: true, Summed: a.TimeBucket >= sumsFrom, CostGroup: a.Group, Repriced: a.Price != nil, Owned: a.Owners != nil}
	if s.Repriced {
		if err := w.fillPrices(ctx, a); err != nil {
			return s, err
		}
	}
	if s.Owned {
		if err := w.fillOwners(ctx, a.Filter, a.Owners); err != nil {
			return s, err
		}
	}
	return s, nil
}

// Costs returns the costs of methods, groups and edges.
func (w *Warehouse) Costs(ctx context.Context, a CostQuery) (*Costs, error) {
	s, err := w.costScope(ctx, a)
	if err != nil {
		return nil, err
	}
	if s.dialect = w.dialect; !s.ByGoroutineGroup() { // rollups do not contain the goroutine group
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
	err = w.queryRows(ctx, "cost", s, args, func(rows *sql.Rows) error {
		var what, caller string
		var m MethodCost
		var residuals stats.Residuals
		var instances int64
		err := rows.Scan(&what, nullable(&m.Namespace), nullable(&m.Name), nullable(&m.Environment), nullable(&m.Version), nullable(&m.Class), nullable(&m.Method),
			nullable(&m.Owner), nullable(&m.GoroutineGroup), nullable(&m.Full), nullable(&caller), nullable(&m.Signature),
			nullable(&m.Calls), nullable(&m.UnmeasuredCalls), nullable(&m.Measured), nullable(&m.CPUMeasured), nullable(&m.WallN), nullable(&m.WallX), nullable(&m.BothX), nullable(&m.Errors), nullable(&m.Waits),
			nullable(&m.N), nullable(&m.X), nullable(&m.SelfX), nullable(&m.SelfUSD), nullable(&m.SelfUnpricedX), nullable(&m.OrphanX),
			nullable(&residuals.Squares), nullable(&residuals.Cubes), nullable(&residuals.Count), nullable(&instances))
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

// fillPrices fills the table of prices by place.
func (w *Warehouse) fillPrices(ctx context.Context, a CostQuery) error {
	var places []Place
	err := w.queryRows(ctx, "places", scope{}, nil, func(rows *sql.Rows) error {
		var p Place
		err := rows.Scan(nullable(&p.CloudProvider), nullable(&p.Region), nullable(&p.HostType), nullable(&p.CapacityType))
		places = append(places, p)
		return err
	})
	if err != nil {
		return err
	}
	g := smallTable{columns: textColumns("cloud_provider", "region", "host_type", "capacity_type", "usd_per_core_hour", "listed")}
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
	return w.fillTable(ctx, "repriced", g)
}

// fillOwners fills the table of owners by class.
func (w *Warehouse) fillOwners(ctx context.Context, f Filter, owner func(Class) string) error {
	args := filterArgs(Window{}, f)
	delete(args, "from_ns")
	delete(args, "to_ns")
	var classes []Class
	err := w.queryRows(ctx, "classes", scope{Filter: f}, args, func(rows *sql.Rows) error {
		var c Class
		err := rows.Scan(nullable(&c.Namespace), nullable(&c.Name), nullable(&c.Environment), nullable(&c.Class))
		classes = append(classes, c)
		return err
	})
	if err != nil {
		return err
	}
	g := smallTable{columns: textColumns("service_namespace", "service", "environment", "class", "owner")}
	for _, c := range classes {
		if name := owner(c); name != "" {
			g.rows = append(g.rows, []any{orNull(c.Namespace), orNull(c.Name), orNull(c.Environment), orNull(c.Class), name})
		}
	}
	return w.fillTable(ctx, "owned", g)
}

// Bill is the CPU time that the processes of a service used, and the CPU time that was paid for.
type Bill struct {
	Service
	First, Last        time.Time // over all its rows in the window
	Counted            time.Time // end of its last counts or process row; zero without any
	Others             bool      // some spans come from other SDKs
	Intervals          int64     // process rows with CPU time; 0 = not known
	IntervalsWithCores int64     // intervals with a known number of cores
	IntervalsAlone     int64     // intervals among IntervalsWithCores paid by process: the host or its number of cores is unknown
	IntervalsNamed     int64     // intervals on hosts known by name only
	IntervalsLimited   int64     // intervals of processes with a CPU limit
	Instances          int64
	ListPrice          bool    // some prices are public list prices
	CPUNS, CPUUSD      float64 // dollars of the part with a price
	UnpricedCPUNS      float64
	SDKNS, SDKUSD      sql.NullFloat64 // the SDK's own part of the CPU time; NULL unless all processes report it
	PaidNS, PaidUSD    float64         // the service's share of cores x time of its hosts
	UnpricedPaidNS     float64
}

// Bills returns the bill of every service with rows.
func (w *Warehouse) Bills(ctx context.Context, a CostQuery) ([]Bill, error) {
	s, err := w.costScope(ctx, CostQuery{Filter: a.Filter, Price: a.Price, Listed: a.Listed})
	if err != nil {
		return nil, err
	}
	var out []Bill
	err = w.queryRows(ctx, "bill", s, filterArgs(a.Window, a.Filter), func(rows *sql.Rows) error {
		var b Bill
		var counted, first, last, others, listed int64
		err := rows.Scan(nullable(&b.Namespace), nullable(&b.Name), nullable(&b.Environment), nullable(&counted), &first, &last, &others, &b.Intervals, &b.IntervalsWithCores,
			&b.IntervalsAlone, &b.IntervalsNamed, &b.IntervalsLimited, &b.Instances, &listed,
			nullable(&b.CPUNS), nullable(&b.CPUUSD), nullable(&b.UnpricedCPUNS), &b.SDKNS, &b.SDKUSD, nullable(&b.PaidNS), nullable(&b.PaidUSD), nullable(&b.UnpricedPaidNS))
		if b.First, b.Last = timeOf(first), timeOf(last); counted != 0 {
			b.Counted = timeOf(counted)
		}
		b.Others, b.ListPrice = others > 0, listed > 0
		out = append(out, b)
		return err
	})
	return out, err
}

// WallOfBoth is the wall time of the calls with CPU time.
const WallOfBoth Metric = "both"

// Spread is the distribution of the times of a method's calls.
type Spread struct {
	MethodName
	Metric Metric
	Bins   methodspan.Histogram
}

// Spreads returns the distribution of every method, by service, class, method and metric.
func (w *Warehouse) Spreads(ctx context.Context, window Window, f Filter) ([]Spread, error) {
	d, err := w.hourly(ctx, []Window{window})
	if err != nil {
		return nil, err
	}
	var out []Spread
	err = w.queryRows(ctx, "percentiles", scope{dialect: d, Filter: f}, filterArgs(window, f), func(rows *sql.Rows) error {
		var s Spread
		var b methodspan.Bin
		err := rows.Scan(nullable(&s.Namespace), nullable(&s.Name), nullable(&s.Environment), nullable(&s.Class), nullable(&s.Method), &s.Metric, &b.Bin, &b.N)
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
