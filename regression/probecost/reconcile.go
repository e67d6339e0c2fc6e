package probecost

import "math"

// Estimate is the self cost of one method in ns: what chance may have made of it (the
// variance of sampling) and what is not known of probes.
type Estimate struct {
	Value    float64
	Variance float64
	Errors   Errors
}

// Reconcile makes estimates add up to at most a limit: methods cannot cost more than the
// CPU time of their processes. It moves each by its part in the uncertainty of the sum, as
// least squares under a condition do, but none of those above zero below it. It reports
// whether it changed any. Where no uncertainty is known, all shrink alike.
func Reconcile(all []Estimate, limit float64) bool {
	fixed := make([]bool, len(all)) // at zero
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
			case moved < 0 && all[i].Value >= 0: // the others take the rest in the next round
				all[i].Value, fixed[i], changed = 0, true, true
			}
		}
		if !again {
			return changed
		}
	}
	return changed
}

// sharesOf are the parts that those that are not fixed have in the uncertainty of the sum, and their sum.
// Where no uncertainty is known they are what each costs; their sum is 0 where nothing costs anything.
func sharesOf(all []Estimate, fixed []bool, errors Errors) (shares []float64, total float64) {
	shares = make([]float64, len(all))
	values := 0.0
	for i := range all {
		if fixed[i] {
			continue
		}
		shares[i] = max(0, all[i].Variance+all[i].Errors.With(errors))
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
