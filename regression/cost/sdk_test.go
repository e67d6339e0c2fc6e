package cost

import (
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/test/fixture"
)

// The SDK's own CPU time is a line of its own, at most the CPU time of its process. The line exists only if all process
// rows report it.
func TestProbes_AndSending(t *testing.T) {
	write := func(own ...float64) (*Table, *BillLine) {
		p := fixture.NewProcess("1", "a", fixture.Start)
		for i, ns := range own {
			at := fixture.Start.Add(time.Duration(i) * time.Minute)
			p.Counts("shop/cart.Total", at, time.Minute, 10)
			beat := p.Beat(at, time.Minute, time.Second, false)
			if ns >= 0 {
				beat.Process.Stats = []methodspan.Stat{{Name: "dropped", Value: 7}, {Name: "own.cpu_ns", Value: ns}}
			}
		}
		table, _ := compute(t, fixture.Write(t, []methodspan.Item{p.Item()}))
		for _, line := range table.Services[0].billLines() {
			if line.What == "of it probes and sending" {
				return table, &line
			}
		}
		return table, nil
	}
	table, line := write(5e7, 2e8, 3e9)
	near(t, "the SDK's own", table.Services[0].SDKCoreHours, (0.05+0.2+1)/3600, 1e-9)
	near(t, "its dollars", table.Services[0].SDKUSD, (0.05+0.2+1)/3600*0.05, 1e-9)
	if line == nil || line.Share == nil {
		t.Errorf("the line of the bill is %v", line)
	}
	if table, line = write(5e7, -1); table.Services[0].SDKCoreHours != nil || line != nil {
		t.Error("the SDK's own is known of one row, and told of both")
	}
}

// Methods cost at most the CPU time of their processes minus the SDK's own.
func TestReconcile_WithoutSDKCPU(t *testing.T) {
	p := fixture.NewProcess("1", "a", fixture.Start)
	p.Counts("shop/cart.Total", fixture.Start, time.Minute, 1)
	p.Call("shop/cart.Total", methodspan.CallerEntry, fixture.Start, time.Second, 900*time.Millisecond, 1, 1)
	p.Beat(fixture.Start, time.Minute, time.Second, false).Process.Stats = []methodspan.Stat{{Name: "own.cpu_ns", Value: 3e8}}
	table, methods := compute(t, fixture.Write(t, []methodspan.Item{p.Item()}))
	near(t, "the method", methods["shop/cart.Total"].SelfCoreHours, 0.7/3600, 1e-6)
	near(t, "unattributed", table.Services[0].UnattributedCoreHours, 0.3/3600, 1e-6)
	const want = "more than its process CPU of 0.000194 without probes and sending"
	if excess := table.Services[0].Excess(); !strings.Contains(excess, want) {
		t.Errorf("%q does not say %q", excess, want)
	}
}
