package alert

import (
	"fmt"
	"testing"
	"time"

	"github.com/corehour/corehour/test/doctest"
)

func TestID_Stable(t *testing.T) {
	a := Alert{Kind: Regression, Service: "s", Class: "c", Method: "m", BaseVersion: "1", HeadVersion: "2", Metric: "cpu"}
	id := ID(&a)
	b := a
	b.ChangePercent, b.Records, b.Reason, b.FirstSeen = 50, 1, "r", time.Now()
	if ID(&b) != id {
		t.Error("the id depends on what changes from look to look")
	}
	b = a
	b.Service, b.Class = "sc", ""
	if ID(&b) == id {
		t.Error("two methods share an id")
	}
	b = a
	b.Caller = "s.x" // set only for MoreCalls
	if ID(&b) != id {
		t.Error("the caller is part of the id of a regression")
	}
	b.Kind = MoreCalls
	c := b
	c.Caller = "s.y"
	if ID(&b) == ID(&c) {
		t.Error("two callers of one method share an id")
	}
	b = a
	b.Kind, b.FirstSeen = Drift, time.Unix(0, 0)
	id = ID(&b)
	b.BaseVersion, b.HeadVersion, b.FirstSeen = "", "3", time.Unix(86399, 0)
	if ID(&b) != id {
		t.Error("the id of a drift depends on versions, or on the hour")
	}
}

func TestSeverity(t *testing.T) {
	usd := func(x float64) *float64 { return &x }
	for _, tc := range []struct {
		name string
		i    Impact
		want Severity
	}{
		{"little money", Impact{usd(9.99), 0.0099, 3}, Info},
		{"a large share of next to nothing", Impact{usd(0.09), 0.9, 3}, Info},
		{"some money", Impact{usd(10), 0.0001, 3}, Warning},
		{"a hundredth of the service", Impact{usd(0.1), 0.01, 3}, Warning},
		{"a twentieth of a cheap service", Impact{usd(0.99), 0.05, 3}, Warning},
		{"a twentieth of the service", Impact{usd(1), 0.05, 2}, Critical},
		{"less than a twentieth", Impact{usd(99), 0.049, 2}, Warning},
		{"much money", Impact{usd(100), 0.0001, 2}, Critical},
		{"of one process", Impact{usd(1000), 0.5, 1}, Warning},
		{"no matter of processes", Impact{usd(1000), 0, 0}, Critical},
		{"without a price", Impact{nil, 0.05, 2}, Critical},
		{"without a price, less", Impact{nil, 0.049, 2}, Warning},
		{"without a price, little", Impact{nil, 0.0099, 2}, Info},
		{"without a price, of one process", Impact{nil, 0.5, 1}, Warning},
	} {
		if got := SeverityOf(tc.i); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

func TestSeverity_Documented(t *testing.T) {
	for _, l := range levels {
		doctest.Contains(t, "guides/alerts.md", fmt.Sprintf("| `%s` | %g USD a day, or %g%% of the service's cost and %g USD a day | %g%% of the service's time |",
			l.severity, l.usd, 100*l.share, l.leastUSD, 100*l.share))
	}
}
