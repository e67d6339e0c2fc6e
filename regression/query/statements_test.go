package query

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/columns"
)

var update = flag.Bool("update", false, "rewrite the statements for BigQuery")

// statements returns every statement for BigQuery with every condition that it can have; omitting a condition removes
// only its part.
func statements(t *testing.T) map[string]string {
	t.Helper()
	out := statementsOf(t, Filter{Namespace: "n", Service: "s", Environment: "e"}, &Service{Namespace: "n", Name: "s"}) // environment unknown
	for name, text := range documented(t, out) {
		out[name] = text
	}
	out["user"] = strings.Replace(out["user"], "STATEMENT", "SELECT service, SUM(w * cpu_ns) AS ns FROM method_cost GROUP BY service ORDER BY ns DESC", 1)
	return out
}

// statementsOf returns the statements for services that pass filter and for the compared service.
func statementsOf(t *testing.T, filter Filter, compared *Service) map[string]string {
	t.Helper()
	out := map[string]string{}
	add := func(name, template string, s scope) {
		s.dialect = bigqueryDialect
		if s.Of == nil {
			s.Filter = filter
		}
		text, err := render(template, s)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = strings.TrimSpace(text) + "\n"
	}
	for _, metric := range []Metric{CPU, Wall} {
		timeBucket := map[Metric]time.Duration{CPU: sumsFrom, Wall: time.Minute}[metric] // rollup sums, and rows
		for _, template := range []string{"profile", "history", "distribution"} {
			add(template+"_"+string(metric), template, ProfileQuery{Metric: metric, TimeBucket: timeBucket}.scope())
		}
		add("cells_"+string(metric), "cells", scope{metricColumns: columnsOf[metric], Of: compared})
		add("days_"+string(metric), "days", scope{metricColumns: columnsOf[metric]})
		add("profile_sides_"+string(metric), "profile", ProfileQuery{Metric: metric, Compared: []Compared{{TimeBucket: timeBucket}}}.scope())
		add("profile_warm_up_"+string(metric), "profile", ProfileQuery{Metric: metric, Compared: []Compared{{TimeBucket: timeBucket}}, WarmUp: time.Minute}.scope())
	}
	add("members", "members", scope{Of: compared})
	for _, template := range []string{"services", "places", "priced", "classes", "percentiles", "tails", "runs", "sampling", "processes", "last_stats", "measured_above_counted", "duplicates", "stock", "extent", "pending", "assumed", "merged", "view_of_method_cost"} {
		add(template, template, scope{})
	}
	add("cost_methods", "cost", scope{metricColumns: columnsOf[CPU], Errors: true, CostGroup: []string{"service_namespace", "service", "environment", "class", "method"}})
	add("cost_of_service", "cost", scope{metricColumns: columnsOf[CPU], Errors: true, Of: compared, CostGroup: []string{"service_namespace", "service", "environment", "version", "class", "method"}})
	add("cost_owners", "cost", scope{metricColumns: columnsOf[CPU], Errors: true, Summed: true, CostGroup: []string{"owner"}, Owned: true, Repriced: true})
	add("cost_wall", "cost", scope{metricColumns: columnsOf[Wall], Errors: true, CostGroup: []string{"service_namespace", "service", "environment", "class", "method"}})
	add("cost_goroutine_groups", "cost", scope{metricColumns: columnsOf[CPU], Errors: true, CostGroup: []string{"owner", "goroutine_group"}, Owned: true, Repriced: true})
	add("assumed_no_frameworks", "assumed", scope{NoFrameworks: true})
	add("bill", "bill", scope{})
	add("bill_repriced", "bill", scope{Repriced: true})
	add("user", "user", scope{Within: startsWithin("@from_ns", "@to_ns")})
	return out
}

// documented returns the statements of docs/guides/bigquery.md: whole statements in blocks, and arguments of
// `corehour sql` within the statement that wraps them. The definition of the view replaces its name.
func documented(t *testing.T, statements map[string]string) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/guides/bigquery.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for i, m := range regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		text := strings.ReplaceAll(m[1], "my-project.corehour.", "PROJECT.DATASET.")
		if !strings.Contains(text, "event_date") {
			t.Errorf("a statement of the page has no condition on the partition: %s", text)
		}
		if with := strings.ReplaceAll(text, "`PROJECT.DATASET.method_cost`", "method_cost"); with != text {
			text = "WITH method_cost AS (\n" + statements["view_of_method_cost"] + ")\n" + with
		}
		out[fmt.Sprintf("docs_block_%d", i+1)] = text
	}
	for i, m := range regexp.MustCompile(`(?s)corehour sql [^"`+"`"+`]*"([^"]*)"`).FindAllStringSubmatch(string(page), -1) {
		out[fmt.Sprintf("docs_sql_%d", i+1)] = strings.Replace(statements["user"], "STATEMENT", m[1], 1)
	}
	if len(out) < 3 {
		t.Errorf("only %d statements are found on the page", len(out))
	}
	return out
}

