package query

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/table"
	"github.com/corehour/corehour/test/fixture"
)

// threeDays writes one row at noon of each of three dates, each in its own file.
func threeDays(t *testing.T) string {
	t.Helper()
	var commits [][]methodspan.Item
	for day := range 3 {
		p := fixture.NewProcess("1", "a", fixture.Start.Add(time.Duration(day-2)*24*time.Hour))
		p.Counts("a.B", p.Start, time.Minute, int64(1+day))
		p.Call("a.B", "(entry)", p.Start, time.Second, time.Second, 1, 1)
		commits = append(commits, []methodspan.Item{p.Item()})
	}
	return fixture.Write(t, commits...)
}

func TestOpen_WholeDates(t *testing.T) {
	root := threeDays(t)
	for _, tc := range []struct {
		name     string
		from, to time.Time
		files    int
	}{
		{"all", time.Time{}, time.Time{}, 3},
		{"from the middle of the second", fixture.Start.Add(-23 * time.Hour), time.Time{}, 2},
		{"to the start of the third", time.Time{}, fixture.Start.Truncate(24 * time.Hour), 2},
		{"some minutes without rows", fixture.Start.Add(time.Hour), fixture.Start.Add(2 * time.Hour), 1},
	} {
		w, err := Open(context.Background(), root, Window{tc.from, tc.to})
		if err != nil {
			t.Fatal(err)
		}
		if len(w.Files) != tc.files {
			t.Errorf("%s: %d files, want %d", tc.name, len(w.Files), tc.files)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
	_, err := Open(context.Background(), root, Window{From: fixture.Start.Add(48 * time.Hour)})
	if !errors.Is(err, ErrNoData) || !strings.Contains(err.Error(), "from 2026-03-08 to 2026-03-10") {
		t.Error(err)
	}
}

// The engine keeps no contents of files in its cache.
func TestEngine_NoCopyOfFiles(t *testing.T) {
	w, err := Open(context.Background(), threeDays(t), Window{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var calls, bytes int64
	if err := w.db.QueryRow("SELECT CAST(COALESCE(SUM(calls), 0) AS BIGINT) FROM method_stored").Scan(&calls); err != nil {
		t.Fatal(err)
	}
	if err := w.db.QueryRow("SELECT CAST(COALESCE(SUM(memory_usage_bytes), 0) AS BIGINT) FROM duckdb_memory() WHERE tag = 'EXTERNAL_FILE_CACHE'").Scan(&bytes); err != nil {
		t.Fatal(err)
	}
	if calls == 0 || bytes != 0 {
		t.Errorf("%d calls read, %d bytes of files kept", calls, bytes)
	}
}

// A window cuts rows and does not change their weights, which are computed from whole dates.
func TestWeights_IndependentOfWindow(t *testing.T) {
	shop := fixture.Shop{Seed: 1, Version: "1", Instances: []string{"a"}, Start: fixture.Start, Minutes: 90, Requests: 3,
		Rate: map[string]float64{fixture.Rate: 0.2}}
	items, _ := shop.Run()
	root := fixture.Write(t, items)
	total := func(window Window) (n float64) {
		w, err := Open(context.Background(), root, window)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		profiles, _, err := w.Profiles(context.Background(), ProfileQuery{Metric: CPU, Window: window, TimeBucket: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range profiles {
			if p.Method == "Rate" {
				n += p.N
			}
		}
		return n
	}
	cut := fixture.Start.Add(37*time.Minute + 20*time.Second)
	whole, before, after := total(Window{}), total(Window{To: cut}), total(Window{From: cut})
	if d := before + after - whole; d > 1e-9 || d < -1e-9 || before == 0 || after == 0 {
		t.Errorf("%v calls before the cut, %v after, %v in all", before, after, whole)
	}
}

// An open warehouse does not change while the collector writes on.
func TestOpen_OneCommit(t *testing.T) {
	root := threeDays(t)
	w, err := Open(context.Background(), root, Window{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	p := fixture.NewProcess("1", "b", fixture.Start)
	p.Counts("a.B", p.Start, time.Minute, 1)
	fixture.Append(t, root, fixture.Start.Add(25*time.Hour), []methodspan.Item{p.Item()})
	if n := count(t, w); n != 6 {
		t.Errorf("%d rows, want the 6 of the commit that was opened", n)
	}
	later, err := Open(context.Background(), root, Window{})
	if err != nil {
		t.Fatal(err)
	}
	defer later.Close()
	if n := count(t, later); n != 7 {
		t.Errorf("%d rows, want 7", n)
	}
}

// A file that is missing or replaced is an error, not a warehouse of fewer rows.
func TestOpen_FilesOfCommit(t *testing.T) {
	for name, spoil := range map[string]func(path, other string) error{
		"it has ":      func(path, other string) error { return os.Rename(other, path) },
		"no such file": func(path, _ string) error { return os.Remove(path) },
	} {
		root := threeDays(t)
		w, err := Open(t.Context(), root, Window{})
		if err != nil {
			t.Fatal(err)
		}
		files := w.Files
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		p := fixture.NewProcess("1", "another", fixture.Start)
		p.Counts("a.B", p.Start, time.Minute, 1)
		other := t.TempDir()
		fixture.Append(t, other, fixture.Start.Add(time.Hour), []methodspan.Item{p.Item()})
		others, err := filepath.Glob(filepath.Join(other, "date=*", "*.parquet"))
		if err != nil || len(others) != 1 {
			t.Fatal(others, err)
		}
		if err := spoil(files[0].Path, others[0]); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), root, Window{}); !errors.Is(err, warehouse.ErrCorrupt) || !strings.Contains(err.Error(), files[0].Path) || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want that %s is damaged", err, files[0].Path)
		}
	}
}

func count(t *testing.T, w *Warehouse) int64 {
	t.Helper()
	table, err := w.User(context.Background(), "SELECT COUNT(*) FROM method_calls", 1)
	if err != nil {
		t.Fatal(err)
	}
	return table.Rows[0][0].(int64)
}

// Paths with quotes and wildcards are plain file names.
func TestOpen_OddPaths(t *testing.T) {
	dir := t.TempDir()
	odd := filepath.Join(dir, "a'b [c] * ? {d}")
	for _, path := range []string{odd, filepath.Join(dir, "a'b [c] x ? {d}"), filepath.Join(dir, "a'b c x y {d}")} { // as a pattern, the first path matches the others
		if err := os.Rename(threeDays(t), path); err != nil {
			t.Fatal(err)
		}
	}
	w, err := Open(context.Background(), odd, Window{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if n := count(t, w); n != 6 {
		t.Errorf("%d rows, want 6", n)
	}
	if fresh, err := w.Freshness(context.Background(), Window{}, Filter{}); err != nil || !fresh.Known {
		t.Error("freshness is not known", err)
	}
}

// Data that does not fit in memory is spilled to a directory that Close removes.
func TestClose_RemovesSpillFiles(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	snapshot, err := table.Open(threeDays(t))
	if err != nil {
		t.Fatal(err)
	}
	w := &Warehouse{Snapshot: snapshot, Files: snapshot.Files}
	if err := w.start(context.Background(), "SET memory_limit = '128MB'"); err != nil {
		t.Fatal(err)
	}
	// Sorting 2 million texts of 100 bytes takes twice the available memory.
	rows, err := w.db.Query("SELECT range, repeat('x', 100) || range AS t FROM range(2000000) ORDER BY hash(range)")
	if err != nil {
		t.Fatal(err)
	}
	if !rows.Next() {
		t.Fatal(rows.Err())
	}
	spilled, err := os.ReadDir(temp)
	if err != nil || len(spilled) != 1 || !strings.HasPrefix(spilled[0].Name(), "corehour-spill-") {
		t.Errorf("spilled to %v, %v", spilled, err)
	}
	if err := errors.Join(rows.Close(), w.Close()); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestOpen_UnknownSchemes(t *testing.T) {
	for _, root := range []string{"ftp://bucket/x", "azblob://b", "bigquery://project"} {
		_, err := Open(context.Background(), root, Window{})
		if err == nil || !strings.Contains(err.Error(), "--warehouse") || !strings.Contains(err.Error(), root) {
			t.Errorf("%s: %v", root, err)
		}
	}
}

// A bound outside the range of possible row times selects the same rows as an open bound.
func TestOpen_BoundsBeyondRowTimes(t *testing.T) {
	root := threeDays(t)
	want := count(t, openIn(t, root, Window{}))
	for _, bounds := range [][2]string{
		{"1970-01-01T00:00:00Z", "2100-01-01T00:00:00Z"}, {"1500-01-01T00:00:00Z", "9999-12-31T00:00:00Z"}, {"0002-01-01T00:00:00Z", "9999-12-31T23:59:59-05:00"},
		{"1677-01-01T00:00:00Z", "2262-05-01T00:00:00Z"},
	} {
		var window Window
		for i, at := range []*time.Time{&window.From, &window.To} {
			var err error
			if *at, err = time.Parse(time.RFC3339, bounds[i]); err != nil {
				t.Fatal(err)
			}
		}
		w := openIn(t, root, window)
		if got := count(t, w); got != want || want == 0 {
			t.Errorf("%v: %d rows, want %d", bounds, got, want)
		}
		if runs, err := w.Runs(t.Context(), window, Filter{}); err != nil || len(runs) == 0 {
			t.Errorf("%v: %d runs, %v", bounds, len(runs), err)
		}
	}
}

func openIn(t *testing.T, root string, window Window) *Warehouse {
	t.Helper()
	w, err := Open(t.Context(), root, window)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}
