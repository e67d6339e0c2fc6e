package deploygen_test

import (
	"testing"

	"github.com/corehour/corehour/test/deploygen"
)

// BenchmarkEach draws the records of the longest chain and of the largest tree.
func BenchmarkEach(b *testing.B) {
	for _, structure := range []deploygen.Structure{deploygen.Chain(1), deploygen.Chain(5), deploygen.Chain(9), deploygen.Tree(60)} {
		b.Run(structure.String(), func(b *testing.B) {
			d := deploygen.Draw(deploygen.Scene{Structure: structure, Base: 3, Head: 3}, 1)
			n, sum := 0, int64(0)
			for b.Loop() {
				d.Each(func(c deploygen.Call) { n++; sum += c.CPU })
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "calls/s")
		})
	}
}

func BenchmarkDraw(b *testing.B) {
	s := deploygen.Scene{Structure: deploygen.Tree(60), Base: 36, Head: 4}
	for seed := uint64(0); b.Loop(); seed++ {
		deploygen.Draw(s, seed)
	}
}
