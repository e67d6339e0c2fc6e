package main

import (
	"math"
	"slices"
)

// students are the 0.975 quantiles of Student's t by degrees of freedom, from 1.
var students = [...]float64{
	12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
	2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
	2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
}

// meanWithin returns the mean and half of its 95% interval, for 2 to 31 values.
func meanWithin(xs []float64) (mean, half float64) {
	n := float64(len(xs))
	for _, x := range xs {
		mean += x / n
	}
	squares := 0.0
	for _, x := range xs {
		squares += (x - mean) * (x - mean)
	}
	return mean, students[len(xs)-2] * math.Sqrt(squares/(n-1)/n)
}

// quantile interpolates between the two nearest values.
func quantile(xs []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(xs))
	at := q * float64(len(sorted)-1)
	below := int(at)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (at-float64(below))*(sorted[above]-sorted[below])
}

func median(xs []float64) float64 { return quantile(xs, 0.5) }

// medianWithin returns the median and half of its 95% interval, which lies
// between two of the sorted values whatever their distribution.
func medianWithin(xs []float64) (middle, half float64) {
	off := 0.98 / math.Sqrt(float64(len(xs))) // 1.96 standard errors of a share of one half
	return median(xs), (quantile(xs, min(1, 0.5+off)) - quantile(xs, max(0, 0.5-off))) / 2
}
