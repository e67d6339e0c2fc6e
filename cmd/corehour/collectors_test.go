package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/ledger"
	"github.com/corehour/corehour/test/fixture"
)

// requests returns the export requests of a process that ran for 30 minutes and counted 10 calls a minute.
// Every other request has no counts. endpoints is the number of collectors that the process reports to send
// to; 0 means that it reports none.
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
			beat.Process.Stats = []methodspan.Stat{{Name: "export.endpoints", Value: endpoints}}
		}
		items = append(items, p.Item())
	}
	return items
}

func checked(t *testing.T, code int, args ...string) (ledger.Accounts, result) {
	t.Helper()
	text := corehour(append([]string{"check"}, args...)...)
	r := corehour(append([]string{"check", "--json"}, args...)...)
	var report ledger.Accounts
	if err := json.Unmarshal([]byte(r.stdout), &report); r.code != code || text.code != code || err != nil {
		t.Fatalf("%v: exit %d and %d, want %d, %v:\n%s%s", args, r.code, text.code, code, err, text.stdout, r.stderr)
	}
	return report, text
}

// moved splits items as if the process sent batches 21 to 40 to another collector.
func moved(items []methodspan.Item) (home, other []methodspan.Item) {
	return append(items[:20:20], items[40:]...), items[20:40]
}

func TestCheck_ProcessMovedBetweenCollectors(t *testing.T) {
	unracedWhenShort(t)
	clock(t, evening)
	for _, endpoints := range []float64{0, 2} {
		home, other := moved(requests("a", endpoints))
		a, b := fixture.Write(t, home), fixture.Write(t, other)

		report, text := checked(t, exitCannotTell, "--warehouse", a)
		missing := report.Processes[0].MissingBatches
		if report.Balanced || report.Losses.LostInTransit != 0 || report.Losses.NotJudgedCalls != 100 ||
			missing == nil || *missing != (ledger.MissingBatches{Batches: 20, First: 21, Last: 40, Calls: 100}) {
			t.Errorf("%+v %+v", report, missing)
		}
		for _, want := range []string{"could not tell: 100 calls of shop 1 a (20 batches, 21 to 40) are not here", "pass the other --warehouse too"} {
			if !strings.Contains(unwrapped(text.stdout), want) {
				t.Errorf("want %q:\n%s", want, text.stdout)
			}
		}
		// cost reports the missing calls.
		const lack = "missing: store/shop (production): 100 of 300 calls of its processes are not stored here, so figures are too low by what they cost"
		if r := corehour("cost", "--warehouse", a); r.code != exitNothing || !strings.Contains(unwrapped(r.stdout), lack) {
			t.Errorf("cost: %+v", r)
		}
		if r := corehour("cost", "--warehouse", fixture.Write(t, requests("a", endpoints))); r.code != exitNothing || strings.Contains(r.stdout, "missing") {
			t.Errorf("cost of all: %+v", r)
		}
		// The other warehouse lacks the first 20 batches, and cannot know that batches 41 to 60 exist.
		report, _ = checked(t, exitCannotTell, "--warehouse", b)
		if missing := report.Processes[0].MissingBatches; report.Losses.NotJudgedCalls != 100 || missing.First != 1 || missing.Last != 20 {
			t.Errorf("%+v %+v", report.Losses, missing)
		}

		report, text = checked(t, exitNothing, "--warehouse", a, "--warehouse", b)
		p := report.Processes[0]
		if !report.Balanced || len(report.Processes) != 1 || p.HandedOutCalls != 300 || p.CountedCalls != 300 || p.State != ledger.Ended {
			t.Errorf("%+v", report)
		}
		if w := report.Warehouses; len(w) != 2 || w[0].Warehouse != a || w[1].Warehouse != b || w[0].FreshnessP99Seconds == nil ||
			*report.FreshnessP99Seconds != max(*w[0].FreshnessP99Seconds, *w[1].FreshnessP99Seconds) || w[0].Rows+w[1].Rows != report.Rows {
			t.Errorf("%+v", report.Warehouses)
		}
		if !strings.Contains(text.stdout, b) && !strings.Contains(text.stdout, filepath.Base(filepath.Dir(b))) {
			t.Errorf("no line about %s:\n%s", b, text.stdout)
		}
	}
}

