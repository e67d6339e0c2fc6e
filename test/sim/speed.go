package sim

import (
	"time"

	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/drift"
)

// JudgeSeconds returns the duration of one evaluation of a whole deployment, the minimum of three runs.
func JudgeSeconds(d *Deployment) (float64, error) {
	return least(func() error {
		_, _, err := evidence.Evaluate(&d.Deployment, evidence.Defaults(), evidence.Memory{})
		return err
	})
}

// DriftSeconds returns the duration of one evaluation of a history, the minimum of three runs.
func DriftSeconds(h *History) (float64, error) {
	return least(func() error {
		_, err := drift.Evaluate(&h.History)
		return err
	})
}

func least(work func() error) (float64, error) {
	best := 0.0
	for i := range 3 {
		begin := time.Now()
		if err := work(); err != nil {
			return 0, err
		}
		if s := time.Since(begin).Seconds(); i == 0 || s < best {
			best = s
		}
	}
	return best, nil
}
