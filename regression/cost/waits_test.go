package cost

import (
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/test/fixture"
)

// Timed calls that wait include the CPU time of giving up the processor. It is subtracted from each method per wait,
// and from callers once. The same is true for rollup sums, and nothing is subtracted from wall time.
func TestWaits_Subtracted(t *testing.T) {
	const wait = 15 * time.Microsecond
	write := func(sum bool) string {
		p := fixture.NewProcess("1", "a", fixture.Start)
		p.Beat(fixture.Start, time.Minute, time.Second, false).Process.Stats = []methodspan.Stat{
			{Name: "probe.cpu.cost_ns", Value: 1}, {Name: "probe.inside_ns", Value: 1}, {Name: "probe.wait_ns", Value: float64(wait)},
		}
		call := func(method, caller string, cpu time.Duration, waits float64) {
			p.Counts(method, fixture.Start, time.Minute, 1000)
			for range 10 {
				p.Call(method, caller, fixture.Start, time.Second, cpu, 0.01, 1).CPUWaits = waits
			}
		}
		call("shop/cart.Total", methodspan.CallerEntry, 300*time.Microsecond+3*wait, 3)
		call("shop/store.Read", "shop/cart.Total", 100*time.Microsecond+2*wait, 2)
		item := p.Item()
		if sum {
			rows, sums := []methodspan.Row{}, map[string]*methodspan.Sum{}
			for _, row := range item.Rows {
				if row.Kind != methodspan.KindCall {
					rows = append(rows, row)
					continue
				}
				if sums[row.Method] == nil {
					sums[row.Method] = &methodspan.Sum{}
				}
				sums[row.Method].Add(&row)
			}
			for _, s := range sums {
				rows = append(rows, s.Row())
			}
			item = fixture.Items(item.ID, rows...)[0]
		}
		return fixture.Write(t, []methodspan.Item{item})
	}
	for _, sum := range []bool{false, true} {
		_, methods := compute(t, write(sum))
		for name, want := range map[string][2]float64{"shop/cart.Total": {200, 300}, "shop/store.Read": {100, 100}} {
			m := methods[name]
			hours := func(us float64) float64 { return 1000 * us / 1e6 / 3600 }
			near(t, name+" by itself", m.SelfCoreHours, hours(want[0]), 1e-3)
			near(t, name+" in all", m.InclusiveCoreHours, hours(want[1]), 1e-3)
		}
	}
}
