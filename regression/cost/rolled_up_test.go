package cost

import (
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/maintain"
	"github.com/corehour/corehour/internal/warehouse/table"
	"github.com/corehour/corehour/test/fixture"
)

// rollUp applies a policy to a warehouse a month after its rows.
func rollUp(t *testing.T, root string, p maintain.Policy) {
	t.Helper()
	at := fixture.Start.AddDate(0, 1, 0)
	job := maintain.Job{Root: root, Policy: p, Parquet: table.Options{Now: func() time.Time { return at }}}
	if report, err := job.Run(t.Context()); err != nil || len(report.Steps) == 0 {
		t.Fatalf("%+v, %v", report, err)
	}
}

// levels are the levels of rows in the order of rollups, with the policy that makes each.
var levels = []struct {
	name   string
	policy maintain.Policy
}{{"raw", maintain.Policy{}}, {"minute", maintain.Policy{MinuteAfter: 24 * time.Hour}}, {"hour", maintain.Policy{HourAfter: 24 * time.Hour}}}

// Rolled-up dates cost the same as their rows: without the probes, with the SDK's own cost, and with the errors of both.
func TestProbes_RolledUpDates(t *testing.T) {
	var items []methodspan.Item
	for i, version := range []string{"1", "2"} {
		for _, instance := range []string{"a", "b"} {
			p := fixture.NewProcess(version, instance, fixture.Start)
			for minute := range 3 {
				at := fixture.Start.Add(time.Duration(minute) * time.Minute)
				cold := float64(max(0, 1-minute)) // the first figures of the SDK differ from its last ones
				p.Beat(at, time.Minute, 20*time.Second, minute == 2).Process.Stats = []methodspan.Stat{
					{Name: "dropped", Value: 7}, {Name: "own.cpu_ns", Value: 1e9},
					{Name: "probe.cpu.cost_ns", Value: 1500 + 9000*cold}, {Name: "probe.cpu.spread_ns", Value: 100},
					{Name: "probe.inside_ns", Value: 30 + 900*cold + float64(5*i)}, {Name: "probe.wait_ns", Value: 0},
				}
				p.Counts("a.Serve", at, time.Minute, 1000)
				p.Counts("a.Find", at, time.Minute, 10_000)
				for call := range 20 {
					start := at.Add(time.Duration(call) * time.Second)
					p.Call("a.Serve", methodspan.CallerEntry, start, time.Millisecond, 900*time.Microsecond, 0.02, 1)
					for range 10 {
						p.Call("a.Find", "a.Serve", start, 3*time.Microsecond, 2*time.Microsecond, 0.02, 1)
					}
				}
			}
			items = append(items, p.Item())
		}
	}
	root := fixture.Write(t, items)
	raw, ofRows := compute(t, root)
	measured := (4 * 3 * 10_000 * 2 * time.Microsecond).Hours() // by Find in 4 processes, including its probes
	if got := *ofRows["a.Find"].SelfCoreHours; got > 0.99*measured {
		t.Fatalf("Find costs %v core hours, with its probes %v", got, measured)
	}
	day := 24 * time.Hour
	for _, p := range []maintain.Policy{{MinuteAfter: day}, {HourAfter: day}} {
		rollUp(t, root, p)
		sums, ofSums := compute(t, root)
		near(t, "what the SDK took", sums.Services[0].SDKCoreHours, *raw.Services[0].SDKCoreHours, 1e-9)
		for name, line := range ofRows {
			near(t, name, ofSums[name].SelfCoreHours, *line.SelfCoreHours, 1e-6)
			near(t, name+" with what it calls", ofSums[name].InclusiveCoreHours, *line.InclusiveCoreHours, 1e-6)
			if got, want := ofSums[name].ResolutionNS, line.ResolutionNS; got != want {
				t.Errorf("%s: the probes are known within %v ns, of rows %v", name, got, want)
			}
		}
	}
}
