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

// dialect contains the differences between the engines that run the statements. The statements themselves use
// the SQL that the engines have in common.
type dialect struct {
	Double string // the type of a float64
	Long   string // the type of an int64
	Text   string // the type of a string
	Param  string // the prefix of a parameter's name
	// Inline prevents the engine from materializing a common table expression that is read twice.
	Inline string
	// Stored makes the engine materialize a common table expression.
	Stored string
	// Except is the keyword before the columns that * leaves out.
	Except string
	// partitioned is set if queries of the table must name the dates.
	partitioned bool
	bigquery    bool // BigQuery's syntax of comments and quoted text
	// Parted is set if the rows come from several directories; a column has the number of the directory.
	Parted bool
	// Finer is set if some rows can be finer than hourly rollups.
	Finer bool
	// Hourly is set if statements read hourly rollups instead of rows, see hourly.
	Hourly bool
	// Whole is set if the rows of whole dates have views of their own, because method_calls is cut to the window.
	Whole bool
	// lateNS is the start of the newest hour of the rows in files.
	lateNS int64
	// Asked is set if a table lists the processes with measurements whose counts have not arrived.
	Asked bool
	// pendingNS is the earliest time of such measurements if Asked is set, negative if there are none.
	pendingNS int64
}

var (
	duckdbDialect   = dialect{Double: "DOUBLE", Long: "BIGINT", Text: "VARCHAR", Param: "$", Inline: "NOT MATERIALIZED", Stored: "MATERIALIZED", Except: "EXCLUDE"}
	bigqueryDialect = dialect{Double: "FLOAT64", Long: "INT64", Text: "STRING", Param: "@", Except: "EXCEPT", partitioned: true, bigquery: true, Finer: true}
)

// Given returns the name of a small table supplied by the program: a stored table or a parameter.
func (d dialect) Given(name string) string {
	if d.partitioned {
		return "UNNEST(" + d.Param + name + ")"
	}
	return name
}

// Kind returns the condition that the kind of a row is one of kinds.
func (d dialect) Kind(prefix string, kinds ...string) string {
	quoted := make([]string, len(kinds))
	for i, k := range kinds {
		quoted[i] = "'" + k + "'"
	}
	return oneOf(prefix+"kind", quoted...)
}

// Versions returns the condition that the version of a row equals one of the parameters.
func (d dialect) Versions(prefix string, parameters ...string) string {
	marked := make([]string, len(parameters))
	for i, p := range parameters {
		marked[i] = d.Param + p
	}
	return oneOf(prefix+"version", marked...)
}

// oneOf returns the condition that a column has one of the values. Engines evaluate IN for each row, but CASE for
// each entry of a dictionary. With IN and = they skip row groups, which is better for statements that need few
// rows.
func oneOf(column string, values ...string) string {
	return "CASE " + column + " WHEN " + strings.Join(values, " THEN TRUE WHEN ") + " THEN TRUE ELSE FALSE END"
}

// Raw returns the condition that a row is not a rollup, in the form of oneOf.
func (d dialect) Raw(prefix string) string {
	return "CASE " + prefix + "level WHEN 'raw' THEN TRUE ELSE FALSE END"
}

// Calls returns the relation for statements that compute no weights.
func (d dialect) Calls() string {
	if d.partitioned {
		return d.Bounded("method_calls", "event_date BETWEEN @from_date AND @to_date")
	}
	return "method_calls"
}

// Rows returns the relation for statements that compute weights.
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

// until returns the latest time, in ns, at which a row that is read starts or ends.
func (d dialect) until() string {
	return fmt.Sprintf("(UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 + %d)", methodspan.Ahead)
}

// pendingFor is the maximum delay of counts. An interval of counts is at most one minute.
const pendingFor = time.Hour

