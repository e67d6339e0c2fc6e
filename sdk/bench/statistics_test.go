package main

import (
	"math"
	"testing"
)

func TestStatistics(t *testing.T) {
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > 1e-3 {
			t.Errorf("%s = %v, want %v", what, got, want)
		}
	}
	mean, half := meanWithin([]float64{3, 1, 2})
	near("mean", mean, 2)
	near("half of its interval", half, 4.303/math.Sqrt(3)) // deviation 1, two degrees of freedom
	near("lower quartile", quantile([]float64{4, 1, 3, 2}, 0.25), 1.75)
	near("median of an even number", median([]float64{4, 1, 3, 2}), 2.5)
	hundred := make([]float64, 101)
	for i := range hundred {
		hundred[i] = float64(i)
	}
	middle, half := medianWithin(hundred)
	near("median", middle, 50)
	near("half of its interval", half, 98/math.Sqrt(101))
	middle, half = medianWithin([]float64{7, 5}) // too few for an interval within them
	near("median of two", middle, 6)
	near("half of all there is", half, 1)
}
