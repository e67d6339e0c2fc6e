package verdict

import (
	"math"
	"testing"

	"github.com/corehour/corehour/regression/judge"
	"github.com/corehour/corehour/regression/query"
)

// A caller of ten timed calls pays for their probes, by up to twice of what they cost
// when calibrated: a change of rates raises it in neither direction.
func TestProbesOfCalleesAreSubtracted(t *testing.T) {
	const own, calibrated, real = 100_000, 1000, 1600 // ns
	for _, timed := range [][2]float64{{0, 10}, {10, 0}, {10, 10}, {0, 0}} {
		costs, pair := probeCost{}, Pair{}
		var cells []query.Cell
		for side, n := range timed {
			version := [2]string{"1", "2"}[side]
			costs[versionOf{version: version}] = [2]float64{0, calibrated}
			[2]*Deployment{&pair.Base, &pair.Head}[side].Version = version
			ns := own + real*n
			cells = append(cells,
				query.Cell{Full: "caller", Member: side, Records: 1, Weight: 1, Sum: ns, Capped: ns, Log: math.Log(ns)},
				query.Cell{Full: "callee", Caller: "caller", Member: side, Records: n, Weight: 10, TimedCPU: n})
		}
		costs.subtract(cells, func(member int) judge.Side { return judge.Side(member) }, pair)
		base, head := cells[0], cells[2]
		if change := head.Sum/base.Sum - 1; change > 0.001 || change < -0.07 {
			t.Errorf("%v calls timed: %.0f ns of the base and %.0f of the head are left, which is %+.1f%%", timed, base.Sum, head.Sum, 100*change)
		}
		for _, c := range []query.Cell{base, head} {
			if math.Abs(math.Exp(c.Log)-c.Sum) > 1e-3*c.Sum || c.Capped != c.Sum {
				t.Errorf("%v calls timed: the sums differ: %+v", timed, c)
			}
		}
	}
}
