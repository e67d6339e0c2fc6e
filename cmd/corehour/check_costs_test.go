package main

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corehour/corehour/internal/warehouse/parquet"
)

// replaceCommitted writes data to the file path of a warehouse and updates the checksums of all files that
// refer to it, as if data had been committed.
func replaceCommitted(t *testing.T, root, path string, data []byte) {
	t.Helper()
	for {
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if filepath.Base(path) == "CURRENT" {
			return
		}
		old, replaced := parquet.Checksum(before), parquet.Checksum(data)
		naming, err := filepath.Glob(filepath.Join(root, "_manifest", "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		path = ""
		for _, next := range append(naming, filepath.Join(root, "CURRENT")) {
			text, err := os.ReadFile(next)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(text, []byte(old)) {
				path, data = next, bytes.ReplaceAll(text, []byte(old), []byte(replaced))
			}
		}
		if path == "" {
			t.Fatalf("nothing names %s", old)
		}
	}
}

// check prints its reconciliation even if costs cannot be computed, here because the column chunk of the
// CPU times is unreadable.
func TestCheck_WithoutCosts(t *testing.T) {
	clock(t, evening)
	root := twoReleases(t, 0.5)
	files, err := filepath.Glob(filepath.Join(root, "date=*", "*.parquet"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var start, size int64
	if err := db.QueryRowContext(t.Context(), `SELECT COALESCE(dictionary_page_offset, data_page_offset), total_compressed_size
		FROM parquet_metadata('`+files[0]+`') WHERE path_in_schema = 'cpu_ns' ORDER BY total_compressed_size DESC LIMIT 1`).Scan(&start, &size); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	copy(data[start:start+size], bytes.Repeat([]byte{0xff}, int(size)))
	replaceCommitted(t, root, files[0], data)
	if r := corehour("cost", "--warehouse", root); r.code != exitFailed {
		t.Fatalf("costs can be computed: %+v", r)
	}
	if r := corehour("check", "--warehouse", root); r.code != exitNothing || !strings.Contains(r.stdout, "balanced") || !strings.Contains(r.stdout, "services whose costs were reduced to their CPU time are not known") {
		t.Errorf("%+v", r)
	}
}
