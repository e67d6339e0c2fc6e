package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func clustersOf(n, x []float64) Clusters {
	var c Clusters
	for i := range n {
		c.Count++
		c.N += n[i]
		c.X += x[i]
		c.NN += n[i] * n[i]
		c.NX += n[i] * x[i]
		c.XX += x[i] * x[i]
	}
	return c
}

func near(t *testing.T, name string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance || math.IsNaN(got) {
		t.Errorf("%s = %v, want %v", name, got, want)
	}
}

// A worked example: residuals -0.5, 0, 0.5 around the mean 2.
func TestMean_WorkedExample(t *testing.T) {
	c := clustersOf([]float64{1, 2, 1}, []float64{1.5, 4, 2.5})
	m, ok := c.Mean()
	if !ok {
		t.Fatal("not known")
	}
	near(t, "mean", m.Value, 2, 1e-12)
	near(t, "standard error", m.SE, math.Sqrt(1.5*0.5)/4, 1e-12)
}

func TestClusters_NotEnoughData(t *testing.T) {
	if _, ok := clustersOf([]float64{5}, []float64{9}).Mean(); ok {
		t.Error("a standard error from one cluster")
	}
	if _, ok := (Clusters{Count: 3}).Mean(); ok {
		t.Error("a mean without calls")
	}
	if _, _, ok := Change(Estimate{0, 1, 5}, Estimate{1, 1, 5}, 0.95); ok {
		t.Error("a relative change of nothing")
	}
}

// Without variation the interval equals the estimate.
func TestChange_WorkedExample(t *testing.T) {
	change, iv, ok := Change(Estimate{10, 0, 9}, Estimate{12, 0, 9}, 0.95)
	if !ok {
		t.Fatal("not known")
	}
	near(t, "change", change, 0.2, 1e-12)
	near(t, "low", iv.Low, 0.2, 1e-12)
	near(t, "high", iv.High, 0.2, 1e-12)
	// t(0.975, 18) = 2.10092 (tables), relative errors 3% and 4%: 5% together.
	_, iv, _ = Change(Estimate{10, 0.353553390593, 9}, Estimate{10, 0.353553390593, 9}, 0.95)
	near(t, "low", iv.Low, math.Exp(-2.10092*0.05)-1, 1e-6)
}

// The interval has about its nominal coverage if clusters share an effect. An interval that treats records as
// independent would not.
func TestChange_ClusteredCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	const trials, clusters, calls = 2000, 25, 40
	sample := func(mean float64) Clusters {
		n, x := make([]float64, clusters), make([]float64, clusters)
		for c := range n {
			shared := math.Exp(0.2*rng.NormFloat64() - 0.02)
			for range calls + rng.IntN(20) {
				n[c]++
				x[c] += mean * shared * math.Exp(0.8*rng.NormFloat64()-0.32)
			}
		}
		return clustersOf(n, x)
	}
	covered := 0
	for range trials {
		base, _ := sample(100).Mean()
		head, _ := sample(120).Mean()
		if _, iv, ok := Change(base, head, 0.95); ok && iv.Low <= 0.2 && 0.2 <= iv.High {
			covered++
		}
	}
	if share := float64(covered) / trials; share < 0.93 || share > 0.965 {
		t.Errorf("the 95%% interval held the truth in %.1f%%", 100*share)
	}
}
