package drift

import "math"

const (
	leastPlaces   = 28 // with fewer positions, slow noise resembles two groups
	togetherEvery = 3  // days between the positions tried
	togetherSure  = 12 // log likelihood that two levels must gain over one
	togetherSteps = 12
)

// commonStep is a step of the same size that several series make on the same day. In a single series the step can
// be too small to distinguish from chance; over all series it is not.
type commonStep struct {
	place       int
	share       float64 // share of the series that make the step
	stay, moved float64 // mean contrasts of the series that stayed and of those that moved
	found       bool
}

// findCommonStep fits two groups to the contrasts at each position. The model is a mixture of two normal
// distributions in which each series has its own error, fitted by expectation maximisation. The larger group is
// the one that stayed.
func findCommonStep(scans []moveScan) (best commonStep) {
	places, series := 0, 0
	for m := range scans {
		places = max(places, len(scans[m].contrasts))
	}
	for m := range scans {
		if scans[m].complete(places) {
			series++
		}
	}
	if series < 2*commonMethods || places < leastPlaces {
		return best
	}
	d, error2 := make([]float64, 0, series), make([]float64, 0, series)
	most := float64(togetherSure)
	for k := togetherEvery / 2; k < places; k += togetherEvery {
		d, error2 = d[:0], error2[:0]
		for m := range scans {
			if s := &scans[m]; s.complete(places) {
				d, error2 = append(d, s.contrasts[k]), append(error2, s.long/(s.roots[k]*s.roots[k]))
			}
		}
		single := oneGroup(d, error2)
		for _, sign := range [...]float64{1, -1} {
			t, gain := twoGroups(d, error2, single, sign)
			if gain > most {
				most, best = gain, t
				best.place, best.found = k, true
			}
		}
	}
	return best
}

// complete reports whether the series has a contrast at each of the positions.
func (s *moveScan) complete(places int) bool { return s.long > 0 && len(s.contrasts) == places }

// oneGroup returns the mean of the contrasts d.
func oneGroup(d, error2 []float64) float64 {
	sum, weights := 0.0, 0.0
	for i := range d {
		sum, weights = sum+d[i]/error2[i], weights+1/error2[i]
	}
	return sum / weights
}

// twoGroups fits two groups and returns the gain in log likelihood over one group. A contrast that fits neither
// group counts as one at a distance of four standard errors.
func twoGroups(d, error2 []float64, single, sign float64) (t commonStep, gain float64) {
	typical := 0.0
	for _, e := range error2 {
		typical += math.Sqrt(e) / float64(len(error2))
	}
	t = commonStep{share: 0.25, stay: single - sign*typical/2, moved: single + 2*sign*typical}
	const outlier = 3.35e-4 // exp(-8)
	for step := range togetherSteps {
		var moved, stays, movedWeight, stayWeight, n float64
		for i := range d {
			at := func(level float64) float64 {
				off := d[i] - level
				return math.Exp(-off*off/(2*error2[i])) + outlier
			}
			a, b := (1-t.share)*at(t.stay), t.share*at(t.moved)
			p := b / (a + b)
			n += p
			moved, movedWeight = moved+p*d[i]/error2[i], movedWeight+p/error2[i]
			stays, stayWeight = stays+(1-p)*d[i]/error2[i], stayWeight+(1-p)/error2[i]
			if step == togetherSteps-1 {
				gain += math.Log((a + b) / at(single))
			}
		}
		t.share = min(max(n/float64(len(d)), 0.02), 0.98)
		if movedWeight > 0 && stayWeight > 0 {
			t.moved, t.stay = moved/movedWeight, stays/stayWeight
		}
	}
	if t.share > 0.5 {
		t.share, t.moved, t.stay = 1-t.share, t.stay, t.moved
	}
	return t, gain
}

// odds returns the odds that the series made the step, against that it stayed.
func (t *commonStep) odds(s *moveScan) float64 {
	if !t.found || t.place >= len(s.contrasts) || !(s.long > 0) {
		return 0
	}
	error2 := s.long / (s.roots[t.place] * s.roots[t.place])
	stay, moved := s.contrasts[t.place]-t.stay, s.contrasts[t.place]-t.moved
	return t.share / (1 - t.share) * math.Exp(min(600, (stay*stay-moved*moved)/(2*error2)))
}
