package query

import (
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"
)

//go:embed sql/*.sql
var files embed.FS

// dialect is what differs between the engines that the statements run on. The
// statements themselves keep to what engines have in common.
type dialect struct {
	Double string // the type of a float64
	Long   string // the type of an int64
	Text   string // the type of a string
	Param  string // what comes before the name of a parameter
	// Inline keeps a common table expression that is read twice from being
	// stored in between.
	Inline string
	// Stored is the contrary.
	Stored string
	// Except is what comes before the columns that * leaves out.
	Except string
	// partitioned: what reads the table must say which dates.
	partitioned bool
	bigquery    bool // comments and quoted texts are written as there
	// Parted: the rows are of several directories, and say which.
	Parted bool
	// Finer: some rows may be finer than sums by hour.
	Finer bool
	// Hourly: sums by hour are read in the place of rows, see hourly.
	Hourly bool
	// Whole: rows of whole dates have names of their own, as method_calls is cut to the window.
	Whole bool
	// lateNS is the start of the newest hour of the rows in files.
	lateNS int64
}

var (
	duckdbDialect   = dialect{Double: "DOUBLE", Long: "BIGINT", Text: "VARCHAR", Param: "$", Inline: "NOT MATERIALIZED", Stored: "MATERIALIZED", Except: "EXCLUDE"}
	bigqueryDialect = dialect{Double: "FLOAT64", Long: "INT64", Text: "STRING", Param: "@", Except: "EXCEPT", partitioned: true, bigquery: true, Finer: true}
)

// Given is a small table of the program's own: stored, or a parameter.
func (d dialect) Given(name string) string {
	if d.partitioned {
		return "UNNEST(" + d.Param + name + ")"
	}
	return name
}

// Kind is the condition that a row is of one of these kinds. Engines look at each row for
// IN, and at each entry of a dictionary for CASE.
func (d dialect) Kind(prefix string, kinds ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CASE %skind", prefix)
	for _, k := range kinds {
		fmt.Fprintf(&b, " WHEN '%s' THEN TRUE", k)
	}
	return b.String() + " ELSE FALSE END"
}

// Raw is the condition that a row is not a sum, said in the same way.
func (d dialect) Raw(prefix string) string {
	return "CASE " + prefix + "level WHEN 'raw' THEN TRUE ELSE FALSE END"
}

// Rows is what statements read that form weights.
func (d dialect) Rows() string {
	switch {
	case d.Hourly && d.Parted:
		return "hourly_rows"
	case d.Hourly:
		return "hourly_calls"
	case d.Whole && d.Parted:
		return "whole_rows"
	case d.Whole:
		return "whole_calls"
	case d.Parted:
		return "method_rows"
	}
	return "method_calls"
}

// pendingFor is how long counts may be on their way. An interval of counts is a minute at most.
const pendingFor = time.Hour

// Late is the time in ns before which no measurement waits for its counts.
func (d dialect) Late() string {
	if d.partitioned {
		return fmt.Sprintf("(UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 - %d)", pendingFor)
	}
	return strconv.FormatInt(d.lateNS, 10)
}

// Part numbers the directory of a row, from 1.
func (d dialect) Part(prefix string) string {
	if d.Parted {
		return prefix + "part"
	}
	return "1"
}

// Unnest is the elements of a list as rows, under a name.
func (d dialect) Unnest(list, name string) string {
	if d.partitioned {
		return "UNNEST(" + list + ") AS " + name
	}
	return "UNNEST(" + list + ") AS u(" + name + ")"
}

// SumOf is the sum of an expression over the elements of a list of a row, NULL for
// an empty one. DuckDB would make a join of a subquery.
func (d dialect) SumOf(list, name, expression string) string {
	if d.partitioned {
		return "(SELECT SUM(" + expression + ") FROM UNNEST(" + list + ") AS " + name + ")"
	}
	return "LIST_SUM(LIST_TRANSFORM(" + list + ", LAMBDA " + name + " : " + expression + "))"
}

// Above is the number of calls of a row s that took more than a factor times the cap p.
func (d dialect) Above(factor string) string {
	bins := d.SumOf("s.bins", "h", "CASE WHEN EXP((h.bin + 0.5) * LN(1.01 / 0.99)) > "+factor+" * p.cap THEN h.n ELSE 0 END")
	return "CASE WHEN s.n = 1 THEN CASE WHEN s.x > " + factor + " * p.cap THEN 1 ELSE 0 END ELSE COALESCE(" + bins + ", 0) END"
}

// equal compares two columns, unknown being equal to unknown. BigQuery joins by
// equality only.
func (d dialect) equal(a, b, column string) string {
	if !d.partitioned {
		return fmt.Sprintf("%s.%s IS NOT DISTINCT FROM %s.%s", a, column, b, column)
	}
	unknown := "''"
	if strings.HasSuffix(column, "_ns") || strings.HasSuffix(column, "_id") {
		unknown = "0"
	}
	return fmt.Sprintf("COALESCE(%s.%s, %s) = COALESCE(%s.%s, %s)", a, column, unknown, b, column, unknown)
}

