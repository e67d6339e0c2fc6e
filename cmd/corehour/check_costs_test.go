package main

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The ledger is printed where costs cannot be computed: here the CPU times of a file are damaged.
func TestCheckStandsWithoutCosts(t *testing.T) {
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
	if err := os.WriteFile(files[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := corehour("cost", "--warehouse", root); r.code != exitFailed {
		t.Fatalf("costs can be computed: %+v", r)
	}
	if r := corehour("check", "--warehouse", root); r.code != exitNothing || !strings.Contains(r.stdout, "balanced") || !strings.Contains(r.stdout, "which services were reconciled is not known") {
		t.Errorf("%+v", r)
	}
}
