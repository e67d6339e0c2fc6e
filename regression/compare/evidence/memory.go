package evidence

import "time"

// Memory is passed from one evaluation to the next: it counts how many consecutive evaluations raised each method.
// It can be stored as JSON; the zero value is that of a deployment without evaluations. It contains no evidence,
// because every evaluation computes it from all cells.
type Memory struct {
	// Seen is the end of the last bucket of the previous evaluation.
	Seen time.Time `json:"seen"`
	// InARow counts consecutive evaluations by caller and method. The caller is "" for costs; both are "" for the whole
	// service.
	InARow map[string]map[string]int `json:"in_a_row"`
}

// alertKey identifies a raised method, pair or service. It keeps both names apart, as a method's name can contain "
// -> ".
type alertKey struct{ caller, method string }

func (m Memory) count(s alertKey) int { return m.InARow[s.caller][s.method] }

// next returns the Memory after an evaluation that raised some keys. An evaluation without new buckets is a repetition
// of the previous one and does not count.
func (m Memory) next(seen time.Time, raised []alertKey) Memory {
	again := !seen.After(m.Seen)
	n := Memory{Seen: seen, InARow: map[string]map[string]int{}}
	for _, s := range raised {
		looks := m.count(s)
		if !again || looks == 0 {
			looks++
		}
		if n.InARow[s.caller] == nil {
			n.InARow[s.caller] = map[string]int{}
		}
		n.InARow[s.caller][s.method] = looks
	}
	return n
}
