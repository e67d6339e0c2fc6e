package drift

import "fmt"

// Day holds the sums over the measured calls of one method from one caller on one UTC date. One GROUP BY over the
// daily rollup returns these rows.
type Day struct {
	Method int32 // index into History.Methods
	Caller int32 // index into History.Callers
	Day    int32 // 0 is the first date of the history

	// Records is the number of measured calls.
	Records float64
	// Weight is SUM(w * measured), the number of calls that the records represent.
	Weight float64
	// Capped is SUM(w * LEAST(x, cap)) in ns. cap is the 99.5% quantile of x for this method and caller over the
	// whole history, the same on all days.
	Capped float64
	// Log is SUM(w * LN(x)).
	Log float64
}

// History is the input of an evaluation. It evaluates the last 56 days. The 56 days before show whether a low level
// at the beginning of the window is a temporary dip.
type History struct {
	Methods []string
	Callers []string
	Days    int // closed days; rows of later days are ignored
	Rows    []Day
	// Linear marks methods whose values can be 0 or below; nil marks none. They are compared by differences, and
	// Log holds SUM(w * x), as Capped does.
	Linear []bool
}

func (h *History) validate() error {
	if h.Days < 0 {
		return fmt.Errorf("history: Days must be at least 0, found %d", h.Days)
	}
	if h.Linear != nil && len(h.Linear) != len(h.Methods) {
		return fmt.Errorf("history: Linear must have one value for each of %d methods, found %d", len(h.Methods), len(h.Linear))
	}
	for i, r := range h.Rows {
		if int(r.Method) >= len(h.Methods) || int(r.Caller) >= len(h.Callers) || min(r.Method, r.Caller, r.Day) < 0 {
			return fmt.Errorf("history: row %d points outside of the lists: %+v", i, r)
		}
		if sum := r.Records + r.Weight + r.Capped + r.Log; sum-sum != 0 {
			return fmt.Errorf("history: row %d must hold finite sums, found %+v", i, r)
		}
	}
	return nil
}
