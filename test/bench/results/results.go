// Package results contains the table that a benchmark or simulation of this module prints as JSON. test/figures/show,
// which is in another module, prints it for people.
package results

import (
	"encoding/json"
	"io"
)

// Table is a set of figures.
type Table struct {
	Name    string   `json:"name"`
	Results []Figure `json:"results"`
}

// Figure is one line of a Table. If there is a peer, the goal is for the ratio.
type Figure struct {
	Name      string   `json:"name"`
	Value     float64  `json:"value"`
	Unit      string   `json:"unit"`
	Better    string   `json:"better"`
	Goal      *float64 `json:"goal,omitempty"`
	Peer      string   `json:"peer,omitempty"`
	PeerValue *float64 `json:"peer_value,omitempty"`
	Ratio     *float64 `json:"ratio,omitempty"` // set if it is not the ratio of the two values
}

// Lower returns a figure for which lower is better, with an optional goal.
func Lower(name string, value float64, unit string, goal ...float64) Figure {
	return Figure{Name: name, Value: value, Unit: unit, Better: "lower"}.WithGoal(goal...)
}

// Higher returns a figure for which higher is better, with an optional goal.
func Higher(name string, value float64, unit string, goal ...float64) Figure {
	return Figure{Name: name, Value: value, Unit: unit, Better: "higher"}.WithGoal(goal...)
}

// WithGoal returns the figure with a goal, or unchanged without one.
func (f Figure) WithGoal(goal ...float64) Figure {
	if len(goal) > 0 {
		f.Goal = &goal[0]
	}
	return f
}

// Print writes a table as JSON.
func Print(to io.Writer, name string, results []Figure) error {
	return json.NewEncoder(to).Encode(Table{name, results})
}