// A real loss is reported with one warehouse and with two.
func TestCheck_SeparatesLossesFromMoves(t *testing.T) {
	unracedWhenShort(t)
	clock(t, evening)
	home, other := moved(requests("a", 2))
	a, b := fixture.Write(t, append(home[:8:8], home[10:]...)), fixture.Write(t, other)
	report, text := checked(t, exitFound, "--warehouse", a, "--warehouse", b)
	if m := report.Processes[0].MissingBatches; report.Losses.LostInTransit != 10 || report.Losses.NotJudgedCalls != 0 || m == nil || m.Batches != 2 || m.First != 9 {
		t.Errorf("%+v %+v", report.Losses, m)
	}
	if strings.Contains(text.stdout, "pass the") {
		t.Errorf("there is no other one to pass:\n%s", text.stdout)
	}

	// All batches are stored, but a row of one batch is missing.
	items := requests("b", 2)
	items[3].Rows = items[3].Rows[1:]
	if report, _ = checked(t, exitFound, "--warehouse", fixture.Write(t, items)); report.Losses.LostInTransit != 10 || report.Losses.NotJudgedCalls != 0 {
		t.Errorf("%+v", report.Losses)
	}
	// The process reports that it sends to one collector only.
	items = requests("c", 1)
	report, text = checked(t, exitFound, "--warehouse", fixture.Write(t, append(items[:20:20], items[22:]...)))
	if report.Losses.LostInTransit != 10 || !strings.Contains(unwrapped(text.stdout), "if a proxy spreads requests over several collectors, pass the other --warehouse too") {
		t.Errorf("%+v:\n%s", report.Losses, text.stdout)
	}
	// The missing calls may be at a third collector.
	items = requests("d", 3)
	a, b = fixture.Write(t, items[:20]), fixture.Write(t, items[40:])
	if report, text = checked(t, exitCannotTell, "--warehouse", a, "--warehouse", b); report.Losses.NotJudgedCalls != 100 || !strings.Contains(text.stdout, "of every collector") {
		t.Errorf("%+v:\n%s", report.Losses, text.stdout)
	}
	// The first warehouse alone has no gap: the process seems to have ended without a final row.
	if report, text = checked(t, exitNothing, "--warehouse", a); len(report.Losses.DeadProcess) != 1 || !strings.Contains(unwrapped(text.stdout), "may have moved to another collector") {
		t.Errorf("%+v:\n%s", report.Losses, text.stdout)
	}
}

func TestCheck_StoredByTwoCollectors(t *testing.T) {
	unracedWhenShort(t)
	clock(t, evening)
	items := requests("a", 2)
	a, b := fixture.Write(t, items[:30]), fixture.Write(t, items[28:])
	report, text := checked(t, exitFound, "--warehouse", a, "--warehouse", b)
	l := report.Losses
	if l.OverCounted != 0 || l.LostInTransit != 0 || l.DuplicateRows != 3 || l.DuplicateRowsOfOthers != 3 || report.Processes[0].CountedCalls != 300 {
		t.Errorf("%+v", l)
	}
	if !strings.Contains(unwrapped(text.stdout), "3 of these are stored by two collectors") {
		t.Errorf("%s", text.stdout)
	}
	// Duplicate rows do not hide a loss.
	b = fixture.Write(t, append(items[28:40:40], items[42:]...))
	if report, _ = checked(t, exitFound, "--warehouse", a, "--warehouse", b); report.Losses.LostInTransit != 10 || report.Losses.DuplicateRows != 3 {
		t.Errorf("%+v", report.Losses)
	}

	// A warehouse that is given twice is read once, even under another path.
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(a, link); err != nil {
		t.Fatal(err)
	}
	whole := fixture.Write(t, items)
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(whole, link); err != nil {
		t.Fatal(err)
	}
	report, text = checked(t, exitNothing, "--warehouse", whole, "--warehouse", link)
	if len(report.Warehouses) != 1 || text.stderr != "--warehouse "+link+": is the same as "+whole+", and read once\n" {
		t.Errorf("%+v %q", report.Warehouses, text.stderr)
	}
}

