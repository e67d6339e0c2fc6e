package alert

import (
	"testing"
	"time"
)

func TestAlertIDIsStable(t *testing.T) {
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
	b.Caller = "s.x" // which only more calls have
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
		low  float64
		usd  *float64
		want Severity
	}{
		{20, nil, Info}, {20, usd(9), Info}, {20, usd(10), Warning}, {50, nil, Warning}, {20, usd(100), Critical}, {100, nil, Critical},
	} {
		if got := SeverityOf(tc.low, tc.usd); got != tc.want {
			t.Errorf("%v %v: %s, want %s", tc.low, tc.usd, got, tc.want)
		}
	}
}
