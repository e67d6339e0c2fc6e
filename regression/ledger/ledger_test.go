package ledger

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/fixture"
)

// minutes returns the items of a process that counts 10 calls a minute.
func minutes(p *fixture.Process, n int, final bool) []methodspan.Item {
	var items []methodspan.Item
	for i := range n {
		at := p.Start.Add(time.Duration(i) * time.Minute)
		p.Counts("a.B", at, time.Minute, 10)
		p.Call("a.B", "(entry)", at, time.Millisecond, time.Millisecond, 1, 1)
		beat := p.Beat(at, time.Minute, time.Second, final && i == n-1)
		beat.Process.Stats = []methodspan.Stat{{Name: endpointsStat, Value: 1}, {Name: "dropped", Value: float64(i)}, {Name: "recorded", Value: 5}, {Name: "folded", Value: math.NaN()}}
		items = append(items, p.Item())
	}
	return items
}

func check(t *testing.T, root string, window query.Window, now time.Time) *Accounts {
	t.Helper()
	w, err := query.Open(context.Background(), root, window)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r, err := Check(context.Background(), w, query.Filter{}, now)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var end = fixture.Start.Add(30 * time.Minute)

func TestBalanced(t *testing.T) {
	items := append(minutes(fixture.NewProcess("1", "a", fixture.Start), 10, true), minutes(fixture.NewProcess("1", "b", fixture.Start), 30, false)...)
	r := check(t, fixture.Write(t, items), query.Window{}, end)
	if !r.Balanced || len(r.Faults) > 0 || r.Losses.LostInTransit != 0 || len(r.Losses.DeadProcess) != 0 {
		t.Errorf("%+v", r)
	}
	s := r.Services[0]
	if s.Processes != 2 || s.HandedOutCalls != 400 || s.CountedCalls != 400 || s.Rows != 120 {
		t.Errorf("%+v", s)
	}
	if r.Processes[0].State != Ended || r.Processes[1].State != Running {
		t.Errorf("%+v", r.Processes)
	}
	if r.Losses.SDK["dropped"] != 9+29 || r.Processes[0].SDK["recorded"] != 5 {
		t.Errorf("SDK counters: %v, %v", r.Losses.SDK, r.Processes[0].SDK)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
	if _, ok := r.Losses.SDK["recorded"]; ok {
		t.Error("recorded is no loss")
	}
	if r.SchemaVersion != parquet.SchemaVersion || r.FreshnessP99Seconds == nil {
		t.Errorf("%+v", r)
	}
}

func TestLedger_MissingItem(t *testing.T) {
	items := minutes(fixture.NewProcess("1", "a", fixture.Start), 10, true)
	r := check(t, fixture.Write(t, append(items[:4:4], items[5:]...)), query.Window{}, end)
	if r.Balanced || r.Losses.LostInTransit != 10 || r.Services[0].LostInTransit != 10 || len(r.Faults) != 1 {
		t.Errorf("%+v", r)
	}
}

// Claims of many processes exceed int64, in the statements and in the sums over processes. The account prints the
// highest number instead of one that wrapped to 0.
func TestLedger_SumsBeyondInt64(t *testing.T) {
	var items []methodspan.Item
	for i := range 2048 {
		p := fixture.NewProcess("1", strconv.Itoa(i), fixture.Start)
		p.Counts("a.B", fixture.Start, time.Minute, 1<<53)
		p.Beat(fixture.Start, time.Minute, time.Second, true)
		item := p.Item()
		if i%2 == 0 {
			item.Rows = item.Rows[1:] // the counts are lost
		}
		items = append(items, item)
	}
	for range 2048 {
		p := fixture.NewProcess("1", "surplus", fixture.Start)
		p.Counts("a.B", fixture.Start, time.Minute, 1<<53)
		items = append(items, p.Item())
	}
	r := check(t, fixture.Write(t, items), query.Window{}, end)
	s := r.Services[0]
	if r.Balanced || r.Losses.LostInTransit != math.MaxInt64 || s.HandedOutCalls != math.MaxInt64 || s.CountedCalls != math.MaxInt64 {
		t.Errorf("losses %+v, service %+v", r.Losses, s)
	}
}

func TestLedger_SurplusHidesNoLoss(t *testing.T) {
	a := minutes(fixture.NewProcess("1", "a", fixture.Start), 10, true)
	b := minutes(fixture.NewProcess("1", "b", fixture.Start), 10, true)
	extra := b[3]
	extra.ID = "resent-under-another-name"
	extra.Rows = append([]methodspan.Row(nil), extra.Rows...)
	for i := range extra.Rows {
		extra.Rows[i].BatchID = extra.ID
	}
	items := append(append(a[:4:4], a[5:]...), append(b, extra)...)
	r := check(t, fixture.Write(t, items), query.Window{}, end)
	if r.Balanced || r.Losses.LostInTransit != 10 || r.Losses.OverCounted != 10 {
		t.Errorf("%+v", r.Losses)
	}
}

func TestLedger_DuplicateRows(t *testing.T) {
	items := minutes(fixture.NewProcess("1", "a", fixture.Start), 10, true)
	root := fixture.Write(t, items)
	// Long after the writer has forgotten which items it stored.
	fixture.Append(t, root, fixture.Start.Add(20*24*time.Hour), items[3:4])
	r := check(t, root, query.Window{}, end)
	if r.Balanced || r.Losses.DuplicateRows != 3 || len(r.Losses.DuplicateItems) != 1 || r.Losses.DuplicateItems[0].BatchID != items[3].ID {
		t.Errorf("%+v", r.Losses)
	}
}

// Measurements beyond the counted calls of a method are reported. Those before the first and after the last counts of
// their process are not: their calls are in other counts.
func TestMeasuredAboveCounted(t *testing.T) {
	for _, test := range []struct {
		name string
		add  func(p *fixture.Process)
		want float64
	}{
		{"none", func(*fixture.Process) {}, 0},
		{"as many", func(p *fixture.Process) {
			p.Call("a.B", "", p.Start.Add(time.Minute), time.Second, time.Second, 1, 1).Measured = 91
		}, 0},
		{"one more", func(p *fixture.Process) {
			p.Call("a.B", "", p.Start.Add(time.Minute), time.Second, time.Second, 1, 1).Measured = 92
		}, 1},
		{"of another method", func(p *fixture.Process) {
			p.Call("a.C", "", p.Start.Add(time.Minute), time.Second, time.Second, 1, 1).Measured = 7
		}, 7},
		{"pending", func(p *fixture.Process) {
			p.Call("a.B", "", p.Start.Add(10*time.Minute-2*time.Second), 1001*time.Millisecond, time.Second, 1, 1).Measured = 1000
		}, 0},
		{"before", func(p *fixture.Process) {
			p.Call("a.B", "", p.Start.Add(999*time.Millisecond), time.Second, time.Second, 1, 1).Measured = 1000
		}, 0},
		{"without a name", func(p *fixture.Process) {
			p.Call("a.C", "", p.Start.Add(time.Minute), time.Second, time.Second, 1, 1)
			p.Counts(methodspan.Overflow, p.Start, time.Minute, 1)
		}, 0},
	} {
		p := fixture.NewProcess("1", "a", fixture.Start)
		items := minutes(p, 10, true)
		test.add(p)
		others := minutes(fixture.NewProcess("1", "b", fixture.Start), 10, true)
		for i := range others {
			for j := range others[i].Rows {
				of := *others[i].Rows[j].Resource
				of.Service = "other"
				others[i].Rows[j].Resource = &of
			}
		}
		r := check(t, fixture.Write(t, slices.Concat(items, []methodspan.Item{p.Item()}, others)), query.Window{}, end)
		for _, s := range r.Services {
			want := test.want
			if s.Name == "other" {
				want = 0
			}
			if s.MeasuredAboveCounted != want {
				t.Errorf("%s: of %s %v are above, want %v", test.name, s.Name, s.MeasuredAboveCounted, want)
			}
		}
		if len(r.Services) != 2 {
			t.Errorf("%+v", r.Services)
		}
	}
}

func TestDeadProcess(t *testing.T) {
	root := fixture.Write(t, minutes(fixture.NewProcess("1", "a", fixture.Start), 10, false))
	last := fixture.Start.Add(10 * time.Minute)
	if r := check(t, root, query.Window{}, last.Add(2*time.Minute)); r.Processes[0].State != Running {
		t.Errorf("after two intervals: %s", r.Processes[0].State)
	}
	r := check(t, root, query.Window{}, last.Add(2*time.Minute+time.Second))
	if r.Processes[0].State != Dead || len(r.Losses.DeadProcess) != 1 || r.Losses.DeadProcess[0].CallsLost != nil {
		t.Errorf("%+v", r)
	}
	if !r.Balanced {
		t.Error("calls that nobody emitted unbalance the account of those emitted")
	}
}

// An interval of hours, combined while no collector was available, does not delay the detection of a dead process by
// as long.
func TestDeadProcess_AfterOutage(t *testing.T) {
	p := fixture.NewProcess("1", "a", fixture.Start)
	p.Beat(fixture.Start, 3*time.Hour, time.Second, false)
	p.Beat(fixture.Start.Add(3*time.Hour), time.Minute, time.Second, false)
	root := fixture.Write(t, []methodspan.Item{p.Item()})
	if r := check(t, root, query.Window{}, fixture.Start.Add(3*time.Hour+4*time.Minute)); r.Processes[0].State != Dead {
		t.Errorf("%+v", r.Processes)
	}
}

// A process with one short interval so far is not dead after two such intervals.
func TestDeadProcess_YoungProcess(t *testing.T) {
	p := fixture.NewProcess("1", "a", fixture.Start)
	p.Beat(fixture.Start, time.Second, time.Second, false)
	r := check(t, fixture.Write(t, []methodspan.Item{p.Item()}), query.Window{}, fixture.Start.Add(time.Minute))
	if r.Processes[0].State != Running {
		t.Errorf("%+v", r.Processes)
	}
}

// The window selects processes and does not cut their accounts within a date.
func TestLedger_WindowSelectsProcesses(t *testing.T) {
	early := minutes(fixture.NewProcess("1", "a", fixture.Start), 10, true)
	long := minutes(fixture.NewProcess("1", "b", fixture.Start), 60, true)
	r := check(t, fixture.Write(t, append(early, long...)), query.Window{From: end}, end.Add(time.Hour))
	if len(r.Processes) != 1 || r.Processes[0].Instance != "b" || r.Processes[0].CountedCalls != 600 || !r.Balanced {
		t.Errorf("%+v", r.Processes)
	}
}

// For a process older than the oldest stored date, the account of the stored dates balances.
func TestLedger_PartialAccount(t *testing.T) {
	p := fixture.NewProcess("1", "a", fixture.Start.Add(-24*time.Hour))
	p.Counts("a.B", p.Start, time.Minute, 1000)
	p.Item() // dropped with its date
	for i := range 5 {
		at := fixture.Start.Add(time.Duration(i) * time.Minute)
		p.Counts("a.B", at, time.Minute, 10)
		p.Beat(at, time.Minute, time.Second, i == 4)
	}
	items := []methodspan.Item{p.Item()}
	for i := range items[0].Rows { // totals as of each minute
		if r := &items[0].Rows[i]; r.Process != nil {
			r.Process.CallsTotal = 1000 + 10*int64(i/2+1)
		}
	}
	r := check(t, fixture.Write(t, items), query.Window{}, end)
	if !r.Balanced || !r.Processes[0].Partial || r.Processes[0].CountedCalls != 40 {
		t.Errorf("%+v", r.Processes)
	}
}

// A process that runs for days balances over each range of days. A loss is found on its date and on no other.
func TestLedger_SomeDates(t *testing.T) {
	p := fixture.NewProcess("1", "a", fixture.Start.Add(-30*time.Minute))
	var items []methodspan.Item
	days := 3
	for hour := range days * 24 {
		at := p.Start.Add(time.Duration(hour) * time.Hour)
		p.Counts("a.B", at, 40*time.Minute, 7)
		p.Counts("a.B", at.Add(40*time.Minute), 20*time.Minute, 3)
		p.Beat(at, time.Hour, time.Second, false).Process.Stats = []methodspan.Stat{{Name: endpointsStat, Value: 1}}
		items = append(items, p.Item())
	}
	date := func(n int) time.Time { return fixture.Start.Truncate(24*time.Hour).AddDate(0, 0, n) }
	lost := slices.IndexFunc(items, func(it methodspan.Item) bool { return it.Rows[0].StartNS > date(1).Add(12*time.Hour).UnixNano() })
	write := func(items []methodspan.Item) string {
		root := fixture.Write(t, items[:1])
		fixture.Append(t, root, date(days), items[1:])
		return root
	}
	whole, broken := write(items), write(slices.Delete(slices.Clone(items), lost, lost+1))
	for from := -1; from < days; from++ {
		for to := max(1, from+1); to <= days+1; to++ {
			window := query.Window{From: date(from), To: date(to)}
			if from < 0 {
				window.From = time.Time{}
			}
			if to > days {
				window.To = time.Time{}
			}
			now := p.Start.Add(time.Duration(days) * 24 * time.Hour)
			if r := check(t, whole, window, now); !r.Balanced || len(r.Processes) != 1 || r.Processes[0].HandedOutCalls == 0 {
				t.Errorf("%v: %+v", window, r.Processes)
			}
			want := int64(0)
			if from <= 1 && to > 1 {
				want = 10
			}
			if r := check(t, broken, window, now); r.Losses.LostInTransit != want || r.Losses.OverCounted != 0 {
				t.Errorf("%v: %+v, want %d lost", window, r.Losses, want)
			}
		}
	}
}

// Measurements alone do not show the number of emitted calls.
func TestLedger_RowsWithoutAccount(t *testing.T) {
	p := fixture.NewProcess("1", "a", fixture.Start)
	p.Call("a.B", "(entry)", fixture.Start, time.Millisecond, time.Millisecond, 1, 1)
	r := check(t, fixture.Write(t, []methodspan.Item{p.Item()}), query.Window{}, end)
	if r.Balanced || !r.CouldNotTell || r.RolledUpTo != "" || r.Why() != "the rows of this time say nothing of emitted calls" {
		t.Errorf("%+v", r)
	}
}

func TestLedger_ExcludesForeignRows(t *testing.T) {
	row := methodspan.Row{
		Resource: &methodspan.Resource{Service: "java"}, Kind: methodspan.KindCall,
		StartNS: fixture.Start.UnixNano(), EndNS: fixture.Start.UnixNano() + 5,
		Class: "a", Method: "b", Measured: 1, P: 0.1, Calls: 10, WallNS: 5, WeightBasis: methodspan.BasisThreshold,
	}
	r := check(t, fixture.Write(t, fixture.Items("f", row)), query.Window{}, end)
	s := r.Services[0]
	if !r.Balanced || len(r.Processes) != 0 || s.ForeignRows != 1 || s.ForeignCalls != 10 || s.UnpricedShare != 1 || s.VersionlessRows != 1 {
		t.Errorf("%+v", r)
	}
}

func TestCollector(t *testing.T) {
	const page = `# TYPE otelcol_exporter_warehouse_write_unknown_total counter
otelcol_exporter_warehouse_write_unknown_total{exporter="warehouse"} 7
# TYPE otelcol_exporter_warehouse_rows_refused_total counter
otelcol_exporter_warehouse_rows_refused_total{reason="too_late",exporter="warehouse"} 3
otelcol_exporter_warehouse_rows_refused_total{reason="in_future",exporter="warehouse"} 0
# TYPE otelcol_exporter_warehouse_rows_written counter
otelcol_exporter_warehouse_rows_written 1000
# TYPE go_gc_failed gauge
go_gc_failed 4
`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/metrics":
			_, _ = w.Write([]byte(page))
		case "/html":
			_, _ = w.Write([]byte("<html>no metrics</html>"))
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	got, err := Collector(context.Background(), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{
		"otelcol_exporter_warehouse_write_unknown":                    7,
		`otelcol_exporter_warehouse_rows_refused{reason="too_late"}`:  3,
		`otelcol_exporter_warehouse_rows_refused{reason="in_future"}`: 0,
	}
	if len(got) != len(want) {
		t.Errorf("%v", got)
	}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s = %v, want %v", k, got[k], v)
		}
	}
	for _, bad := range []string{"localhost:8888", "ftp://x", server.URL + "/html", server.URL + "/none", "http://127.0.0.1:1/"} {
		if _, err := Collector(context.Background(), bad); err == nil || !strings.Contains(err.Error(), "--collector") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// A counter with a paging alert is a loss that check reports too.
func TestCollector_LossesOfAlerts(t *testing.T) {
	rules, err := os.ReadFile("../../deploy/prometheus/corehour.rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	pages, _, _ := strings.Cut(string(rules), "name: corehour-precision")
	names := map[string]bool{}
	for _, m := range regexp.MustCompile(`increase\((\w+)\[`).FindAllStringSubmatch(pages, -1) {
		names[m[1]] = true
	}
	if len(names) < 7 {
		t.Fatalf("the alerts on losses are about %v only", names)
	}
	for name := range names {
		got, err := losses(strings.NewReader("# TYPE " + name + "_total counter\n" + name + "_total 5\n"))
		if err != nil || got[name] != 5 {
			t.Errorf("%s is left out: %v %v", name, got, err)
		}
	}
}

func FuzzLosses(f *testing.F) {
	for _, page := range []string{
		"otelcol_x_dropped_total{reason=\"a\\\"b\"} 1\n", "# TYPE otelcol_failed histogram\notelcol_failed_bucket{le=\"1\"} 2\n",
		"otelcol_refused NaN\n", "otelcol_refused{", "\x00", "otelcol_dropped 1\notelcol_dropped 1\n",
	} {
		f.Add(page)
	}
	f.Fuzz(func(t *testing.T, page string) {
		got, err := losses(strings.NewReader(page))
		if err != nil {
			return
		}
		if _, err := json.Marshal(got); err != nil || len(got) > maxSeries {
			t.Errorf("%d series, %v", len(got), err)
		}
	})
}
