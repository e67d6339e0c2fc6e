package report

import (
	"time"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/compare/pairs"
	"github.com/corehour/corehour/regression/ledger"
	"github.com/corehour/corehour/regression/query"
)

var begin = time.Date(2026, 3, 10, 9, 0, 0, 0, time.UTC)

// sample returns a report with a line of every form that the page has.
func sample() *Report {
	shop := query.Service{Namespace: "store", Name: "shop", Environment: "production"}
	mail := query.Service{Name: "mail"}
	method := func(s query.Service, class, name string) query.MethodName {
		return query.MethodName{Service: s, Class: class, Method: name}
	}
	rate, total, send := method(shop, "shop/tax", "Rate"), method(shop, "shop/cart.Cart", "Total"), method(mail, "", "send")
	change := func(s query.Service, v evidence.Verdict) Change {
		v.Metric = "cpu"
		return Change{pairs.Row{Service: s, BaseVersion: "1.9.0", HeadVersion: "1.10.0", Verdict: &v}, v.State == evidence.Regressed}
	}
	point := func(minute int, ns float64, spread float64, records int64) Point {
		p := Point{At: begin.Add(time.Duration(minute) * time.Minute), NS: ns, Records: records}
		if spread > 0 {
			p.Interval = &[2]float64{ns - spread, ns + spread}
		}
		return p
	}
	return &Report{
		From: begin, To: begin.Add(2 * time.Hour), Made: begin.Add(3 * time.Hour), Warehouse: "/var/warehouse", Metric: "cpu", Records: 5000, Instances: 4,
		Costs: []Cost{
			{MethodName: rate, SelfCoreHours: 2, Error: new(0.1), Interval: &[2]float64{1.5, 2.5}, SelfUSD: new(0.1), Calls: 1200, Records: 600},
			{MethodName: total, SelfCoreHours: 1, Warning: "lower bound, tail not sampled", SelfUSD: new(0.05), GenericPrice: true, Calls: 900, AssumedCalls: 3, Records: 450},
			{MethodName: send, SelfCoreHours: 0.5, Uncertain: "few records", Calls: 10, Records: 2},
		},
		CostsLeft: 7,
		Walls: []Wall{
			{MethodName: send, SelfWallHours: 1, Interval: &[2]float64{0.8, 1.2}, InclusiveWallHours: 3, Calls: 10, Records: 10},
			{MethodName: method(mail, "mail.Queue", "Pop"), Clipped: true, InclusiveWallHours: 2, Calls: 5, AssumedCalls: 5, Records: 5},
			{MethodName: method(mail, "mail.Queue", "Push"), SelfWallHours: 0.5, Uncertain: "few records", InclusiveWallHours: 1, Calls: 1, Records: 1},
		},
		WallsLeft: 2,
		Notes:     []string{"mail: calls are a lower bound"},
		Alerts: []alert.Alert{{
			ID: "0123456789ab", Kind: alert.Regression, ServiceNamespace: "store", Service: "shop", Environment: "production", Class: "shop/tax", Method: "Rate",
			BaseVersion: "1.9.0", HeadVersion: "1.10.0", Metric: "cpu", Basis: "own", Base: 300e3, Head: 600e3, ChangePercent: 100, Interval: [2]float64{80, 120},
			USDPerDay: new(1.25), USDPerDayBasis: "ran for 2 h",
		}},
		AlertsLeft:  1,
		Compared:    []Compared{{shop, "1.9.0", "1.10.0", "process start"}},
		NotCompared: []string{"mail: only one version"}, NotComparedLeft: 3,
		Changes: []Change{
			change(shop, evidence.Verdict{Class: "shop/tax", Method: "Rate", State: evidence.Regressed, ChangePercent: new(100.0), Interval: &[2]float64{80, 120},
				Measured: &evidence.Part{Percent: 104}, Common: &evidence.Part{Percent: 4}, CommonReason: "all methods share it", BaseRecords: 300, HeadRecords: 290}),
			change(shop, evidence.Verdict{Class: "shop/cart.Cart", Method: "Total", State: evidence.NotProven, ChangePercent: new(-1.5), Interval: &[2]float64{-20, 18},
				Measured: &evidence.Part{Percent: -1.5}, BaseRecords: 200, HeadRecords: 180}),
		},
		ChangesLeft: 4,
		Methods: []Method{
			{MethodName: rate, Records: 590, Distributions: []Distribution{
				{Version: "1.9.0", Calls: 800, Bins: map[int64]float64{72: 0.5, 73: 0.5}}, {Version: "1.10.0", Calls: 400, Bins: map[int64]float64{76: 0.9, 80: 0.1}},
			}, History: []History{
				{Version: "1.9.0", Points: []Point{point(0, 300e3, 10e3, 100), point(30, 310e3, 0, 200)}},
				{Version: "1.10.0", Points: []Point{point(40, 600e3, 20e3, 290)}},
			}},
			{MethodName: send},
		},
		Trees: []Tree{{Service: shop, TotalNS: 9e9, Roots: []*Node{
			{Name: "shop/web.Handler.Serve", NS: 8e9, Children: []*Node{{Name: "shop/cart.Cart.Total", NS: 5e9}, {Name: "shop/tax.Rate", NS: 1e9}}},
			{Name: unknownCaller, NS: 1e8, Children: []*Node{{Name: "shop/log.Write", NS: 1e8}}},
		}}},
		TreesLeft: 2,
		Health: &ledger.Accounts{Faults: []string{"10 calls were lost in transit"}, Services: []ledger.Service{
			{Service: shop, Processes: 3, DeadProcesses: 1, HandedOutCalls: 2110, CountedCalls: 2100, LostInTransit: 10},
			{Service: mail, Processes: 1, ForeignRows: 10, UnpricedShare: 1},
		}, Losses: ledger.Losses{SDK: map[string]float64{"dropped": 12, "folded": 0}}},
		zone: time.UTC, top: 20,
	}
}
