package sim

import (
	"fmt"
	"math"
)

// Figure is one line of a table, in the JSON format of test/figures/show.
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

// Lower adds a figure for which lower is better. A NaN goal means no goal.
func (t *Table) Lower(name string, value float64, unit string, goal float64) {
	t.addFigure(Figure{Name: name, Value: value, Unit: unit, Better: "lower"}, goal)
}

// Higher adds a figure for which higher is better. A NaN goal means no goal.
func (t *Table) Higher(name string, value float64, unit string, goal float64) {
	t.addFigure(Figure{Name: name, Value: value, Unit: unit, Better: "higher"}, goal)
}

// None is the goal of a figure that is reported without a check.
var None = math.NaN()

func (t *Table) addFigure(f Figure, goal float64) {
	if math.IsInf(f.Value, 0) || math.IsNaN(f.Value) {
		return // nothing was found; the previous figure shows that
	}
	if !math.IsNaN(goal) {
		f.Goal = &goal
	}
	t.Results = append(t.Results, f)
}

// FalseAlarms adds the false alarms of each detection method.
func (t *Table) FalseAlarms(scores []Score, goal float64) {
	for _, s := range scores {
		name := fmt.Sprintf("false alarms, %s (%d of %d)", s.Name, s.False, s.Unchanged)
		t.Lower(name, s.FalsePer1000(), "per 1000 methods and deployment", goal)
	}
}

// powerGoals are goals in percent, by effect and by the lower end of a class of records.
var powerGoals = map[float64]map[float64]float64{
	0.05: {30_000: 55},
	0.10: {3_000: 75, 30_000: 95},
	0.50: {300: 95, 3_000: 95, 30_000: 95},
}

// Powers adds the power by effect and class of records, and the time until detection.
func (t *Table) Powers(s Score, effects []float64) {
	for _, effect := range effects {
		buckets := s.Power[effect]
		if buckets == nil {
			continue
		}
		var above Power // at least 300 records
		for b, p := range buckets {
			if b > 0 {
				above.merge(p)
			}
			goal, ok := powerGoals[effect][Buckets[b]]
			if !ok {
				goal = None
			}
			if p.Methods > 0 {
				name := fmt.Sprintf("%+.0f%% found, %s records (%d of %d)", 100*effect, bucketName(b), p.Found, p.Methods)
				t.Higher(name, 100*float64(p.Found)/float64(p.Methods), "%", goal)
			}
		}
		if effect != 0.5 {
			continue
		}
		t.Lower("+50% from 300 records, median time", above.MedianMinutes(), "minutes", 20)
		t.Higher(fmt.Sprintf("+50%%, within 10 minutes of 300 records (%d of %d)", above.OnTime, above.Due), 100*float64(above.OnTime)/float64(max(1, above.Due)), "%", 95)
	}
}

func bucketName(b int) string {
	if b == len(Buckets)-1 {
		return fmt.Sprintf("above %.0f", Buckets[b])
	}
	return fmt.Sprintf("%.0f to %.0f", Buckets[b], Buckets[b+1])
}
