package pairs

import (
	"context"
	"slices"
	"time"

	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/probecost"
	"github.com/corehour/corehour/regression/query"
)

// unsettled reports whether most processes of the head never settle.
func (s *preparedPair) unsettled(w evidence.WarmUp) bool {
	if s.runs {
		return false
	}
	known := 0
	for _, in := range s.deployment.Instances {
		if in.Side == evidence.Head && !in.Started.IsZero() {
			known++
		}
	}
	return 2*w.Unsettled[evidence.Head] > known
}

// assembleByAge reads a comparison of processes of the same age. It returns nil if the versions have too little data at
// the same age.
func assembleByAge(ctx context.Context, w *query.Warehouse, p Pair, o Options, costs probecost.Table) ([]*preparedPair, error) {
	o.byAge = true
	prepared, err := assembleAll(ctx, w, p, o, costs)
	if err != nil {
		return nil, err
	}
	if s := prepared[0]; min(s.processes[evidence.Base], s.processes[evidence.Head]) == 0 || s.deployment.Buckets < minOverlap {
		return nil, nil
	}
	return prepared, nil
}

// planByAge selects all rows of the head, and those of the base in the earlierDays before the head's end.
func planByAge(p Pair, o Options) comparisonPlan {
	head := query.Window{From: p.Head.First, To: p.Head.Last}
	return comparisonPlan{
		evidence.Sequential, query.Grid{Begin: p.Head.First, TimeBucket: bucketOf(head.To.Sub(head.From), p, o), ByAge: true},
		query.Window{From: later(p.Base.First, head.To.Add(-earlierDays*day)), To: p.Base.Last}, head,
	}
}

// ofKnownAge returns the processes that were observed from their start and adjusts the plan to them: bucket 0
// begins with the head's oldest process. The versions count as running at different hours, unless the start times
// of their processes overlap.
func (s *preparedPair) ofKnownAge(processes []query.Process) []query.Process {
	p := &s.plan
	var oldest, youngest [2]time.Time
	left := slices.DeleteFunc(slices.Clone(processes), func(r query.Process) bool {
		side, from := sideOf(r.Side), p.base.From
		if side == evidence.Head {
			from = p.head.From
		}
		if r.Start.IsZero() || r.Start.Before(from.Add(-max(p.grid.TimeBucket, time.Minute))) {
			s.ageUnknown[side]++
			return true
		}
		if oldest[side].IsZero() || r.Start.Before(oldest[side]) {
			oldest[side] = r.Start
		}
		youngest[side] = later(youngest[side], r.Start)
		return false
	})
	if oldest[evidence.Base].IsZero() || oldest[evidence.Head].IsZero() {
		return left
	}
	p.grid.Begin = oldest[evidence.Head]
	p.base.To = sooner(youngest[evidence.Base].Add(p.head.To.Sub(p.grid.Begin)), p.base.To)
	if !youngest[evidence.Base].Before(oldest[evidence.Head]) && !youngest[evidence.Head].Before(oldest[evidence.Base]) {
		p.overlap = evidence.Concurrent
	}
	return left
}
