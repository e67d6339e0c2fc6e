package scenes_test

import (
	"testing"

	"github.com/corehour/corehour/test/scenes"
)

// BenchmarkEach draws records of the longest chain and of the largest tree.
func BenchmarkEach(b *testing.B) {
	for _, structure := range []scenes.Structure{scenes.Chain(1), scenes.Chain(5), scenes.Chain(9), scenes.Tree(60)} {
		b.Run(structure.String(), func(b *testing.B) {
			d := scenes.Draw(scenes.Scene{Structure: structure, Base: 3, Head: 3}, 1)
			n, sum := 0, int64(0)
			for b.Loop() {
				d.Each(func(c scenes.Call) { n++; sum += c.CPU })
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "calls/s")
		})
	}
}

func BenchmarkDraw(b *testing.B) {
	s := scenes.Scene{Structure: scenes.Tree(60), Base: 36, Head: 4}
	for seed := uint64(0); b.Loop(); seed++ {
		scenes.Draw(s, seed)
	}
}
