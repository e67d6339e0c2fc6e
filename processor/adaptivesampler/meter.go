package adaptivesampler

import (
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// meter provides the input of the scorecard beyond the sums: the number of calls that reach the inclusive threshold.
type meter struct {
	cpu       bool
	threshold float64 // ns
}

// meterOf returns nil if there is no scorecard.
func meterOf(c *decide.ScorecardConfig) *meter {
	if !c.Enabled {
		return nil
	}
	return &meter{cpu: c.Meter == decide.MeterCPU, threshold: float64(c.Inclusive.Threshold)}
}

// heavy returns the fraction of a span's calls that reach the threshold. For an aggregate it comes from the
// histogram. Without a histogram all calls of the aggregate count as mean.
func (m *meter) heavy(s *measurement, mean float64) float64 {
	if s.kind() == methodspan.KindAggregate {
		bins, counts := methodspan.FieldWallBins, methodspan.FieldWallCounts
		if m.cpu {
			bins, counts = methodspan.FieldCPUBins, methodspan.FieldCPUCounts
		}
		if h, ok := s.Histogram(bins, counts); ok && h.Total() > 0 {
			return h.From(m.threshold) / h.Total()
		}
	}
	if mean >= m.threshold {
		return 1
	}
	return 0
}

// charge adds the weighted times of a record of method self to the callee times of its caller. It does nothing if
// the caller is in another group or was not seen yet.
func (g *group) charge(caller string, self *method, wall, cpu float64) {
	if wall <= 0 && cpu <= 0 || caller == "" || caller == methodspan.CallerEntry {
		return
	}
	if by, ok := g.callers[caller]; ok && by != self {
		by.mu.Lock()
		by.now.calleeWall += wall
		by.now.calleeCPU += cpu
		by.mu.Unlock()
	}
}
