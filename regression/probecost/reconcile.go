package probecost

import "math"

// Estimate is the self cost of one method in ns. Variance is the sampling variance, Errors the uncertainty of
// the cost of probes.
type Estimate struct {
	Value    float64
	Variance float64
	Errors   Errors
}

// Reconcile reduces estimates so that their sum is at most limit: methods cannot cost more than the CPU time of
// their processes. Each moves in proportion to its part of the uncertainty of the sum, as in constrained least
// squares, but no positive estimate becomes negative. If no uncertainty is known, all shrink by the same factor.
// Reconcile reports whether it changed any estimate.
func Reconcile(all []Estimate, limit float64) bool {
	fixed := make([]bool, len(all)) // set to zero
	changed := false
	for range all {
		var sum float64
		var errors Errors
		for i := range all {
			sum += all[i].Value
			if !fixed[i] {
				errors = errors.Add(all[i].Errors)
			}
		}
		excess := sum - limit
		if !(excess > 1e-9*math.Abs(limit)) {
			return changed
		}
		shares, total := sharesOf(all, fixed, errors)
		if !(total > 0) {
			return changed
		}
		again := false
		for i := range all {
			if fixed[i] || shares[i] == 0 {
				continue
			}
			moved := all[i].Value - excess*shares[i]/total
			if moved < 0 && all[i].Value >= 0 {
				again = true
			}
		}
		for i := range all {
			if fixed[i] || shares[i] == 0 {
				continue
			}
			moved := all[i].Value - excess*shares[i]/total
			switch {
			case !again:
				all[i].Value, changed = moved, true
			case moved < 0 && all[i].Value >= 0: // the others absorb the excess in the next round
				all[i].Value, fixed[i], changed = 0, true, true
			}
		}
		if !again {
			return changed
		}
	}
	return changed
}

// sharesOf returns the part of each estimate that is not fixed in the uncertainty of the sum, and the total of the
// parts. If no uncertainty is known the parts are the positive values; the total is 0 if there are none.
func sharesOf(all []Estimate, fixed []bool, errors Errors) (shares []float64, total float64) {
	shares = make([]float64, len(all))
	values := 0.0
	for i := range all {
		if fixed[i] {
			continue
		}
		shares[i] = max(0, all[i].Variance+all[i].Errors.covariance(errors))
		total += shares[i]
		values += max(0, all[i].Value)
	}
	if total > 0 || !(values > 0) {
		return shares, total
	}
	for i := range all {
		if !fixed[i] {
			shares[i] = max(0, all[i].Value)
		}
	}
	return shares, values
}
