package query

import (
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/weights"
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
	// Asked: processes with measurements whose counts have not arrived are in a table.
	Asked bool
	// pendingNS is the earliest time of such measurements then, negative if there are none.
	pendingNS int64
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

// Kind is the condition that a row is of one of these kinds.
func (d dialect) Kind(prefix string, kinds ...string) string {
	quoted := make([]string, len(kinds))
	for i, k := range kinds {
		quoted[i] = "'" + k + "'"
	}
	return oneOf(prefix+"kind", quoted...)
}

// Versions is the condition that a row is of one of the versions of these parameters.
func (d dialect) Versions(prefix string, parameters ...string) string {
	marked := make([]string, len(parameters))
	for i, p := range parameters {
		marked[i] = d.Param + p
	}
	return oneOf(prefix+"version", marked...)
}

// oneOf is the condition that a column has one of the values. Engines look at each row for
// IN, and at each entry of a dictionary for CASE. By IN and = they skip row groups, which is
// better for statements that want few rows.
func oneOf(column string, values ...string) string {
	return "CASE " + column + " WHEN " + strings.Join(values, " THEN TRUE WHEN ") + " THEN TRUE ELSE FALSE END"
}

// Raw is the condition that a row is not a sum, said in the same way.
func (d dialect) Raw(prefix string) string {
	return "CASE " + prefix + "level WHEN 'raw' THEN TRUE ELSE FALSE END"
}

// Calls is what statements read that form no weights.
func (d dialect) Calls() string {
	if d.partitioned {
		return d.Bounded("method_calls", "event_date BETWEEN @from_date AND @to_date")
	}
	return "method_calls"
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
	return d.Calls()
}

// until is the time in ns at which the last row that is read starts or ends.
func (d dialect) until() string {
	return fmt.Sprintf("(UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 + %d)", methodspan.Ahead)
}

// pendingFor is how long counts may be on their way. An interval of counts is a minute at most.
const pendingFor = time.Hour

// Minute numbers the minutes of an hour.
func (d dialect) Minute(column string) string {
	if d.partitioned {
		return "DIV(MOD(" + column + ", 3600000000000), 60000000000)"
	}
	return "MOD(" + column + ", 3600000000000) // 60000000000"
}

// Late is the time in ns before which no measurement waits for its counts.
func (d dialect) Late() string {
	if d.partitioned {
		return fmt.Sprintf("(UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 - %d)", pendingFor)
	}
	return strconv.FormatInt(d.lateNS, 10)
}

// NonePending reports whether it is known that the counts of all measurements have arrived.
func (d dialect) NonePending() bool { return d.Asked && d.pendingNS < 0 }

// PendingFrom is the time in ns before which no measurement of any process waits for its counts.
func (d dialect) PendingFrom() string {
	if d.Asked {
		return strconv.FormatInt(d.pendingNS, 10)
	}
	return d.Late()
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

// CallsOf is the number of calls that some of a cell's records stand for. Those of the tail have weights
// of their own. Others were drawn whatever they took, so each stands for as many as the mean of these: which of
// several sampling rates some have is chance.
func (d dialect) CallsOf(number string) string {
	rest := "CASE WHEN tail = 0 AND weight IS NOT NULL THEN CAST(%s AS " + d.Double + ") END"
	return "COALESCE(SUM(CASE WHEN tail = 1 THEN weight * " + number + " END), 0) + COALESCE(SUM(" + fmt.Sprintf(rest, number) +
		") * (SUM(CASE WHEN tail = 0 THEN weight * n END) / NULLIF(SUM(" + fmt.Sprintf(rest, "n") + "), 0)), 0)"
}

// Total is the sum of whole numbers, exact up to 2^53. That of INT64 ends with an error where
// it does not fit.
func (d dialect) Total(numbers string) string {
	return "CAST(LEAST(SUM(CAST(" + numbers + " AS " + d.Double + ")), 9e18) AS " + d.Long + ")"
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
	// How often its calls gave up the processor, of which no wall time is more.
	Waits string
	// Of sums over probabilities:
	Sum    string // of what was measured
	Factor string // that makes an estimate of it
}

var columnsOf = map[Metric]metricColumns{
	CPU:  {Value: "cpu_ns", Measured: "cpu_measured", Weight: "w", Cell: "cell", Histogram: "cpu_hist", Probability: "c.p * c.cpu_p", Waits: "c.cpu_waits", Sum: "cpu_n", Factor: "cpu_factor"},
	Wall: {Value: "wall_ns", Measured: "measured", Weight: "w_wall", Cell: "cell_wall", Histogram: "wall_hist", Probability: "c.p", Waits: "0", Sum: "wall_n", Factor: "wall_factor"},
}

// scope is what a template sees.
type scope struct {
	dialect
	metricColumns
	Source  string // the relation that method_cost reads
	Weights string // the schema of the weights, if these are tables
	Sides   bool   // whether rows are distinguished by side of a comparison
	WarmUp  bool   // whether rows of processes that have just started are left out
	Filter  Filter
	// NoFrameworks leaves out the methods of methodspan.FrameworkScopes.
	NoFrameworks bool
	Of           *Service // the one whose rows alone are read, and not kept apart by its names
	Told         []string // columns that statements of sums tell rows apart by
	Summed       bool     // rows are added up before they are weighed
	Every        bool     // pending rows are kept, without a weight
	Timed        bool     // only rows with weights are of interest
	Errors       bool     // sums are of wall time and errors, too
	Once         bool     // a row that is stored several times is read once

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

// sumsFrom is the shortest bucket for which rows are added up before they are weighed. There
// are nearly as many sums of shorter ones as rows, and sums are wider.
var sumsFrom = time.Hour

// Telling is the same scope with rows that are distinguished by these columns.
func (s scope) Telling(columns ...string) scope {
	s.Told = columns
	return s
}

// ByHour reports whether what is weighed are sums by hour. Of rows, hours that are dense are
// distinguished by minute.
func (s scope) ByHour() bool { return s.Summed && !s.Finer }

// OnlyTimed is the same scope for a statement that leaves out rows without weights.
func (s scope) OnlyTimed() scope {
	s.Timed = true
	return s
}

// Tells reports whether rows are distinguished by this column.
func (s scope) Tells(column string) bool { return slices.Contains(s.Told, column) }

// Apart lists what sums of a method's rows are distinguished by, but for the time.
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

// Tallied lists what counts are kept apart by: nothing that only measurements have, and
// nothing if these alone are of interest. The costs of one service say nothing of instances
// that measured nothing.
func (s scope) Tallied() []string {
	var columns []string
	for _, c := range s.Told {
		if !s.Timed && !slices.Contains(ofMeasurements, c) && !(c == "instance" && s.Of != nil) {
			columns = append(columns, c)
		}
	}
	if s.Parted {
		columns = append(columns, "part")
	}
	return columns
}

// ofMeasurements are columns whose value does not matter where nothing was measured.
var ofMeasurements = []string{"caller", "usd_per_core_hour"}

// TalliedPieces are those of them that pieces are kept apart by.
func (s scope) TalliedPieces() []string {
	if s.Summed {
		return s.Tallied()
	}
	return slices.DeleteFunc(s.Tallied(), func(c string) bool { return c != "part" })
}

// AsPieces gives counts the columns that pieces are kept apart by.
func (s scope) AsPieces() string {
	columns := "CAST(NULL AS " + s.Text + ") AS stratum, 0 AS timed"
	if s.Summed {
		columns += s.AsTold("")
	}
	if s.Parted {
		columns += ", part"
	}
	return columns
}

// AsTold gives counts the columns that rows are kept apart by, each behind a comma.
func (s scope) AsTold(prefix string) string {
	var b strings.Builder
	for _, c := range s.Told {
		switch {
		case slices.Contains(s.Tallied(), c):
			fmt.Fprintf(&b, ", %s%s", prefix, c)
		case c == "usd_per_core_hour":
			fmt.Fprintf(&b, ", CAST(NULL AS %s) AS %s", s.Double, c)
		case strings.HasSuffix(c, "_ns"):
			fmt.Fprintf(&b, ", CAST(NULL AS %s) AS %s", s.Long, c)
		default:
			fmt.Fprintf(&b, ", CAST(NULL AS %s) AS %s", s.Text, c)
		}
	}
	return b.String()
}

// Only is the condition that the filter makes, to be put behind others. It leaves
// out what does not filter: an engine skips row groups by `column = parameter`,
// and by nothing with an OR in it.
func (s scope) Only(prefix string) string {
	condition := s.OnlyOf(prefix)
	if s.Filter.Namespace != "" {
		condition += fmt.Sprintf(" AND %sservice_namespace = %sservice_namespace", prefix, s.Param)
	}
	if s.Filter.Service != "" {
		condition += fmt.Sprintf(" AND %sservice = %sservice", prefix, s.Param)
	}
	if s.Filter.Environment != "" {
		condition += fmt.Sprintf(" AND %senvironment = %senvironment", prefix, s.Param)
	}
	if s.NoFrameworks {
		for _, scope := range methodspan.FrameworkScopes {
			condition += fmt.Sprintf(" AND COALESCE(%sclass, '') NOT LIKE '%s%%'", prefix, scope)
		}
	}
	return condition
}

// OnlyOf is the part of it that Of makes.
func (s scope) OnlyOf(prefix string) string {
	if s.Of == nil {
		return ""
	}
	return s.is(prefix, "service_namespace", s.Of.Namespace) + s.is(prefix, "service", s.Of.Name) + s.is(prefix, "environment", s.Of.Environment)
}

// is is the condition that a column has the value of its parameter, or none.
func (s scope) is(prefix, column, value string) string {
	switch {
	case value != "":
		return fmt.Sprintf(" AND %[1]s%[2]s = %[3]s%[2]s", prefix, column, s.Param)
	case s.partitioned:
		return fmt.Sprintf(" AND COALESCE(%s%s, '') = ''", prefix, column)
	}
	return fmt.Sprintf(" AND %s%s IS NULL", prefix, column)
}

// OfAll is the same scope for rows of all services.
func (s scope) OfAll() scope {
	s.Filter = Filter{}
	return s
}

// apart are the columns that tell rows of versions apart, and those given.
func (s scope) apart(columns ...string) []string {
	if s.Of != nil {
		return append([]string{"version"}, columns...)
	}
	return append([]string{"service_namespace", "service", "environment", "version"}, columns...)
}

// Version lists the columns that name a version, each behind a prefix.
func (s scope) Version(prefix string) string { return prefixed(prefix, s.apart()...) }

// Key lists the columns of a weight cell's key.
func (s scope) Key(prefix string) string { return prefixed(prefix, s.apart("class", "method")...) }

// SameKey compares them.
func (s scope) SameKey(a, b string) string { return s.Same(a, b, s.apart("class", "method")...) }

// ServiceOfKeys lists the columns that name a service, of keys.
func (s scope) ServiceOfKeys() string {
	if s.Of == nil {
		return s.Service("")
	}
	one := func(column, value string) string {
		if value == "" {
			return "CAST(NULL AS " + s.Text + ") AS " + column
		}
		return s.Param + column + " AS " + column
	}
	return one("service_namespace", s.Of.Namespace) + ", " + one("service", s.Of.Name) + ", " + one("environment", s.Of.Environment)
}

// Process lists the columns that name a process.
func (s scope) Process(prefix string) string {
	return prefixed(prefix, s.apart("instance", "process_start_ns")...)
}

// SameInstance compares them but for the start.
func (s scope) SameInstance(a, b string) string { return s.Same(a, b, s.apart("instance")...) }

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

var templates = template.Must(template.Must(template.New("").ParseFS(files, "sql/*.sql")).Parse(weights.SQL))

// render writes one statement.
func render(name string, s scope) (string, error) {
	var b strings.Builder
	if err := templates.ExecuteTemplate(&b, name, s); err != nil {
		return "", fmt.Errorf("statement %s: %w", name, err)
	}
	return b.String(), nil
}
