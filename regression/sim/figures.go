package sim

import (
	"fmt"
	"math"
)

// Figure is one line of a table, in the form that internal/figures/show reads.
type Figure struct {
	Name   string   `json:"name"`
	Value  float64  `json:"value"`
	Unit   string   `json:"unit"`
	Better string   `json:"better"`
	Goal   *float64 `json:"goal,omitempty"`
}

// Table is a set of figures.
type Table struct {
	Name    string   `json:"name"`
	Results []Figure `json:"results"`
}

// Lower adds a figure that should be small; a NaN goal is none.
func (t *Table) Lower(name string, value float64, unit string, goal float64) {
	t.add(Figure{Name: name, Value: value, Unit: unit, Better: "lower"}, goal)
}

// Higher adds a figure that should be great; a NaN goal is none.
func (t *Table) Higher(name string, value float64, unit string, goal float64) {
	t.add(Figure{Name: name, Value: value, Unit: unit, Better: "higher"}, goal)
}

// None is the goal of a figure that is told and not judged.
var None = math.NaN()

func (t *Table) add(f Figure, goal float64) {
	if !math.IsNaN(goal) {
		f.Goal = &goal
	}
	t.Results = append(t.Results, f)
}

// FalseAlarms adds the false alarms of ways of judging.
func (t *Table) FalseAlarms(scores []Score, goal float64) {
	for _, s := range scores {
		name := fmt.Sprintf("false alarms, %s (%d of %d)", s.Name, s.False, s.Unchanged)
		t.Lower(name, s.FalsePer1000(), "per 1000 methods and deployment", goal)
	}
}
