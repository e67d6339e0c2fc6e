package adaptivesampler

import (
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// meter is what the scorecard needs of records beyond their sums: how many
// reach the inclusive threshold, and how much of a method's time is its callees'.
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

// side returns the quantity that is metered.
func (m *meter) side(s *methodSums) *decide.WeightedSums {
	if m.cpu {
		return &s.cpu
	}
	return &s.wall
}

// heavy returns the part of a span's calls that reach the threshold. That of an aggregate
// is read from its histogram; without one all its calls count as equal to their mean.
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

// charge gives the caller what a record of another method of its group took.
// Callers are found once they have been met themselves.
func (g *group) charge(caller string, self *method, took float64) {
	if took <= 0 || caller == "" || caller == methodspan.CallerEntry {
		return
	}
	if by, ok := g.callers[caller]; ok && by != self {
		by.mu.Lock()
		by.now.callees += took
		by.mu.Unlock()
	}
}
