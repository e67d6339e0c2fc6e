package alert

import (
	"slices"
	"testing"
	"time"
)

// The text contains the raise time of an alert, and the time from which it was knowable if the rule provides it.
func TestAlertLines_KnowableSince(t *testing.T) {
	knowable := time.Date(2026, 3, 10, 9, 5, 0, 0, time.UTC)
	a := Alert{ID: "x", Kind: Regression, Severity: Info, RaisedAt: knowable.Add(40 * time.Second)}
	if got := a.Lines(false)[1]; got != "  info, id x" {
		t.Errorf("%q", got)
	}
	a.KnowableSince = &knowable
	if got := a.Lines(true); !slices.Contains(got, "  info, id x, knowable since 2026-03-10T09:05:00Z, raised 2026-03-10T09:05:40Z") {
		t.Errorf("%q", got)
	}
}

// The first line of an alert has the method, the versions, the change, the levels, the dollars and the interval.
func TestHeadline(t *testing.T) {
	usd := 0.0231
	a := Alert{
		Kind: Regression, Service: "shop", Class: "acme/shop/cart", Method: "Cart.Total", BaseVersion: "1.4", HeadVersion: "1.5", Metric: "cpu",
		Base: 19_930, Head: 34_690, ChangePercent: 74.06, Interval: [2]float64{41.2, 116.4}, USDPerDay: &usd,
	}
	for want, change := range map[string]func(*Alert){
		"REGRESSED cart.Cart.Total (shop 1.4 -> 1.5): +74% CPU per call, 19.9 -> 34.7 us, +$0.0231/day, 95% +41% to +116%": func(*Alert) {},
		"REGRESSED cart.Cart.Total (eu/shop 1.4 -> 1.5, live): +74% inclusive wall per call, 500 ns -> 1.2 ms, 95% +41% to +116%": func(a *Alert) {
			a.ServiceNamespace, a.Environment, a.Metric, a.Basis, a.USDPerDay, a.Base, a.Head = "eu", "live", "wall", "inclusive", nil, 500, 1.2e6
		},
		"REGRESSED cart.Cart.Total called by web.Serve (shop 1.4 -> 1.5): +74% calls per call of its caller, 1 -> 3, 95% +41% to +116%": func(a *Alert) {
			a.Kind, a.Caller, a.Base, a.Head, a.USDPerDay = MoreCalls, "acme/shop/web.Serve", 1, 3, nil
		},
		"REGRESSED whole service (shop 1.4 -> 1.5): +5.3% CPU of all methods, 95% +1.2% to +9.9%": func(a *Alert) {
			a.Kind, a.Class, a.Method, a.Base, a.Head, a.USDPerDay, a.ChangePercent, a.Interval = WholeService, "", "", 0, 0, nil, 5.3, [2]float64{1.2, 9.9}
		},
		"DRIFTED cart.Cart.Total (shop since 2026-03-01): +74% CPU per call, 19.9 -> 34.7 us, +$0.0231/day (generic price), 95% +41% to +116%": func(a *Alert) {
			a.Kind, a.FirstSeen, a.GenericPrice = Drift, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), true
		},
		"OVER BUDGET tax: $12.50/day, planned $10.00/day, +$2.50/day": func(a *Alert) {
			over := 2.5
			*a = Alert{Kind: Budget, Budget: "tax", Base: 10, Head: 12.5, USDPerDay: &over}
		},
	} {
		b := a
		change(&b)
		if got := b.Headline(nil); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
