package evidence

import "time"

// Memory is what an evaluation must know of the one before: how many looks in a row
// raised what. It is a value that can be stored as JSON between evaluations; the zero
// value is a deployment that was never looked at. Evidence is not in it: every
// evaluation makes it again from all cells.
type Memory struct {
	// Seen is the end of the last bucket of the evaluation before.
	Seen time.Time `json:"seen"`
	// InARow counts the evaluations by what they raised: by caller and method for calls, by
	// "" and the method for costs, by "" and "" for the whole service.
	InARow map[string]map[string]int `json:"in_a_row"`
}

// alertKey is what an evaluation raises. A method whose name reads like a pair is none.
type alertKey struct{ caller, method string }

func (m Memory) count(s alertKey) int { return m.InARow[s.caller][s.method] }

// next counts an evaluation that raised some keys. An evaluation at no more buckets than the one
// before is the same evaluation again.
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