// metric is what a statement measures: its columns in method_calls and
// method_cost.
type metricColumns struct {
	Value     string // ns
	Measured  string
	Weight    string
	Cell      string
	Histogram string
	// What it was measured with, of rows c.
	Probability string
	// Of sums over probabilities:
	Sum    string // of what was measured
	Factor string // that makes an estimate of it
}

var columnsOf = map[Metric]metricColumns{
	CPU:  {Value: "cpu_ns", Measured: "cpu_measured", Weight: "w", Cell: "cell", Histogram: "cpu_hist", Probability: "c.p * c.cpu_p", Sum: "cpu_n", Factor: "cpu_factor"},
	Wall: {Value: "wall_ns", Measured: "measured", Weight: "w_wall", Cell: "cell_wall", Histogram: "wall_hist", Probability: "c.p", Sum: "wall_n", Factor: "wall_factor"},
}

// scope is what a template sees.
type scope struct {
	dialect
	metricColumns
	Source  string // the relation that method_cost reads
	Weights string // the schema of the weights, if these are tables
	Sides   bool   // whether rows are told apart by side of a comparison
	WarmUp  bool   // whether rows of processes that have just started are left out
	Filter  Filter
	Told    []string // columns that statements of sums tell rows apart by
	Summed  bool     // rows are added up before they are weighed
	Every   bool     // pending rows are kept, without a weight
	Timed   bool     // only rows with weights are of interest
	Errors  bool     // sums are of wall time and errors, too
	Once    bool     // a row that is stored several times is read once

	Within string // the condition that cuts weighted rows to a window, or nothing

	// Of statements about costs.
	Group           []string // columns of groups
	Repriced, Owned bool     // whether the tables of these names are joined
}

// From is the same scope with another source.
func (s scope) From(source string) scope {
	s.Source = source
	return s
}

// EveryRow is the same scope for a relation that keeps pending rows, without a weight.
func (s scope) EveryRow() scope {
	s.Every = true
	return s
}

// Sent is what shows which counts have arrived: all rows of processes, whatever the
// source leaves out.
func (s scope) Sent() string {
	if s.Every {
		return s.Source
	}
	return s.Rows()
}

// sumsFrom is the shortest slot for which rows are added up before they are weighed. There
// are nearly as many sums of shorter ones as rows, and sums are wider.
var sumsFrom = time.Hour

// Telling is the same scope with rows that are told apart by these columns.
func (s scope) Telling(columns ...string) scope {
	s.Told = columns
	return s
}

// ByHour tells whether what is weighed are sums by hour. Of rows, hours that are dense are
// told apart by minute.
func (s scope) ByHour() bool { return s.Summed && !s.Finer }

// OnlyTimed is the same scope for a statement that leaves out rows without weights.
func (s scope) OnlyTimed() scope {
	s.Timed = true
	return s
}

// Tells tells whether rows are told apart by this column.
func (s scope) Tells(column string) bool { return slices.Contains(s.Told, column) }

// Apart lists what sums of a method's rows are told apart by, but for the time.
func (s scope) Apart() string {
	columns := []string{"stratum", "timed"}
	if s.Summed {
		columns = append(columns, s.Told...)
	}
	if s.Parted {
		columns = append(columns, "part")
	}
	return strings.Join(columns, ", ")
}

// Only is the condition that the filter makes, to be put behind others. It leaves
// out what does not filter: an engine skips row groups by `column = parameter`,
// and by nothing with an OR in it.
func (s scope) Only(prefix string) string {
	condition := ""
	if s.partitioned {
		condition += fmt.Sprintf(" AND %sevent_date BETWEEN %sfrom_date AND %sto_date", prefix, s.Param, s.Param)
	}
	if s.Filter.Service != "" {
		condition += fmt.Sprintf(" AND %sservice = %sservice", prefix, s.Param)
	}
	if s.Filter.Environment != "" {
		condition += fmt.Sprintf(" AND %senvironment = %senvironment", prefix, s.Param)
	}
	return condition
}

// OfAll is the same scope for rows of all services.
func (s scope) OfAll() scope {
	s.Filter = Filter{}
	return s
}

// Key lists the columns of a weight cell's key, each behind a prefix.
func (s scope) Key(prefix string) string {
	return prefixed(prefix, "service_namespace", "service", "environment", "version", "class", "method")
}

// Process lists the columns that name a process.
func (s scope) Process(prefix string) string {
	return prefixed(prefix, "service_namespace", "service", "environment", "version", "instance", "process_start_ns")
}

// Service lists the columns that name a service.
func (s scope) Service(prefix string) string {
	return prefixed(prefix, "service_namespace", "service", "environment")
}

// Same compares columns of two relations, unknown being equal to unknown.
func (s scope) Same(a, b string, columns ...string) string {
	parts := make([]string, len(columns))
	for i, c := range columns {
		parts[i] = s.equal(a, b, c)
	}
	return strings.Join(parts, " AND ")
}

func prefixed(prefix string, columns ...string) string {
	return prefix + strings.Join(columns, ", "+prefix)
}

var templates = template.Must(template.New("").ParseFS(files, "sql/*.sql"))

// render writes one statement.
func render(name string, s scope) (string, error) {
	var b strings.Builder
	if err := templates.ExecuteTemplate(&b, name, s); err != nil {
		return "", fmt.Errorf("statement %s: %w", name, err)
	}
	return b.String(), nil
}
