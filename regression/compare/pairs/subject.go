package pairs

import (
	"fmt"
	"time"

	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/query"
)

// preparedPair is the data of one comparison in one metric, ready for an evaluation.
type preparedPair struct {
	deployment *evidence.Deployment
	plan       comparisonPlan
	metric     query.Metric
	names      []query.Cell              // class, method and signature of each method
	measured   []float64                 // measured calls of each method in the metric, compared or not
	records    [][2]float64              // the same by version
	timed      [][2]float64              // calls of each method that were timed in any metric
	day        func() (*cost.Day, error) // cost of a day of the head version
	processes  [2]int
	silent     [2]int // processes without a measured call in the metric
	ageUnknown [2]int // further processes, which a comparison by age leaves out
	runs       bool   // processes are short runs, which are compared run by run
	uncounted  int    // number of methods with measured calls but no weights
}

// few reports whether both versions have fewer than fewProcesses processes.
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

// started returns the time from which the warm-up of a process counts; zero if it ran before from.
func started(p query.Process, from time.Time, bucket time.Duration) time.Time {
	switch {
	case !p.Start.IsZero():
		return p.Start
	case p.First.Sub(from) > bucket:
		return p.First // it appeared within the window
	}
	return time.Time{}
}
