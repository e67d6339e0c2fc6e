package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corehour/corehour/test/fixture/remote"
)

// TestSQL_Output: --output writes all rows of the window to a new file, from files and from BigQuery. A statement that
// fails leaves no file.
func TestSQL_Output(t *testing.T) {
	clock(t, evening)
	root := twoReleases(t, 0.5)
	_, address := remote.Serve(t, root)
	const text = "SELECT class, method FROM method_calls WHERE kind = 'counts'"
	dir := t.TempDir()
	for i, warehouse := range []string{root, address} {
		path := filepath.Join(dir, []string{"files", "bigquery"}[i]+".parquet")
		r := corehour("sql", "--warehouse", warehouse, "--from", "2026-03-10 09:00", "--to", "2026-03-10 09:10", "--output", path, text)
		if r.code != exitNothing || r.stdout != "" || !strings.Contains(r.stderr, "wrote 80 rows to "+path) { // 4 methods, 2 instances, 10 minutes
			t.Fatalf("%+v", r)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		usual, err := os.Create(filepath.Join(t.TempDir(), "usual"))
		if err != nil {
			t.Fatal(err)
		}
		defer usual.Close()
		if other, err := usual.Stat(); err != nil || other.Mode() != info.Mode() {
			t.Errorf("mode %s, other files have %s, %v", info.Mode(), other.Mode(), err)
		}
		if r := corehour("sql", "--warehouse", warehouse, "--output", path, text); r.code != exitFailed || !strings.Contains(r.stderr, "exists already") {
			t.Errorf("%+v", r)
		}
	}
	for _, args := range [][]string{{"--output", "x.csv", text}, {"--output", "x.parquet", "--limit", "3", text}, {"--output", t.TempDir() + "/no/x.parquet", text}} {
		if r := corehour(append([]string{"sql", "--warehouse", root}, args...)...); r.code != exitFailed || !strings.Contains(r.stderr, "--output") {
			t.Errorf("%v: %+v", args, r)
		}
	}
	empty := t.TempDir()
	for _, text := range []string{"EXPLAIN SELECT 1", "nonsense", "SELECT error('half way') FROM method_calls", "COPY (SELECT 1) TO '" + filepath.Join(dir, "files.parquet") + "'"} {
		if r := corehour("sql", "--warehouse", root, "--output", filepath.Join(empty, "x.parquet"), text); r.code != exitFailed || r.stderr == "" {
			t.Errorf("%s: %+v", text, r)
		}
	}
	if left, err := os.ReadDir(empty); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// TestSQL_Window: time flags select the rows of both views, and --tz the zone of instants.
func TestSQL_Window(t *testing.T) {
	clock(t, evening)
	root := twoReleases(t, 0.5)
	const text = "SELECT MIN(make_timestamp(start_ns // 1000)) AS first FROM "
	for _, view := range []string{"method_calls", "query_table('method_' || 'cost')"} {
		r := corehour("sql", "--warehouse", root, "--format", "json", "--tz", "Asia/Kolkata", "--since", "90m", text+view+" WHERE kind = 'counts'")
		if r.code != exitNothing || !strings.Contains(r.stdout, `"first": "2026-03-10T15:00:00+05:30"`) {
			t.Errorf("%s: %+v", view, r)
		}
	}
}
