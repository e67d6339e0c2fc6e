package maintain

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// Rows expire by the start of their calls, not by the time they were written or the modification time of
// their file.
func TestExpire_ByStartOfCalls(t *testing.T) {
	root := t.TempDir()
	options := table.Options{Now: func() time.Time { return noon }}.Inject(func(string, string, bool) error { return nil })
	w, err := table.NewWriter(root, options)
	if err != nil {
		t.Fatal(err)
	}
	for daysAgo := range 8 {
		start := noon.AddDate(0, 0, -daysAgo).UnixNano()
		id := fmt.Sprintf("item-%d", daysAgo)
		row := methodspan.Row{Resource: &methodspan.Resource{Service: "shop"}, Kind: methodspan.KindCounts, Level: methodspan.LevelRaw, StartNS: start, EndNS: start, Method: "m", Calls: 1, BatchID: id}
		if _, err := w.Write(context.Background(), []methodspan.Item{{ID: id, Rows: []methodspan.Row{row}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := table.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range before.Files { // young dates get old files, old dates young files
		at := noon.AddDate(-1, 0, 0)
		if f.Date < noon.AddDate(0, 0, -4).Format(time.DateOnly) {
			at = noon
		}
		if err := os.Chtimes(f.Path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	job := Job{Root: root, Policy: Policy{MaxFiles: DefaultMaxFiles, KeepRaw: 3 * day}, Parquet: options}
	report, err := job.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	after, err := table.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, f := range after.Files {
		left = append(left, f.Date)
	}
	// At noon, the date of three days ago ended two and a half days ago.
	if len(left) != 4 || left[0] != noon.AddDate(0, 0, -3).Format(time.DateOnly) || len(report.Steps) != 4 {
		t.Errorf("left are %v after %+v", left, report.Steps)
	}
	// A row of a dropped date is refused and counted, not silently lost.
	if w, err = table.NewWriter(root, options); err != nil {
		t.Fatal(err)
	}
	start := noon.AddDate(0, 0, -6).UnixNano()
	late := methodspan.Row{Resource: &methodspan.Resource{}, Kind: methodspan.KindCounts, Level: methodspan.LevelRaw, StartNS: start, EndNS: start, Method: "m", Calls: 1, BatchID: "late"}
	result, err := w.Write(context.Background(), []methodspan.Item{{ID: "late", Rows: []methodspan.Row{late}}})
	if err == nil || result.Rows != 0 || result.Refused[warehouse.Expired] != 1 {
		t.Errorf("a row of a dropped date: %+v, %v", result, err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// A date whose only service was deleted is removed once the window of its items has passed. The writer then
// accepts rows of this date again.
func TestExpire_DateWithoutFiles(t *testing.T) {
	root, now := t.TempDir(), noon
	options := table.Options{Late: 30 * day, Now: func() time.Time { return now }}.Inject(func(string, string, bool) error { return nil })
	w, err := table.NewWriter(root, options)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	add := func(id, service string, at time.Time) {
		t.Helper()
		row := methodspan.Row{Resource: &methodspan.Resource{Service: service}, Kind: methodspan.KindCounts, Level: methodspan.LevelRaw, StartNS: at.UnixNano(), EndNS: at.UnixNano(), Method: "m", Calls: 1, BatchID: id}
		if res, err := w.Write(context.Background(), []methodspan.Item{{ID: id, Rows: []methodspan.Row{row}}}); err != nil || res.Rows != 1 {
			t.Fatalf("%+v, %v", res, err)
		}
	}
	add("a-1", "shop", noon.Add(-day))
	add("b-1", "till", noon)
	job := Job{Root: root, Policy: Policy{MaxFiles: DefaultMaxFiles, KeepRaw: 20 * day}, Parquet: options}
	if _, err := job.DeleteService(context.Background(), "shop"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{2, 1} { // within the window of its items, then after it
		if _, err := job.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		m, err := table.NewMaintainer(root, options)
		if err != nil {
			t.Fatal(err)
		}
		dates, err := m.Dates()
		if err != nil || len(dates) != want {
			t.Errorf("%d dates, %v, want %d", len(dates), err, want)
		}
		m.Close()
		now = now.Add(3 * day)
	}
	add("c-1", "shop", noon.Add(-day))
}