func TestCheck_SeveralBuckets(t *testing.T) {
	unracedWhenShort(t)
	clock(t, evening)
	home, other := moved(requests("a", 2))
	a, b := fixture.Write(t, home), fixture.Write(t, other)
	bucket := inBucket(t, map[string]string{"host-2": b})
	report, _ := checked(t, exitNothing, "--warehouse", a, "--warehouse", bucket, "--deep")
	if len(report.Warehouses) != 2 || report.Warehouses[1].Warehouse != bucket || report.Warehouses[1].FreshnessNote == "" || report.Warehouses[0].FreshnessNote != "" {
		t.Errorf("%+v", report.Warehouses)
	}
	// One bucket can contain the prefixes of both collectors.
	both := inBucket(t, map[string]string{"host-1": a, "host-2": b})
	checked(t, exitNothing, "--warehouse", both)
	if report, text := checked(t, exitNothing, "--warehouse", both, "--warehouse", both); len(report.Warehouses) != 1 || !strings.Contains(text.stderr, "read once") {
		t.Errorf("%+v %q", report.Warehouses, text.stderr)
	}
}

func TestCheck_DatesWithoutBatches(t *testing.T) {
	home, other := moved(requests("a", 2))
	a, b := fixture.Write(t, home), fixture.Write(t, other)
	clock(t, fixture.Start.Add(80*time.Hour))
	if r := corehour("compact", "--warehouse", b, "--hour-after", "1d"); r.code != exitNothing {
		t.Fatalf("%+v", r)
	}
	// If either warehouse has rolled up a date, its calls cannot be reconciled.
	report, text := checked(t, exitCannotTell, "--warehouse", a, "--warehouse", b)
	if report.RolledUpTo != "2026-03-10" || len(report.Processes) != 0 || !strings.Contains(unwrapped(text.stdout), "dates up to 2026-03-10 are rolled up and keep no account") {
		t.Errorf("%+v:\n%s", report, text.stdout)
	}
	// Gaps cannot be found without batch numbers.
	items := requests("b", 2)
	for i := range items {
		for j := range items[i].Rows {
			items[i].Rows[j].BatchID = "run-1"
		}
		items[i].ID = "run-" + items[i].ID
	}
	report, text = checked(t, exitCannotTell, "--warehouse", fixture.Write(t, items[:20], items[40:]))
	if m := report.Processes[0].MissingBatches; m == nil || !m.Unnumbered || report.Losses.NotJudgedCalls != 100 || !strings.Contains(unwrapped(text.stdout), "rows without a batch number") {
		t.Errorf("%+v:\n%s", report, text.stdout)
	}
}

func TestCheck_NamesInvalidWarehouse(t *testing.T) {
	clock(t, evening)
	home, other := moved(requests("a", 2))
	a, b := fixture.Write(t, home), fixture.Write(t, other)
	none := filepath.Join(t.TempDir(), "none")
	for args, want := range map[string]string{
		"check --warehouse " + a + " --warehouse " + none:                                "--warehouse " + none + ": ",
		"check --warehouse " + a + " --warehouse bigquery://p/d":                         "--warehouse bigquery://p/d: several warehouses must be directories or buckets",
		"cost --warehouse " + a + " --warehouse " + b:                                    "--warehouse: corehour cost reads one, found 2",
		"check --from 2020-01-01 --to 2020-01-02 --warehouse " + a + " --warehouse " + b: b + ": no rows of these dates",
	} {
		if r := corehour(strings.Fields(args)...); r.code < exitFailed || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: want %q: %+v", args, want, r)
		}
	}
	files, err := filepath.Glob(filepath.Join(b, "date=*", "*.parquet"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2]++
	if err := os.WriteFile(files[0], data, 0o644); err != nil {
		t.Fatal(err)
	}
	if r := corehour("check", "--deep", "--warehouse", a, "--warehouse", b); r.code != exitFailed || !strings.Contains(r.stderr, files[0]) || strings.Contains(r.stderr, a+"/") {
		t.Errorf("%+v", r)
	}
}
