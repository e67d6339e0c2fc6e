package sqlanswer

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// Document returns the result as a table. In text format the result of EXPLAIN is printed as plain lines.
func Document(t *query.Table, zone *time.Location, format output.Format) *output.Document {
	d := &output.Document{}
	if lines := planOf(t); lines != nil && format == output.Text {
		d.Say(lines...)
		return d
	}
	columns := distinct(t.Columns)
	table := &output.Table{Columns: columns}
	data := make([]output.Object, len(t.Rows))
	for i, row := range t.Rows {
		cells := make([]output.Cell, len(row))
		data[i] = output.Object{Names: columns, Values: make([]any, len(row))}
		for j, v := range row {
			data[i].Values[j] = jsonValue(v, zone)
			cells[j] = cell(v, zone, format)
		}
		table.Rows = append(table.Rows, cells)
	}
	d.Data = data
	d.Add(table)
	return d
}

// distinct makes column names unique by a suffix, because JSON objects need unique keys.
func distinct(names []string) []string {
	used := map[string]bool{}
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = name
		for n := 2; used[out[i]]; n++ {
			out[i] = fmt.Sprintf("%s_%d", name, n)
		}
		used[out[i]] = true
	}
	return out
}

// planOf returns the lines of the plan in a result of EXPLAIN, or nil for other results.
func planOf(t *query.Table) (lines []string) {
	if !slices.Equal(t.Columns, []string{"explain_key", "explain_value"}) {
		return nil
	}
	for _, row := range t.Rows {
		lines = append(lines, strings.Split(strings.TrimRight(fmt.Sprint(row[1]), "\n"), "\n")...)
	}
	return lines
}
