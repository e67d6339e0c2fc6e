package judge

import (
	"math"
	"time"
)

const (
	// leastStarts is the number of starting instances a warm-up is learned from.
	leastStarts = 8
	// warmEnough is how much dearer than later a started instance may be.
	warmEnough = 0.02
)

// LearnWarmUp finds from a deployment that has run for how long its instances
// were dearer after their start than later, in whole slots: as long as all methods
// together (the common mode) are more than 2% above what they are after most, or
// more than 0.5% where that is beyond three standard errors. At least one slot; false if fewer than 8 instances were
// seen to start and to run on.
func LearnWarmUp(d *Deployment, most time.Duration) (time.Duration, bool, error) {
	x, err := newIndex(d, Options{})
	if err != nil || d.Slots == 0 {
		return 0, false, err
	}
	common := commonMode(x, newStandard(x), nil)
	ages := int((most + d.Slot - 1) / d.Slot)
	differences := make([][]float64, ages)
	for i, in := range d.Instances {
		if in.Started.IsZero() || in.Started.Before(d.Begin) {
			continue
		}
		first := int((in.Started.Sub(d.Begin) + d.Slot - 1) / d.Slot)
		later, n := 0.0, 0.0
		for s := first + ages; s < d.Slots; s++ {
			later += common[i*d.Slots+s]
			n++
		}
		if n == 0 {
			continue
		}
		for age := range ages {
			differences[age] = append(differences[age], common[i*d.Slots+first+age]-later/n)
		}
	}
	if ages == 0 || len(differences[0]) < leastStarts {
		return 0, false, nil
	}
	for age := ages - 1; age > 0; age-- {
		var sum, squares float64
		n := float64(len(differences[age]))
		for _, y := range differences[age] {
			sum += y
			squares += y * y
		}
		mean := sum / n
		if se := math.Sqrt((squares/n - mean*mean) / (n - 1)); mean > warmEnough || mean > 3*se && mean > warmEnough/4 {
			return time.Duration(age+1) * d.Slot, true, nil
		}
	}
	return d.Slot, true, nil
}
