package lake

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/parquet"
)

// What is too old is said by when calls began, and not by when they were written or
// by what the file system thinks of their file.
func TestDatesExpireByTheirRowsOnly(t *testing.T) {
	root := t.TempDir()
	options := parquet.Options{Now: func() time.Time { return noon }}.Inject(func(string, string, bool) error { return nil })
	w, err := parquet.NewWriter(root, options)
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
	before, err := parquet.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range before.Files { // young dates get old files, old dates young ones
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
	after, err := parquet.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, f := range after.Files {
		left = append(left, f.Date)
	}
	// At noon the date of three days ago ended two days and a half ago.
	if len(left) != 4 || left[0] != noon.AddDate(0, 0, -3).Format(time.DateOnly) || len(report.Steps) != 4 {
		t.Errorf("left are %v after %+v", left, report.Steps)
	}
	// A row of a date that was dropped is refused and counted, and does not vanish.
	if w, err = parquet.NewWriter(root, options); err != nil {
		t.Fatal(err)
	}
	start := noon.AddDate(0, 0, -6).UnixNano()
	late := methodspan.Row{Resource: &methodspan.Resource{}, Kind: methodspan.KindCounts, Level: methodspan.LevelRaw, StartNS: start, EndNS: start, Method: "m", Calls: 1, BatchID: "late"}
	result, err := w.Write(context.Background(), []methodspan.Item{{ID: "late", Rows: []methodspan.Row{late}}})
	if err == nil || result.Rows != 0 || result.Refused[parquet.Expired] != 1 {
		t.Errorf("a row of a dropped date: %+v, %v", result, err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}
