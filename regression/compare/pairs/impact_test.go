package pairs

import (
	"math"
	"testing"
	"time"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/query"
)

// The head has two processes. A method that is called from outside spends 600 of its 1000 ns in a callee: the service
// costs 1000 ns per call, however it is split.
func TestImpact_ShareOfService(t *testing.T) {
	const calls = 1e9
	cell := func(method, caller, instance int32, ns float64) evidence.Cell {
		return evidence.Cell{Method: method, Caller: caller, Instance: instance, Weight: calls / 2, Sum: ns * calls / 2}
	}
	s := &preparedPair{
		deployment: &evidence.Deployment{
			Methods: []string{"a.Outer", "a.Inner"}, Callers: []string{"(entry)", "a.Outer"},
			Instances: []evidence.Instance{{Side: evidence.Base}, {Side: evidence.Head}, {Side: evidence.Head}},
			Cells: []evidence.Cell{
				cell(0, 0, 0, 800), cell(1, 1, 0, 400),
				cell(0, 0, 1, 1000), cell(1, 1, 1, 600), cell(0, 0, 2, 1000), cell(1, 1, 2, 600),
			},
			Buckets: 12, Bucket: time.Hour,
		},
		processes: [2]int{1, 3}, silent: [2]int{0, 1},
	}
	usd := 5.0
	for name, tc := range map[string]struct {
		verdict evidence.Verdict
		usd     *float64
		share   float64
	}{
		"a callee":          {evidence.Verdict{Kind: evidence.Regression, FullName: "a.Inner", BaseNSPerCall: 400, HeadNSPerCall: 600, ChangePercent: new(50.0)}, &usd, 0.2},
		"more calls":        {evidence.Verdict{Kind: evidence.MoreCalls, FullName: "a.Inner", Caller: "a.Outer", ChangePercent: new(50.0)}, nil, 0.2},
		"the whole service": {evidence.Verdict{Kind: evidence.WholeService, ChangePercent: new(25.0)}, nil, 0.2},
	} {
		got := s.impact(&tc.verdict, tc.usd, nil)
		if math.Abs(got.Share-tc.share) > 1e-9 || got.HeadProcesses != 2 || got.USDPerDay != tc.usd {
			t.Errorf("%s: %+v, want the share %v and the dollars of the alert", name, got, tc.share)
		}
	}
	if got := s.impact(&evidence.Verdict{Kind: evidence.WholeService, ChangePercent: new(25.0)}, nil, nil); alert.SeverityOf(got) != alert.Critical {
		t.Errorf("without prices: %+v", got)
	}
}

// With ThresholdRule, more clusters than time buckets mean several processes.
func TestImpact_ThresholdRule(t *testing.T) {
	begin := time.Date(2026, 3, 10, 9, 0, 0, 0, time.UTC)
	d := Deployment{First: begin, Last: begin.Add(30 * time.Minute)}
	p := Pair{Base: d, Head: d}
	for clusters, want := range map[int64]int{30: 1, 32: 1, 60: 2, 300: 10} {
		l := thresholdMethod{Verdict: evidence.Verdict{Metric: "cpu", BaseNSPerCall: 100, HeadNSPerCall: 150}, head: &query.Profile{Sums: query.Sums{N: 10, SelfX: 1500, Clusters: clusters}}}
		other := thresholdMethod{Verdict: evidence.Verdict{Metric: "cpu"}, head: &query.Profile{Sums: query.Sums{SelfX: 500}}}
		m := measured{metric: query.CPU, lines: []thresholdMethod{l, other, {}}}
		j := threshold{methods: m.lines, headOwn: map[query.Metric]float64{query.CPU: m.headOwn()}}
		got := j.impactOf(&l, p, nil)
		if got.HeadProcesses != want || got.Share != 0.25 {
			t.Errorf("%d clusters in 30 slots: %+v, want %d processes and the share 0.25", clusters, got, want)
		}
	}
}
