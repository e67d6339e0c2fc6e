package stats

import (
	"math"
	"slices"
)

// Trend is the result of the Mann-Kendall test of a series.
type Trend struct {
	S        float64 // number of rising pairs minus number of falling pairs
	Variance float64 // variance of S without a trend, corrected for ties and autocorrelation
	Rho      float64 // autocorrelation at lag 1 of the residuals
	P        float64 // one-sided p-value for a rise
	Slope    float64 // per step, by Theil and Sen
	Spread   float64 // standard deviation around that slope

	free float64 // Variance without autocorrelation
	n    int
}

// MannKendall tests a series for a rise (Mann 1945, Kendall 1975, with the variance for ties). The variance is
// multiplied by the factor for first-order autocorrelation, 1 + 2 sum (1 - k/n) rho^k (Yue and Wang 2004). rho is
// estimated from the residuals of the Theil-Sen line, as a trend would count as autocorrelation.
func MannKendall(y []float64) Trend {
	n := len(y)
	t := Trend{P: 1}
	if n < 4 {
		return t
	}
	t.Slope = TheilSen(y)
	for i := range y {
		for j := i + 1; j < n; j++ {
			switch {
			case y[j] > y[i]:
				t.S++
			case y[j] < y[i]:
				t.S--
			}
		}
	}
	size := float64(n)
	t.Variance = size * (size - 1) * (2*size + 5)
	sorted := slices.Sorted(slices.Values(y))
	for i := 0; i < n; {
		j := i
		for j < n && sorted[j] == sorted[i] {
			j++
		}
		tied := float64(j - i)
		t.Variance -= tied * (tied - 1) * (2*tied + 5)
		i = j
	}
	residuals := make([]float64, n)
	for i := range y {
		residuals[i] = y[i] - t.Slope*float64(i)
	}
	t.Rho, t.Spread = Autocorrelation(residuals), deviation(residuals)
	t.free, t.n = t.Variance/18, n
	return t.With(t.Rho)
}

// With returns the test with a better estimate of the autocorrelation; a negative one counts as 0.
func (t Trend) With(rho float64) Trend {
	if t.n == 0 {
		return t
	}
	t.Variance, t.P = t.free*varianceRatio(math.Min(mostRho, math.Max(0, rho)), t.n), 1
	if t.Variance > 0 {
		t.P = upperTail((t.S - sign(t.S)) / math.Sqrt(t.Variance))
	}
	return t
}

// Negated returns the test for a fall: the test of the series with the opposite sign.
func (t Trend) Negated() Trend {
	t.S, t.Slope = -t.S, -t.Slope
	if t.Variance > 0 {
		t.P = upperTail((t.S - sign(t.S)) / math.Sqrt(t.Variance))
	}
	return t
}

func deviation(y []float64) float64 {
	m, squares := mean(y), 0.0
	for _, v := range y {
		squares += (v - m) * (v - m)
	}
	return math.Sqrt(squares / float64(len(y)))
}

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

func upperTail(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

// Autocorrelation returns the autocorrelation at lag 1.
func Autocorrelation(y []float64) float64 {
	mean := 0.0
	for _, v := range y {
		mean += v / float64(len(y))
	}
	var products, squares float64
	for i, v := range y {
		squares += (v - mean) * (v - mean)
		if i > 0 {
			products += (v - mean) * (y[i-1] - mean)
		}
	}
	if squares == 0 {
		return 0
	}
	return products / squares
}

// varianceRatio returns the variance of a mean of n autocorrelated values relative to independent values.
func varianceRatio(rho float64, n int) float64 {
	ratio, power := 1.0, 1.0
	for k := 1; k < n; k++ {
		power *= rho
		ratio += 2 * (1 - float64(k)/float64(n)) * power
	}
	return ratio
}

// TheilSen returns the median of the slopes of all pairs (Theil 1950, Sen 1968).
func TheilSen(y []float64) float64 {
	slopes := make([]float64, 0, len(y)*(len(y)-1)/2)
	for i := range y {
		for j := i + 1; j < len(y); j++ {
			slopes = append(slopes, (y[j]-y[i])/float64(j-i))
		}
	}
	return medianIn(slopes)
}

// Median returns the median of values; 0 if there are none.
func Median(values []float64) float64 { return medianIn(slices.Clone(values)) }

// medianIn returns the median and reorders values. For an even number it is the mean of the middle two.
func medianIn(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return 0
	}
	high := selectIn(values, n/2)
	if n%2 == 1 {
		return high
	}
	return (slices.Max(values[:n/2]) + high) / 2
}

// selectIn moves the k-th smallest value to position k, with smaller ones before it (Hoare 1961).
func selectIn(values []float64, k int) float64 {
	low, high := 0, len(values)-1
	for low < high {
		pivot := middle(values[low], values[(low+high)/2], values[high])
		i, j := low, high
		for i <= j {
			for values[i] < pivot {
				i++
			}
			for values[j] > pivot {
				j--
			}
			if i <= j {
				values[i], values[j] = values[j], values[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			high = j
		case k >= i:
			low = i
		default:
			return values[k]
		}
	}
	return values[k]
}
