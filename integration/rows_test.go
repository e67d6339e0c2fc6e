package integration

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

// rowRules are SQL conditions that no stored row fulfils. In addition no text is empty: an unknown
// text is NULL.
var rowRules = map[string]string{
	"a row has no place":                        "batch_id IS NULL OR row_seq IS NULL",
	"a row ends before it starts":               "end_ns < start_ns",
	"a row lies on another date":                "event_date <> CAST(make_timestamp_ns(start_ns) AS DATE)",
	"a measurement took more CPU than wall":     "kind = 'call' AND cpu_ns > wall_ns",
	"more calls had their CPU timed than timed": "kind <> 'process' AND cpu_measured > measured",
	"a measurement has no probability":          "kind IN ('call', 'aggregate') AND (p IS NULL OR p <= 0 OR p > 1)",
	"CPU was measured with no probability":      "kind IN ('call', 'aggregate') AND cpu_measured > 0 AND (cpu_p IS NULL OR cpu_p <= 0)",
	"CPU time is zero for unknown":              "kind IN ('call', 'aggregate') AND cpu_measured = 0 AND cpu_ns IS NOT NULL",
	"CPU time is known and not called exact":    "kind IN ('call', 'aggregate') AND cpu_measured > 0 AND cpu_state <> 'exact'",
	"counts carry measurements":                 "kind = 'counts' AND (measured <> 0 OR wall_ns IS NOT NULL OR cpu_ns IS NOT NULL)",
	"a measurement of ours carries calls":       "kind IN ('call', 'aggregate') AND weight_basis = 'exact' AND calls <> 0",
	"an unpriced row has the source of a price": "usd_per_core_hour IS NULL AND NOT starts_with(price_source, 'unpriced')",
	"a price has no source":                     "usd_per_core_hour IS NOT NULL AND (price_source IS NULL OR starts_with(price_source, 'unpriced'))",
}

// requireSoundRows asserts that no row is stored twice and that every row follows the schema.
func requireSoundRows(t *testing.T, p *pipeline) {
	t.Helper()
	columns := []string{"COUNT(*) AS row_count", "COUNT(DISTINCT batch_id || '/' || row_seq) AS distinct_count"}
	texts := query[struct {
		Name string `json:"column_name"`
	}](t, p, "SELECT column_name FROM (DESCRIBE method_calls) WHERE column_type = 'VARCHAR'")
	if len(texts) < 20 {
		t.Fatalf("the table has %d columns of texts", len(texts))
	}
	rules := maps.Clone(rowRules)
	for _, c := range texts {
		rules["a text is empty where NULL is meant: "+c.Name] = c.Name + " = ''"
	}
	for rule, violated := range rules {
		columns = append(columns, fmt.Sprintf(`COUNT(*) FILTER (%s) AS "%s"`, violated, rule))
	}
	rows := query[map[string]int64](t, p, "SELECT "+strings.Join(columns, ",\n")+" FROM method_calls")
	if len(rows) != 1 || len(rows[0]) != len(rules)+2 {
		t.Fatalf("sums are %v", rows)
	}
	for rule := range rules {
		if n := rows[0][rule]; n != 0 {
			t.Errorf("%d rows: %s", n, rule)
		}
	}
	if all, distinct := rows[0]["row_count"], rows[0]["distinct_count"]; all != distinct || all == 0 {
		t.Errorf("%d rows are stored, of %d different batch_id and row_seq", all, distinct)
	}
}
