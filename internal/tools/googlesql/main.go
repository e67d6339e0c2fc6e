// Command googlesql checks the statements for BigQuery with the analyzer of
// BigQuery's SQL: their grammar, names, types and functions, against the table as
// the exporter makes it.
//
//	googlesql DIR
//
// DIR holds *.sql, and table.json with the columns. Statements that are accepted
// are noted in checked.json by their hash and the table's, so that an ordinary test
// sees when one was changed since. It fails if one is refused.
//
// It does not see limits of the engine, as that joins need equalities: a test of
// the package that makes the statements does.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// parameters are all that the statements have.
var parameters = map[string]string{
	"from_ns": "INT64", "to_ns": "INT64", "raw_from_ns": "INT64", "read_to_ns": "INT64", "slot_ns": "INT64", "bucket_ns": "INT64", "begin_ns": "INT64", "daily": "INT64", "by_age": "INT64", "warm_up_ns": "INT64", "unit_ns": "INT64",
	"service_namespace": "STRING", "service": "STRING", "environment": "STRING", "base_version": "STRING", "head_version": "STRING", "from_date": "DATE", "to_date": "DATE",
	"compared": "ARRAY<STRUCT<service_namespace STRING, service STRING, environment STRING, version STRING, side STRING, from_ns INT64, to_ns INT64, slot_ns INT64>>",
	"members":  "ARRAY<STRUCT<side STRING, instance STRING, process_start_ns INT64, member INT64, warm_ns INT64>>",
	"chosen":   "ARRAY<STRUCT<service_namespace STRING, service STRING, environment STRING, class STRING, method STRING>>",
	"owned":    "ARRAY<STRUCT<service_namespace STRING, service STRING, environment STRING, class STRING, owner STRING>>",
	"repriced": "ARRAY<STRUCT<cloud_provider STRING, region STRING, host_type STRING, capacity_type STRING, usd_per_core_hour STRING, listed STRING>>",
}

// tables are the names under which statements read the table.
var tables = []string{"method_calls", "PROJECT.DATASET.method_calls"}

// foreign is a table that an example joins with.
const foreign = "my-project.traces.spans"

var foreignColumns = []column{{"trace_id", "STRING"}, {"name", "STRING"}, {"day", "DATE"}, {"duration_ms", "FLOAT64"}}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: googlesql DIR")
		os.Exit(2)
	}
	if err := checkStatements(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "googlesql:", err)
		os.Exit(1)
	}
}

func checkStatements(dir string) error {
	table, err := os.ReadFile(filepath.Join(dir, "table.json"))
	if err != nil {
		return err
	}
	var columns []column
	if err := json.Unmarshal(table, &columns); err != nil {
		return fmt.Errorf("table.json: %w", err)
	}
	a, err := newAnalyzer(columns)
	if err != nil {
		return err
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.sql"))
	if err != nil || len(paths) == 0 {
		return errors.Join(err, fmt.Errorf("no statements in %s", dir))
	}
	checked := map[string]string{}
	var refused []error
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(filepath.Base(path), ".sql")
		if err := a.check(string(text)); err != nil {
			refused = append(refused, fmt.Errorf("%s: %w", name, err))
			continue
		}
		sum := sha256.Sum256(append(text, table...))
		checked[name] = hex.EncodeToString(sum[:])
	}
	fmt.Printf("%d of %d statements are valid\n", len(checked), len(paths))
	out, err := json.MarshalIndent(checked, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "checked.json"), append(out, '\n'), 0o644); err != nil {
		return err
	}
	return errors.Join(refused...)
}
