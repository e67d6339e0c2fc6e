package query

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/test/fixture"
)

const (
	updated     = "`my-project.corehour.method_calls`"
	hourAhead   = "UNIX_SECONDS(CURRENT_TIMESTAMP()) * 1000000000 + 3600000000000"
	updatedFrom = "WHERE event_date BETWEEN '2026-01-01' AND '2026-11-30' AND ("
)

// updateOfBounds is a statement for BigQuery that leaves of each number what a view on files reads.
func updateOfBounds() string {
	look := map[string]bool{}
	for _, l := range often {
		look[l.column] = true
	}
	ends := "end_ns BETWEEN start_ns AND " + hourAhead
	set := []string{"end_ns = CASE WHEN " + ends + "\n    THEN end_ns ELSE start_ns END"}
	wrong := []string{"NOT " + ends}
	for i, list := range [][]limits{often, seldom} {
		for _, l := range list {
			text, name, _ := strings.Cut(l.bounded(i == 1, look), " END AS ")
			text = strings.NewReplacer(" AND COALESCE(", "\n    AND COALESCE(", " OR level", "\n    OR level", " AND (", "\n    AND (", " AND "+l.column+" BETWEEN", "\n    AND "+l.column+" BETWEEN", " THEN "+l.column+" ELSE", "\n    THEN "+l.column+" ELSE", " AND CASE level", "\n    AND CASE level").Replace(text)
			set = append(set, name+" = "+text+" END")
			wrong = append(wrong, fmt.Sprintf("%s IS NOT NULL AND NOT COALESCE(%s, FALSE)", l.column, strings.NewReplacer(" OR level", "\n    OR level", " AND CASE level", "\n    AND CASE level").Replace(l.holds())))
		}
	}
	text := "UPDATE " + updated + "\nSET\n  " + strings.Join(set, ",\n  ") + "\n" + updatedFrom + "\n  " + strings.Join(wrong, "\n  OR ") + ")\n"
	return strings.ReplaceAll(text, "p * cpu_p", "SAFE_MULTIPLY(p, cpu_p)")
}

// The statement on the page is the one of the limits, and does in a table what Row.Bound does.
func TestUpdateOfImpossibleNumbers(t *testing.T) {
	statement := updateOfBounds()
	const path = "../../docs/guides/bigquery.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if block := regexp.MustCompile("(?s)```sql\nUPDATE .*?```").FindString(string(page)); block != "```sql\n"+statement+"```" {
		if !*update {
			t.Errorf("%s shows\n%s\nwant\n%s", path, block, statement)
		} else if err := os.WriteFile(path, []byte(strings.Replace(string(page), block, "```sql\n"+statement+"```", 1)), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	root := fixture.Write(t, fixture.Items("a-1", extremes()...))
	w, err := Open(t.Context(), root, Window{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	until := fmt.Sprint(methodspan.Until(time.Now()))
	for _, text := range []string{
		"CREATE TABLE updated AS SELECT * FROM method_stored",
		strings.NewReplacer(updated, "updated", hourAhead, until, "SAFE_MULTIPLY(p, cpu_p)", "p * cpu_p", updatedFrom, "WHERE (").Replace(statement),
	} {
		if _, err := w.db.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	var rows, different int
	const differences = "(SELECT * FROM updated EXCEPT SELECT * FROM method_calls)"
	if err := w.db.QueryRowContext(t.Context(), "SELECT (SELECT COUNT(*) FROM updated), (SELECT COUNT(*) FROM "+differences+")").Scan(&rows, &different); err != nil {
		t.Fatal(err)
	}
	if rows != len(extremes()) || different != 0 {
		t.Errorf("%d of %d rows differ from what files are read as", different, rows)
	}
}
