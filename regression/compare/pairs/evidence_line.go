package pairs

import (
	"math"

	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/query"
)

func lineOf(v evidence.Verdict, metric query.Metric) Line {
	l := Line{
		State: v.State, Basis: string(v.Basis), Metric: metric, Reason: v.Reason, Warnings: v.Warnings, Trace: v.Trace,
		BaseNSPerCall: v.BaseMean, HeadNSPerCall: v.HeadMean,
		BaseRecords: int64(v.BaseRecords), HeadRecords: int64(v.HeadRecords),
	}
	if !v.State.Judged() {
		return l
	}
	change, mix := 100*v.Change, 100*v.Mix
	l.ChangePercent, l.MixPercent = &change, &mix
	l.Interval = &[2]float64{100 * v.Interval[0], 100 * v.Interval[1]}
	if e := v.EValue; !math.IsInf(e, 0) && !math.IsNaN(e) {
		l.EValue = &e
		l.NeededEValue = &v.NeededE
	}
	l.OnlyLook = v.LastEvaluation
	l.Measured, l.Inclusive = partOf(v.Measured), partOf(v.Inclusive)
	l.CommonReason = v.CommonReason
	if v.Common != nil {
		l.Common = partOf(*v.Common)
	}
	if v.Remaining != nil {
		l.Remaining = partOf(*v.Remaining)
	}
	if seen := 100 * v.Seen90; !math.IsInf(seen, 0) && !math.IsNaN(seen) {
		l.Seen90Percent = &seen
	}
	l.PowerAt10 = &v.PowerAt10
	return l
}

// partOf turns shares into percent.
func partOf(p evidence.Part) *Part {
	return &Part{Percent: 100 * p.Change, Interval: [2]float64{100 * p.Interval[0], 100 * p.Interval[1]}}
}

func (s *subject) line(m int, v evidence.Verdict) Line {
	l := lineOf(v, s.metric)
	l.NotCompared = max(0, int64(s.measured[m])-l.BaseRecords-l.HeadRecords)
	if l.BaseRecords+l.HeadRecords == 0 && !l.State.Judged() {
		l.State = evidence.FewRecords // called, and never measured in this metric
	}
	l.Class, l.Method, l.Signature, l.full = s.names[m].Class, s.names[m].Method, s.names[m].Signature, v.Method
	return l
}
