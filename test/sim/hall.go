package sim

import "github.com/corehour/corehour/regression/stats"

// hall returns the mean of a sample and its Hall interval.
func hall(sample []float64, level float64) (stats.Estimate, stats.Interval) {
	return skewed(sample, level, 0)
}

// skewed returns the mean of a sample and its interval, for a mean of at least the given skewness.
func skewed(sample []float64, level, skewness float64) (stats.Estimate, stats.Interval) {
	n, total := float64(len(sample)), 0.0
	for _, x := range sample {
		total += x
	}
	r := stats.Residuals{Count: int64(len(sample))}
	for _, x := range sample {
		d := x - total/n
		r.Squares += d * d
		r.Cubes += d * d * d
	}
	e, interval, _ := r.SkewedInterval(total, level, skewness)
	return stats.Estimate{Value: e.Value / n, SE: e.SE / n, DF: e.DF}, stats.Interval{Low: interval.Low / n, High: interval.High / n}
}
