package pairs

import (
	"fmt"
	"time"

	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/query"
)

// preparedPair is one comparison by one metric made ready to be judged.
type preparedPair struct {
	deployment *evidence.Deployment
	plan       comparisonPlan
	metric     query.Metric
	names      []query.Cell              // of each method: class, method and signature
	measured   []float64                 // calls of each method in the metric, compared or not
	records    [][2]float64              // of these, by version
	timed      [][2]float64              // calls of each method that were timed in any way
	day        func() (*cost.Day, error) // of the head version
	processes  [2]int
	silent     [2]int // of these, measured nothing in the metric
	ageUnknown [2]int // in addition to these, left out of a comparison by age
	runs       bool   // processes live for a run and are compared run by run
	uncounted  int    // methods with measured calls and no weight of any
}

// few reports whether neither version has enough processes.
func (s *preparedPair) few() bool {
	return max(s.processes[evidence.Base], s.processes[evidence.Head]) < fewProcesses
}

func priced(prepared []*preparedPair, day func() (*cost.Day, error)) {
	for _, s := range prepared {
		s.day = day
	}
}

func (s *preparedPair) describe() string {
	processes := "processes"
	if s.runs {
		processes = "runs of processes that live for few time buckets"
	}
	return fmt.Sprintf("%s; %d and %d %s, %d time buckets of %s", s.plan.how(),
		s.processes[evidence.Base]-s.silent[evidence.Base], s.processes[evidence.Head]-s.silent[evidence.Head], processes, s.deployment.Buckets, s.plan.grid.TimeBucket)
}

// started is from when a process counts as running, for its warm-up.
func started(p query.Process, from time.Time, bucket time.Duration) time.Time {
	switch {
	case !p.Start.IsZero():
		return p.Start
	case p.First.Sub(from) > bucket:
		return p.First // it came while we were looking
	}
	return time.Time{}
}