// Minute returns the number of a time's minute in its hour.
func (d dialect) Minute(column string) string {
	if d.partitioned {
		return "DIV(MOD(" + column + ", 3600000000000), 60000000000)"
	}
	return "MOD(" + column + ", 3600000000000) // 60000000000"
}

// Late returns the time in ns before which the counts of all measurements have arrived, or are lost.
func (d dialect) Late() string {
	if d.partitioned {
		return fmt.Sprintf("(UNIX_MICROS(CURRENT_TIMESTAMP()) * 1000 - %d)", pendingFor)
	}
	return strconv.FormatInt(d.lateNS, 10)
}

// NonePending reports whether the counts of all measurements are known to have arrived.
func (d dialect) NonePending() bool { return d.Asked && d.pendingNS < 0 }

// PendingFrom returns the time in ns before which no measurement of any process waits for its counts.
func (d dialect) PendingFrom() string {
	if d.Asked {
		return strconv.FormatInt(d.pendingNS, 10)
	}
	return d.Late()
}

// Part returns the number of a row's directory, from 1.
func (d dialect) Part(prefix string) string {
	if d.Parted {
		return prefix + "part"
	}
	return "1"
}

// Unnest returns the elements of a list as rows with the given name.
func (d dialect) Unnest(list, name string) string {
	if d.partitioned {
		return "UNNEST(" + list + ") AS " + name
	}
	return "UNNEST(" + list + ") AS u(" + name + ")"
}

// SumOf returns the sum of an expression over the elements of a list in a row, NULL for an empty list. DuckDB would
// turn a subquery into a join.
func (d dialect) SumOf(list, name, expression string) string {
	if d.partitioned {
		return "(SELECT SUM(" + expression + ") FROM UNNEST(" + list + ") AS " + name + ")"
	}
	return "LIST_SUM(LIST_TRANSFORM(" + list + ", LAMBDA " + name + " : " + expression + "))"
}

// Above returns the number of calls of a row s that took longer than factor times the cap p.
func (d dialect) Above(factor string) string {
	bins := d.SumOf("s.bins", "h", "CASE WHEN EXP((h.bin + 0.5) * LN(1.01 / 0.99)) > "+factor+" * p.cap THEN h.n ELSE 0 END")
	return "CASE WHEN s.n = 1 THEN CASE WHEN s.x > " + factor + " * p.cap THEN 1 ELSE 0 END ELSE COALESCE(" + bins + ", 0) END"
}

// CallsOf returns the number of calls that the given records of a cell stand for. Records of the tail sample have
// their own weights. The other records were sampled independently of their duration, so each of them stands for
// their mean weight: which of several sampling rates applied to a record is chance.
func (d dialect) CallsOf(number string) string {
	rest := "CASE WHEN tail = 0 AND weight IS NOT NULL THEN CAST(%s AS " + d.Double + ") END"
	return "COALESCE(SUM(CASE WHEN tail = 1 THEN weight * " + number + " END), 0) + COALESCE(SUM(" + fmt.Sprintf(rest, number) +
		") * (SUM(CASE WHEN tail = 0 THEN weight * n END) / NULLIF(SUM(" + fmt.Sprintf(rest, "n") + "), 0)), 0)"
}

// Total returns the sum of whole numbers, exact up to 2^53. A sum of INT64 would fail on overflow.
func (d dialect) Total(numbers string) string {
	return "CAST(LEAST(SUM(CAST(" + numbers + " AS " + d.Double + ")), 9e18) AS " + d.Long + ")"
}

// equal compares two columns; two unknown values are equal. BigQuery joins by equality only.
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

// metricColumns are the columns of a metric in method_calls and method_cost.
type metricColumns struct {
	Value     string // ns
	Measured  string
	Weight    string
	Cell      string
	Histogram string
	// Probability is the sampling probability of a measurement, for rows c.
	Probability string
	// Waits is how often the calls gave up the processor. Wall time already includes waits, so it is 0 there.
	Waits string
	// For sums over probabilities:
	Sum    string // column with the sum of the measurements
	Factor string // column with the factor from the sum to the estimate
}

