package judge

import "time"

// Memory is what a look must know of the one before: how many looks in a row
// raised what. It is a value that can be stored as JSON between looks; the zero
// value is a deployment that was never looked at. Evidence is not in it: every
// look makes it anew from all cells.
type Memory struct {
	// Seen is the end of the last slot of the look before.
	Seen time.Time `json:"seen"`
	// InARow counts the looks, by what they raised: a method, "caller -> method",
	// or "" for the whole service.
	InARow map[string]int `json:"in_a_row"`
}

// next counts a look that raised some keys. A look at no more slots than the one
// before is the same look again.
func (m Memory) next(seen time.Time, raised []string) Memory {
	again := !seen.After(m.Seen)
	n := Memory{Seen: seen, InARow: make(map[string]int, len(raised))}
	for _, key := range raised {
		n.InARow[key] = m.InARow[key] + 1
		if again && m.InARow[key] > 0 {
			n.InARow[key] = m.InARow[key]
		}
	}
	return n
}
