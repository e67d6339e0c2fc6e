package ledger

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/maintain"
	"github.com/corehour/corehour/internal/warehouse/table"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/fixture"
)

// requests returns the export requests of a process that ran for 30 minutes and counted 10 calls a minute. Every other
// request has no counts. endpoints is the number of collectors that the process reports to send to; 0 means that it
// reports none.
func requests(instance string, endpoints float64) []methodspan.Item {
	p := fixture.NewProcess("1", instance, fixture.Start)
	var items []methodspan.Item
	for minute := range 30 {
		at := fixture.Start.Add(time.Duration(minute) * time.Minute)
		p.Call("a.B", "(entry)", at, time.Millisecond, time.Millisecond, 1, 1)
		items = append(items, p.Item())
		p.Counts("a.B", at, time.Minute, 10)
		beat := p.Beat(at, time.Minute, time.Second, minute == 29)
		if endpoints > 0 {
			beat.Process.Stats = []methodspan.Stat{{Name: endpointsStat, Value: endpoints}}
		}
		items = append(items, p.Item())
	}
	return items
}

func openAll(t *testing.T, roots ...string) *query.Warehouse {
	t.Helper()
	w, err := query.OpenAll(t.Context(), roots, query.Window{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// days is a time after the processes of all tests ended.
var days = fixture.Start.Add(80 * time.Hour)

// checkAll checks the warehouses of several collectors and returns the result, also as text.
func checkAll(t *testing.T, roots ...string) (r *Accounts, text string) {
	t.Helper()
	r, err := Check(t.Context(), openAll(t, roots...), query.Filter{}, days)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	d := r.Document(output.Text, View{Zone: time.UTC, Now: days})
	d.Wide = true
	if err := d.Write(&b, output.Text); err != nil {
		t.Fatal(err)
	}
	return r, b.String()
}

// costText returns the costs of a warehouse as text, with the missing calls.
func costText(t *testing.T, root string) string {
	t.Helper()
	w := openAll(t, root)
	costs, err := cost.Compute(t.Context(), w, cost.Options{Wall: true})
	if err == nil {
		err = NoteMissing(t.Context(), w, query.Filter{}, costs, days)
	}
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	d := costs.Document(output.Text, cost.View{Per: cost.PerDay, Zone: time.UTC, Now: days})
	d.Wide = true
	if err := d.Write(&b, output.Text); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Batches 21 to 40 of a process went to another collector.
func TestCheck_ProcessMovedBetweenCollectors(t *testing.T) {
	for _, endpoints := range []float64{0, 2} {
		items := requests("a", endpoints)
		a, b := fixture.Write(t, append(items[:20:20], items[40:]...)), fixture.Write(t, items[20:40])
		r, text := checkAll(t, a)
		missing := r.Processes[0].MissingBatches
		if r.Balanced || !r.CouldNotTell || r.Losses.LostInTransit != 0 || r.Losses.NotJudgedCalls != 100 || missing == nil || *missing != (MissingBatches{Batches: 20, First: 21, Last: 40, Calls: 100}) {
			t.Errorf("%+v %+v", r, missing)
		}
		for _, want := range []string{"could not tell: 100 calls of shop 1 a (20 batches, 21 to 40) are not here", "pass the other --warehouse too"} {
			if !strings.Contains(text, want) {
				t.Errorf("want %q:\n%s", want, text)
			}
		}
		// The other warehouse lacks the first 20 batches, and cannot know that batches 41 to 60 exist.
		r, _ = checkAll(t, b)
		if missing := r.Processes[0].MissingBatches; !r.CouldNotTell || r.Losses.NotJudgedCalls != 100 || missing.First != 1 || missing.Last != 20 {
			t.Errorf("%+v %+v", r.Losses, missing)
		}
		r, _ = checkAll(t, a, b)
		p := r.Processes[0]
		if !r.Balanced || len(r.Processes) != 1 || p.HandedOutCalls != 300 || p.CountedCalls != 300 || p.State != Ended {
			t.Errorf("%+v", r)
		}
		if w := r.Warehouses; len(w) != 2 || w[0].Warehouse != a || w[1].Warehouse != b || w[0].FreshnessP99Seconds == nil ||
			*r.FreshnessP99Seconds != max(*w[0].FreshnessP99Seconds, *w[1].FreshnessP99Seconds) || w[0].Rows+w[1].Rows != r.Rows {
			t.Errorf("%+v", r.Warehouses)
		}
	}
}

// Costs name the calls that are not stored.
func TestNoteMissing(t *testing.T) {
	items := requests("a", 2)
	for _, c := range []struct {
		items []methodspan.Item
		want  string
	}{
		{append(items[:20:20], items[40:]...), "missing: store/shop (production): 100 of 300 calls of its processes are not stored here, so figures are too low by what they cost"},
		{items, ""},
	} {
		if text := costText(t, fixture.Write(t, c.items)); !strings.Contains(text, c.want) || c.want == "" && strings.Contains(text, "missing") {
			t.Error(text)
		}
	}
}

// A real loss differs from calls that another collector may hold.
func TestCheck_SeparatesLossesFromMoves(t *testing.T) {
	two, one, three, unnumbered, rowLost := requests("a", 2), requests("c", 1), requests("d", 3), requests("e", 2), requests("b", 2)
	rowLost[3].Rows = rowLost[3].Rows[1:]
	for i := range unnumbered {
		for j := range unnumbered[i].Rows {
			unnumbered[i].Rows[j].BatchID = "run-1"
		}
		unnumbered[i].ID = "run-" + unnumbered[i].ID
	}
	without := func(items []methodspan.Item, from, to int) []methodspan.Item {
		return append(items[:from:from], items[to:]...)
	}
	for _, c := range []struct {
		name            string
		stores          [][]methodspan.Item
		lost, notJudged int64
		missing         MissingBatches
		want, no        string
	}{
		{"lost at one of two", [][]methodspan.Item{without(without(two, 20, 40), 8, 10), two[20:40]}, 10, 0, MissingBatches{Batches: 2, First: 9, Last: 10}, "", "pass the"},
		{"a row of a stored batch", [][]methodspan.Item{rowLost}, 10, 0, MissingBatches{}, "", "pass the"},
		{"sends to one collector only", [][]methodspan.Item{without(one, 20, 22)}, 10, 0, MissingBatches{Batches: 2, First: 21, Last: 22},
			"if a proxy spreads requests over several collectors, pass the other --warehouse too", "could not tell"},
		{"may be at a third collector", [][]methodspan.Item{three[:20], three[40:]}, 0, 100, MissingBatches{Batches: 20, First: 21, Last: 40}, "of every collector", ""},
		{"ended, or moved to another collector", [][]methodspan.Item{two[:20]}, 0, 0, MissingBatches{}, "may have moved to another collector", "could not tell"},
		{"rows without a batch number", [][]methodspan.Item{without(unnumbered, 20, 40)}, 0, 100, MissingBatches{Unnumbered: true}, "rows without a batch number", ""},
		{"duplicates hide no loss", [][]methodspan.Item{two[:30], without(two[28:], 12, 14)}, 10, 0, MissingBatches{Batches: 2, First: 41, Last: 42}, "3 of these are stored by two collectors", "could not tell"},
	} {
		var roots []string
		for _, items := range c.stores {
			roots = append(roots, fixture.Write(t, items))
		}
		r, text := checkAll(t, roots...)
		if r.Losses.LostInTransit != c.lost || r.Losses.NotJudgedCalls != c.notJudged || r.Balanced != (c.lost+c.notJudged == 0) || r.CouldNotTell != (c.notJudged > 0) {
			t.Errorf("%s: %+v", c.name, r.Losses)
		}
		if !strings.Contains(text, c.want) || c.no != "" && strings.Contains(text, c.no) {
			t.Errorf("%s: want %q and no %q:\n%s", c.name, c.want, c.no, text)
		}
		if m := r.Processes[0].MissingBatches; m != nil {
			if m.Calls = c.missing.Calls; m.Unnumbered { // then the other numbers are not set
				*m = MissingBatches{Unnumbered: true}
			}
			if *m != c.missing {
				t.Errorf("%s: missing %+v, want %+v", c.name, m, c.missing)
			}
		} else if c.missing != (MissingBatches{}) {
			t.Errorf("%s: no missing batches, want %+v", c.name, c.missing)
		}
	}
	r, text := checkAll(t, fixture.Write(t, two[:30]), fixture.Write(t, two[28:]))
	if l := r.Losses; r.Balanced || l.OverCounted != 0 || l.LostInTransit != 0 || l.DuplicateRows != 3 || l.DuplicateRowsOfOthers != 3 || r.Processes[0].CountedCalls != 300 {
		t.Errorf("stored by two: %+v\n%s", l, text)
	}
}

// Rolled-up dates have no account, and the loss on them is unknown. A later process is checked.
func TestCheck_RolledUpDates(t *testing.T) {
	p := fixture.NewProcess("1", "a", fixture.Start)
	p.Counts("a.B", fixture.Start, time.Minute, 100)
	p.Beat(fixture.Start, time.Minute, time.Second, true).Process.CallsTotal = 1_000_000
	root := fixture.Write(t, []methodspan.Item{p.Item()})
	if r, text := checkAll(t, root); r.Balanced || r.CouldNotTell || !strings.HasPrefix(text, "NOT BALANCED: 999900 calls") {
		t.Errorf("before the rollup: %s", text)
	}
	job := maintain.Job{Root: root, Policy: maintain.Policy{HourAfter: 24 * time.Hour}, Parquet: table.Options{Now: func() time.Time { return days }}}
	if _, err := job.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	const why = "dates up to 2026-03-10 are rolled up and keep no account"
	r, text := checkAll(t, root)
	if r.Balanced || !r.CouldNotTell || r.RolledUpTo != "2026-03-10" || r.AccountsFrom != "" || len(r.Processes) != 0 || !strings.HasPrefix(text, "could not tell: "+why) || r.Why() != why {
		t.Errorf("%+v: %s", r, text)
	}
	// If either of two warehouses has rolled up a date, its calls cannot be reconciled.
	if r, _ := checkAll(t, fixture.Write(t, requests("c", 2)), root); !r.CouldNotTell || len(r.Processes) != 0 || r.RolledUpTo != "2026-03-10" {
		t.Errorf("next to raw rows: %+v", r)
	}
	later := fixture.NewProcess("1", "b", fixture.Start.Add(70*time.Hour))
	later.Counts("a.B", later.Start, time.Minute, 100)
	later.Beat(later.Start, time.Minute, time.Second, true)
	fixture.Append(t, root, fixture.Start.Add(71*time.Hour), []methodspan.Item{later.Item()})
	r, text = checkAll(t, root)
	if !r.Balanced || r.CouldNotTell || r.RolledUpTo != "2026-03-10" || r.AccountsFrom != "2026-03-13" || r.LeftOut() != "accounts are of 2026-03-13 and later: "+why {
		t.Errorf("%+v: %s", r, text)
	}
	if r := check(t, root, query.Window{From: later.Start.Truncate(24 * time.Hour)}, days); !r.Balanced || r.LeftOut() != "" {
		t.Errorf("only the later dates: %+v: %s", r, r.LeftOut())
	}
}

// Services whose methods were estimated to cost more than their processes used are listed.
func TestReconcile(t *testing.T) {
	p := fixture.NewProcess("1", "a", fixture.Start)
	for i := range 60 {
		at := fixture.Start.Add(time.Duration(i) * time.Minute)
		p.Counts("a.B", at, time.Minute, 10)
		p.Call("a.B", methodspan.CallerEntry, at, time.Second, time.Duration(100+i%7)*time.Millisecond, 0.1, 1)
		p.Beat(at, time.Minute, 800*time.Millisecond, i == 59)
	}
	w := openAll(t, fixture.Write(t, []methodspan.Item{p.Item()}))
	r, err := Check(t.Context(), w, query.Filter{}, fixture.Evening)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := r.Reconcile(t.Context(), w, query.Filter{}, query.Window{})
	const excess = "self costs of shop were estimated at 0.0171 core-h in all, more than its process CPU of 0.0133, and are reconciled with it"
	if err != nil || len(lines) != 1 || !strings.Contains(lines[0], excess) || len(r.Reconciled) != 1 {
		t.Fatalf("%q, %+v, %v", lines, r.Reconciled, err)
	}
	if s := r.Reconciled[0]; s.Name != "shop" || s.ProcessCoreHours < 0.01333 || s.ProcessCoreHours > 0.01334 || !(s.MeasuredCoreHours > s.ProcessCoreHours) {
		t.Errorf("%+v", s)
	}
}

func TestNotes(t *testing.T) {
	shop := Service{Service: query.Service{Name: "shop"}}
	for want, s := range map[string]func(*Service){
		"":                                     func(*Service) {},
		"conflict: shop: 2 batches":            func(s *Service) { s.ConflictingBatches = 2 },
		"impossible: shop: 3 rows":             func(s *Service) { s.ImpossibleRows = 3 },
		"measured above counted: shop: 4 meas": func(s *Service) { s.MeasuredAboveCounted = 4 },
		"assumed: shop: 5 calls are a lower b": func(s *Service) { s.AssumedCalls = 5 },
		"processes may be merged: shop":        func(s *Service) { s.MayBeMerged = true },
	} {
		x := shop
		s(&x)
		r := Accounts{Services: []Service{x}}
		if notes := r.Notes(); len(notes) != min(1, len(want)) || !strings.HasPrefix(strings.Join(notes, ""), want) {
			t.Errorf("%q, want %q", notes, want)
		}
	}
}

// Costs and accounts name services whose processes can look like one: without an instance, or with only a network
// address.
func TestNotes_MergedProcesses(t *testing.T) {
	for instance, merged := range map[string]bool{"": true, methodspan.MayBeMerged + "10.0.0.7:40123": true, "web-7d9f/12": false} {
		p := fixture.NewProcess("1", instance, fixture.Start)
		p.Resource.ProcessStartNS = 0
		row := p.Call("web.Serve", "(entry)", fixture.Start, time.Millisecond, -1, 1, 0)
		row.WeightBasis, row.Calls = methodspan.BasisThreshold, 1
		root := fixture.Write(t, []methodspan.Item{p.Item()})
		_, text := checkAll(t, root)
		costs := costText(t, root)
		const note = "processes may be merged: store/shop (production)"
		if strings.Contains(text, note) != merged || strings.Contains(costs, note) != merged {
			t.Errorf("instance %q: want a note %t: %s\n%s", instance, merged, text, costs)
		}
	}
}