var columnsOf = map[Metric]metricColumns{
	CPU:  {Value: "cpu_ns", Measured: "cpu_measured", Weight: "w", Cell: "cell", Histogram: "cpu_hist", Probability: "c.p * c.cpu_p", Waits: "c.cpu_waits", Sum: "cpu_n", Factor: "cpu_factor"},
	Wall: {Value: "wall_ns", Measured: "measured", Weight: "w_wall", Cell: "cell_wall", Histogram: "wall_hist", Probability: "c.p", Waits: "0", Sum: "wall_n", Factor: "wall_factor"},
}

// scope contains the data of a template.
type scope struct {
	dialect
	metricColumns
	Source  string // the relation that method_cost reads
	Weights string // the schema of the weights, if they are stored as tables
	Sides   bool   // whether rows are separated by side of a comparison
	WarmUp  bool   // whether rows of recently started processes are left out
	Filter  Filter
	// NoFrameworks leaves out the methods of methodspan.FrameworkScopes.
	NoFrameworks bool
	Of           *Service // the only service to read; its names are then no grouping columns
	GroupedBy    []string // additional GROUP BY columns of sums
	Summed       bool     // rows are added up before they get weights
	Every        bool     // pending rows remain, without a weight
	Timed        bool     // only rows with weights are needed
	Errors       bool     // sums include wall time and errors
	Once         bool     // a row that is stored several times is read once

	Within string // the condition that cuts weighted rows to a window, or ""

	// For statements about costs.
	CostGroup       []string // GROUP BY columns of the result
	Repriced, Owned bool     // whether the tables of these names are joined
}

// From returns the scope with another source.
func (s scope) From(source string) scope {
	s.Source = source
	return s
}

// EveryRow returns the scope for a relation that keeps pending rows, without a weight.
func (s scope) EveryRow() scope {
	s.Every = true
	return s
}

// Sent returns the relation that shows which counts have arrived: all rows of processes, including those that
// Source leaves out.
func (s scope) Sent() string {
	if s.Every {
		return s.Source
	}
	return s.Rows()
}

// sumsFrom is the shortest time bucket for which rows are added up before they get weights. With shorter ones there
// are nearly as many sums as rows, and sums have more columns.
var sumsFrom = time.Hour

// GroupBy returns the scope with these GROUP BY columns of sums, in addition to the key and the time.
func (s scope) GroupBy(columns ...string) scope {
	s.GroupedBy = columns
	return s
}

// ByHour reports whether weights are computed for hourly sums only. Where finer rows are read, dense hours are
// separated by minute.
func (s scope) ByHour() bool { return s.Summed && !s.Finer }

// OnlyTimed returns the scope for a statement that leaves out rows without weights.
func (s scope) OnlyTimed() scope {
	s.Timed = true
	return s
}

// GroupsBy reports whether this is one of the columns of GroupBy.
func (s scope) GroupsBy(column string) bool { return slices.Contains(s.GroupedBy, column) }

// SumColumns returns the GROUP BY columns of sums, except the key and the time.
func (s scope) SumColumns() string {
	columns := []string{"stratum", "timed"}
	if s.Summed {
		columns = append(columns, s.GroupedBy...)
	}
	if s.Parted {
		columns = append(columns, "part")
	}
	return strings.Join(columns, ", ")
}

// CountColumns returns the GROUP BY columns of sums of counts. It omits columns that only measurements have, and all
// columns of GroupedBy if only measurements are needed. The costs of one service omit instances without measurements.
func (s scope) CountColumns() []string {
	var columns []string
	for _, c := range s.GroupedBy {
		if !s.Timed && !slices.Contains(ofMeasurements, c) && !(c == "instance" && s.Of != nil) {
			columns = append(columns, c)
		}
	}
	if s.Parted {
		columns = append(columns, "part")
	}
	return columns
}

