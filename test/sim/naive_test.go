//go:build !race

package sim

import (
	"math"
	"testing"
)

// The naive methods have hundreds of false alarms per 1,000. If they had few, the model would lack the
// effects that make detection hard.
func TestNaiveMethods_RaiseFalseAlarms(t *testing.T) {
	scores := Count(Plan{Methods: 300, Samples: true}, 11, 2, Naive(), nil)
	atLeast := []float64{400, 250, 70, 5, 50, 50}
	for i, s := range scores {
		if s.Unchanged != 600 {
			t.Errorf("%s: %d unchanged methods, want 600", s.Name, s.Unchanged)
		}
		if s.FalsePer1000() < atLeast[i] {
			t.Errorf("%s: %.0f false alarms per 1000, expected at least %.0f", s.Name, s.FalsePer1000(), atLeast[i])
		}
	}
}

func TestCount_Power(t *testing.T) {
	plan := Plan{Methods: 200, Changed: 1, Effects: []float64{0.5}}
	s := Count(plan, 12, 1, []Kind{{"all", func() Detector { return atLook{4} }}}, nil)[0]
	if s.Unchanged != 0 || len(s.Power[0.5]) != len(Buckets) {
		t.Fatalf("score %+v", s)
	}
	for b, p := range s.Power[0.5] {
		if p.Methods < 20 || p.Found != p.Methods || p.MedianMinutes() != 20 {
			t.Errorf("bucket %v: %+v", Buckets[b], p)
		}
	}
	if top := s.Power[0.5][3]; top.Due != top.Methods || top.OnTime != top.Due {
		t.Errorf("30k records are due in the third look and were found in the fourth: %+v", top)
	}
	never := Count(plan, 12, 1, []Kind{{"none", func() Detector { return atLook{99} }}}, nil)[0]
	if p := never.Power[0.5][3]; p.Found != 0 || p.OnTime != 0 || !math.IsInf(p.MedianMinutes(), 1) {
		t.Errorf("nothing was raised, counted %+v", p)
	}
}

// atLook reports every method at evaluation number look.
type atLook struct{ look int }

func (a atLook) Look(d *Deployment, buckets int) []int {
	if buckets != a.look {
		return nil
	}
	all := make([]int, len(d.Truth))
	for m := range all {
		all[m] = m
	}
	return all
}