const statementsDir = "testdata/bigquery"

// TestStatements_CheckedForBigQuery requires that the files contain the statements as rendered, and that the
// analyzer accepted exactly this text. `make check-bigquery-sql` checks them and writes checked.json.
func TestStatements_CheckedForBigQuery(t *testing.T) {
	var checked map[string]string
	data, err := os.ReadFile(filepath.Join(statementsDir, "checked.json"))
	if err == nil {
		err = json.Unmarshal(data, &checked)
	}
	if err != nil && !*update {
		t.Fatal(err)
	}
	all := statements(t)
	table, err := json.MarshalIndent(tableColumns(columns.All), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range all {
		compareFile(t, filepath.Join(statementsDir, name+".sql"), text)
		if sum := sha256.Sum256([]byte(text + string(table))); checked[name] != hex.EncodeToString(sum[:]) && !*update {
			t.Errorf("%s has changed since an analyzer of BigQuery's SQL accepted it: run make check-bigquery-sql", name)
		}
	}
	compareFile(t, filepath.Join(statementsDir, "table.json"), string(table))
	compareFile(t, "../../internal/warehouse/bigquery/method_cost.sql", all["view_of_method_cost"])
	files, err := filepath.Glob(filepath.Join(statementsDir, "*.sql"))
	if err != nil || len(files) != len(all) {
		t.Errorf("%d files for %d statements", len(files), len(all))
	}
	for _, name := range slices.Sorted(maps.Keys(checked)) {
		if all[name] == "" {
			t.Errorf("checked.json names %s, which is no statement", name)
		}
	}
}

func compareFile(t *testing.T, path, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is stale: go test ./regression/query -run Statements -update, then make check-bigquery-sql", path)
	}
}

// A division by zero returns NaN in DuckDB and an error in BigQuery, and the analyzer does not detect it. A divisor is
// therefore a constant, a length of time given as a parameter, or NULL instead of zero.
func TestStatements_NoDivisionByZero(t *testing.T) {
	noCode := regexp.MustCompile(`--.*|'[^']*'`)
	divisor := regexp.MustCompile(`/\s*([^/\n]*)`)
	safe := regexp.MustCompile(`^(?:NULLIF\(|LN\([1-9]|@slot_ns\b|(?:0\.)?[1-9])`)
	for name, text := range statements(t) {
		for _, m := range divisor.FindAllStringSubmatch(noCode.ReplaceAllString(text, ""), -1) {
			if !safe.MatchString(m[1]) {
				t.Errorf("%s divides by what may be zero: %s", name, m[1])
			}
		}
	}
}

// tableColumns returns the columns in the form that the analyzer reads.
func tableColumns(list []columns.Column) []map[string]string {
	var out []map[string]string
	for _, c := range list {
		out = append(out, map[string]string{"name": c.Name, "type": analyzerType(c)})
	}
	return out
}

func analyzerType(c columns.Column) string {
	if c.Type != columns.List {
		return c.Type.BigQuery
	}
	var fields []string
	for _, f := range c.Fields {
		fields = append(fields, f.Name+" "+f.Type.BigQuery)
	}
	return "ARRAY<STRUCT<" + strings.Join(fields, ", ") + ">>"
}

// Rules that the analyzer does not check: every read of the table has a filter on the partition, and joins have only
// equality conditions, by which BigQuery joins.
func TestStatements_EngineRules(t *testing.T) {
	scan := regexp.MustCompile("(?:FROM|JOIN) (?:method_calls|`PROJECT\\.DATASET\\.method_calls`)")
	filter := regexp.MustCompile(`event_date (?:BETWEEN @from_date AND @to_date|>= DATE_SUB)`)
	for name, text := range statements(t) {
		scans, filters := len(scan.FindAllString(text, -1)), len(filter.FindAllString(text, -1))
		if strings.HasPrefix(name, "docs_") {
			continue // from the page, not ours; documented checks the filter
		}
		if name == "user" { // the statement reads the relation after the cut
			scans -= strings.Count(text, "FROM method_calls") + strings.Count(text, "JOIN method_calls")
		}
		if scans == 0 || scans != filters {
			t.Errorf("%s reads the table %d times and has %d filters on the partition", name, scans, filters)
		}
		if strings.Contains(text, "IS NOT DISTINCT FROM") {
			t.Errorf("%s joins by IS NOT DISTINCT FROM", name)
		}
		for _, foreign := range []string{"DOUBLE", "BIGINT", "QUANTILE_CONT", "NOT MATERIALIZED", "$"} {
			if strings.Contains(text, foreign) {
				t.Errorf("%s has %q, which is not BigQuery's", name, foreign)
			}
		}
	}
}
