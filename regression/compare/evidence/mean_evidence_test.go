package evidence

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/corehour/corehour/regression/stats"
)

// A weighted mean of two e-values is an e-value: its expected value under the null hypothesis is at most 1. The more
// precise statistic decides, and the other still counts.
func TestMeanEvidence(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	variances := [statistics]float64{cost: 4e-4, level: 1e-4}
	const draws = 100_000
	sum := 0.0
	for range draws {
		shared := r.NormFloat64()
		var logs [statistics]float64
		for s, v := range variances {
			logs[s] = stats.LogE(math.Sqrt(v)*(0.8*shared+0.6*r.NormFloat64()), v, 0, scales)
		}
		sum += math.Exp(meanEvidence(logs, variances))
	}
	if mean := sum / draws; mean > 1.05 {
		t.Errorf("e-values are %.3f on average where nothing changed", mean)
	}
	for _, c := range []struct {
		logs, variances [statistics]float64
		want            float64
	}{
		{[statistics]float64{0, math.Log(1000)}, [statistics]float64{1, 1}, 500.5},
		{[statistics]float64{0, math.Log(1000)}, [statistics]float64{2, 1}, 800.2},
		{[statistics]float64{math.Log(1000), 0}, [statistics]float64{100, 1}, 100.9},
		{[statistics]float64{math.Log(1000), 0}, [statistics]float64{1, 0}, 500.5}, // only one variance is known
	} {
		if got := math.Exp(meanEvidence(c.logs, c.variances)); math.Abs(got-c.want) > 0.1 {
			t.Errorf("%v %v: %v, want %v", c.logs, c.variances, got, c.want)
		}
	}
}