// ofMeasurements are columns whose value is irrelevant in rows without measurements.
var ofMeasurements = []string{"caller", "usd_per_core_hour"}

// CountPieceColumns returns the part of CountColumns that pieces have.
func (s scope) CountPieceColumns() []string {
	if s.Summed {
		return s.CountColumns()
	}
	return slices.DeleteFunc(s.CountColumns(), func(c string) bool { return c != "part" })
}

// CountsAsPieces returns the SELECT list that gives counts the columns of pieces.
func (s scope) CountsAsPieces() string {
	columns := "CAST(NULL AS " + s.Text + ") AS stratum, 0 AS timed"
	if s.Summed {
		columns += s.CountGroupColumns("")
	}
	if s.Parted {
		columns += ", part"
	}
	return columns
}

// CountGroupColumns returns the SELECT list of GroupedBy for counts, NULL where they lack the column. Each column
// follows a comma.
func (s scope) CountGroupColumns(prefix string) string {
	var b strings.Builder
	for _, c := range s.GroupedBy {
		switch {
		case slices.Contains(s.CountColumns(), c):
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

// Only returns the condition of the filter, to follow other conditions. It omits columns that are not
// filtered: an engine skips row groups by `column = parameter`, but not by a condition with OR.
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

// OnlyOf returns the part of the condition that comes from Of.
func (s scope) OnlyOf(prefix string) string {
	if s.Of == nil {
		return ""
	}
	return s.is(prefix, "service_namespace", s.Of.Namespace) + s.is(prefix, "service", s.Of.Name) + s.is(prefix, "environment", s.Of.Environment)
}

// is returns the condition that a column equals its parameter, or is unknown if value is empty.
func (s scope) is(prefix, column, value string) string {
	switch {
	case value != "":
		return fmt.Sprintf(" AND %[1]s%[2]s = %[3]s%[2]s", prefix, column, s.Param)
	case s.partitioned:
		return fmt.Sprintf(" AND COALESCE(%s%s, '') = ''", prefix, column)
	}
	return fmt.Sprintf(" AND %s%s IS NULL", prefix, column)
}

// OfAll returns the scope for rows of all services.
func (s scope) OfAll() scope {
	s.Filter = Filter{}
	return s
}

// versionColumns returns the columns that identify a version, followed by the given columns.
func (s scope) versionColumns(columns ...string) []string {
	if s.Of != nil {
		return append([]string{"version"}, columns...)
	}
	return append([]string{"service_namespace", "service", "environment", "version"}, columns...)
}

// Version returns the columns that name a version, each with a prefix.
func (s scope) Version(prefix string) string { return prefixed(prefix, s.versionColumns()...) }

// Key returns the columns of a weight cell's key.
func (s scope) Key(prefix string) string {
	return prefixed(prefix, s.versionColumns("class", "method")...)
}

// SameKey compares the columns of Key in two relations.
func (s scope) SameKey(a, b string) string {
	return s.Same(a, b, s.versionColumns("class", "method")...)
}

// ServiceOfKeys returns the columns that name the service of a relation of keys.
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

// Process returns the columns that name a process.
func (s scope) Process(prefix string) string {
	return prefixed(prefix, s.versionColumns("instance", "process_start_ns")...)
}

// SameInstance compares the columns of Process except the start.
func (s scope) SameInstance(a, b string) string { return s.Same(a, b, s.versionColumns("instance")...) }

// Service returns the columns that name a service.
func (s scope) Service(prefix string) string {
	return prefixed(prefix, "service_namespace", "service", "environment")
}

// Same compares columns of two relations; two unknown values are equal.
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

// render returns the text of one statement.
func render(name string, s scope) (string, error) {
	var b strings.Builder
	if err := templates.ExecuteTemplate(&b, name, s); err != nil {
		return "", fmt.Errorf("statement %s: %w", name, err)
	}
	return b.String(), nil
}
