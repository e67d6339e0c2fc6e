package query

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/test/fixture"
)

// Calls of one time bucket have two sampling rates, and chance decides which rate a slow call had. The share of calls
// above the cap is therefore the share of records. For tail samples it is the share of the calls they represent.
func TestCells_CallsAboveCap(t *testing.T) {
	for _, tail := range []bool{false, true} {
		var items []methodspan.Item
		for i, version := range []string{"1", "2"} {
			p := fixture.NewProcess(version, version, fixture.Start)
			p.Resource.HostID = "host-" + version
			call := func(n int, cpu time.Duration, rate float64, stratum string) {
				for k := range n {
					at := fixture.Start.Add(time.Duration(k) * 300 * time.Millisecond)
					p.Call("a.F", methodspan.CallerEntry, at, cpu, cpu, rate, 1).Stratum = stratum
				}
			}
			call(10, 100*time.Microsecond, 0.001, "")
			if tail {
				call(120, 4*time.Millisecond, 1, methodspan.StratumTail)
			} else {
				call(150, 100*time.Microsecond, 0.1, "")
				call(40+20*i, 4*time.Millisecond, 0.1, "")
			}
			p.Counts("a.F", fixture.Start, time.Minute, 12_000)
			p.Beat(fixture.Start, time.Minute, time.Second, true)
			items = append(items, p.Item())
		}
		w, err := Open(t.Context(), fixture.Write(t, items), Window{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		r := items[0].Rows[0].Resource
		service := Service{Namespace: r.ServiceNamespace, Name: r.Service, Environment: r.Environment}
		compared := comparedVersions(service)
		processes, err := w.Processes(t.Context(), compared[0], compared[1])
		if err != nil {
			t.Fatal(err)
		}
		var members []Member
		for i, p := range processes {
			if want := fmt.Sprintf("host-%d", i+1); p.HostID != want {
				t.Errorf("host %q, want %q", p.HostID, want)
			}
			members = append(members, Member{Process: p, Member: i})
		}
		cells, err := w.Cells(t.Context(), CPU, compared[0], compared[1], members, Grid{Begin: fixture.Start.Truncate(time.Hour), TimeBucket: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		if len(cells) != 2 {
			t.Fatalf("%+v of %+v", cells, processes)
		}
		for _, c := range cells {
			exposure := c.Near * c.Weight / c.NearWeight
			want := c.Records
			if tail {
				want = c.Weight
			}
			if c.Near == 0 || math.Abs(exposure/want-1) > 0.2 {
				t.Errorf("kept for taking long %v: %v calls above, of what %v records would be, want %v", tail, c.Near, exposure, want)
			}
		}
	}
}
