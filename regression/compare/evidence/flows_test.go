package evidence

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// drawFlows returns a caller and its callee with costs that differ by instance and bucket, and not between versions.
func drawFlows(seed uint64, bases, heads int) *Deployment {
	r := rand.New(rand.NewPCG(seed, 3))
	d := &Deployment{
		Methods: []string{"payer", "callee"}, Callers: []string{"(entry)", "payer"},
		Bucket: 5 * time.Minute, Buckets: 8, Overlap: Concurrent,
	}
	for i := range bases + heads {
		side := Base
		if i >= bases {
			side = Head
		}
		d.Instances = append(d.Instances, Instance{Side: side})
		for method := range 2 {
			own := 0.05 * r.NormFloat64()
			for bucket := range d.Buckets {
				calls := 100 + 10*r.NormFloat64()
				paid := calls * 1000 * math.Exp(own+0.05*r.NormFloat64())
				d.Cells = append(d.Cells, Cell{
					Method: int32(method), Caller: int32(method), Instance: int32(i), Bucket: int32(bucket),
					Records: calls, Weight: calls, Sum: paid,
				})
			}
		}
	}
	return d
}

// The standard error of an excess agrees with its spread.
func TestFlows_StandardErrorMatchesSpread(t *testing.T) {
	for _, method := range []int{0, 1} {
		const draws = 400
		var sum, squares, within float64
		for seed := range uint64(draws) {
			x, err := newIndex(drawFlows(seed, 8, 6), Defaults())
			if err != nil {
				t.Fatal(err)
			}
			ns, se := newFlows(x, make([]float64, len(x.warm))).excess(0, method)
			z := ns / se
			sum, squares = sum+z, squares+z*z
			if math.Abs(z) < 2 {
				within++
			}
		}
		mean, share := sum/draws, within/draws
		if sd := math.Sqrt(squares/draws - mean*mean); math.Abs(mean) > 0.2 || sd < 0.85 || sd > 1.3 || share < 0.88 || share > 0.99 {
			t.Errorf("method %d: growth over its error has mean %.2f and deviation %.2f, within two of them in %.0f%%", method, mean, sd, 100*share)
		}
	}
}

// The error is also known with one instance per version.
func TestFlows_OneInstance(t *testing.T) {
	x, err := newIndex(drawFlows(1, 1, 1), Defaults())
	if err != nil {
		t.Fatal(err)
	}
	if ns, se := newFlows(x, make([]float64, len(x.warm))).excess(0, 1); !(se > 0) || math.IsInf(se, 0) {
		t.Errorf("excess %v with an error of %v", ns, se)
	}
}
