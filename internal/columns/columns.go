// Package columns describes the columns of the table method_calls: their names, their types in
// Parquet and in BigQuery, the field of a row that holds each of them, and when they are NULL. To
// add a column, add a line to All and a field with its name as a tag to methodspan.Row, Resource
// or ProcessStats.
//
// Its invariant: every change of All increases Version.
//
// It does not read or write rows. Files, BigQuery, the exporter's queue and docs/reference/schema.md
// are generated from All, FieldOf and Known.
package columns

// Type is a column's type.
type Type struct {
	Parquet  string // spelling in docs/reference/schema.md
	DuckDB   string
	BigQuery string // STRING, INT64, FLOAT64, BOOL, DATE, BYTES or RECORD
}

// The types of leaves.
var (
	String  = Type{"STRING", "VARCHAR", "STRING"}
	Int64   = Type{"INT64", "BIGINT", "INT64"}
	Int32   = Type{"INT32", "INTEGER", "INT64"}
	Double  = Type{"DOUBLE", "DOUBLE", "FLOAT64"}
	Boolean = Type{"BOOLEAN", "BOOLEAN", "BOOL"}
	Date    = Type{"DATE", "DATE", "DATE"}
	Bytes16 = Type{"16 BYTES", "BLOB", "BYTES"}
	Bytes8  = Type{"8 BYTES", "BLOB", "BYTES"}
	// List is a list of structs with the column's fields.
	List = Type{"LIST", "STRUCT(...)[]", "RECORD"}
)

// Column is one column.
type Column struct {
	Name     string
	Type     Type
	Fields   []Column // of the structs of a List
	Required bool     // never NULL, but see Derived
	Unit     string   // unit or meaning of the values
	Null     string   // meaning of NULL
	// Derived is an SQL expression for the value where a file has NULL. Full contains it; the
	// BigQuery table stores the value.
	Derived string
	// Rare columns have a value in few rows. Varies marks numbers that differ from row to row,
	// Unbounded texts with any number of distinct values, and Long texts that may be long.
	Rare, Varies, Unbounded, Long bool
}

// Full is the SQL select list that reads all columns of the table from files.
const Full = "* REPLACE (COALESCE(end_ns, " + derivedEnd + ") AS end_ns)"

const derivedEnd = "start_ns + wall_ns"

// Version is the version of the schema. It is in every file, manifest and table, and programs
// refuse a newer one than their own. It must increase with every change of All.
const Version = 1

var bins = []Column{{Name: "bin", Type: Int32, Required: true}, {Name: "n", Type: Double, Required: true}}

// All lists the columns of method_calls in the order of the table.
var All = []Column{
	required("event_date", Date, "UTC day of `start_ns`"),
	required("kind", String, ""),
	required("level", String, "`raw`, `minute`, `hour`"),
	varies(required("start_ns", Int64, "ns since 1970, UTC")),
	{Name: "end_ns", Type: Int64, Required: true, Unit: "ns since 1970, UTC", Derived: derivedEnd, Varies: true,
		Null: "in files: `" + derivedEnd + "`"},
	optional("service_namespace", String, "", "not given"),
	optional("service", String, "", "not given"),
	optional("version", String, "", "not given; not compared"),
	optional("revision", String, "commit", "not given"),
	optional("environment", String, "", "not given"),
	optional("instance", String, "in rollups one of 64 groups, `group-07`", "not given"),
	optional("host", String, "", "not given; a sum, except `process` rows of hosts without an id"),
	optional("host_id", String, "`k8s.node.uid`, else `k8s.node.name`, else `host.id`", "not given; a sum, except `process` rows"),
	optional("host_type", String, "", "not given"),
	optional("cloud_provider", String, "", "not given"),
	optional("region", String, "", "not given"),
	optional("capacity_type", String, "`on-demand`, `spot`, ...", "not given"),
	optional("language", String, "`telemetry.sdk.language`", "not given"),
	optional("class", String, "", "the method has none"),
	optional("method", String, "", "only on `process` rows"),
	rare(long(optional("signature", String, "", "not given, or the language has none"))),
	long(optional("caller", String, "`class.method`", "unknown; `(entry)` = there is none")),
	rare(unbounded(long(optional("stack", String, "folded, `;` between frames", "not recorded, or a sum")))),
	unbounded(optional("goroutine_group", String, "", "not given, or a sum")),
	rare(optional("activated", Boolean, "less than 60 s after a caller switched the method on ([scopes](../guides/instrument.md#a-part-of-the-program))", "no; not known; a sum with other rows")),
	required("calls", Double, "calls"),
	required("measured", Int64, "calls timed"),
	required("cpu_measured", Int64, "calls whose CPU was timed"),
	required("errors", Double, "calls that failed, of those timed"),
	varies(optional("wall_ns", Int64, "ns, sum", "nothing was timed")),
	varies(optional("cpu_ns", Int64, "ns, sum", "CPU was not timed; see `cpu_state`")),
	rare(optional("wall_sq", Double, "ns², sum of squares", "nothing timed, or only one value")),
	rare(optional("cpu_sq", Double, "ns², sum of squares", "as above, for CPU")),
	rare(varies(optional("wall_max_ns", Int64, "ns", "nothing timed, or only one value"))),
	rare(varies(optional("cpu_max_ns", Int64, "ns", "as above, for CPU"))),
	rare(list("wall_hist", bins, "see below", "nothing timed, or only one value")),
	rare(list("cpu_hist", bins, "see below", "as above, for CPU")),
	rare(optional("cpu_waits", Double, "times that calls with timed CPU gave up the processor", "none; not known")),
	optional("p", Double, "in rollups 1/w_wall, unless `reason` is `rest`; of `counts`: the calls have the variance calls × (1-p)/p", "no measurement in the row, or exact calls"),
	optional("cpu_p", Double, "given that the call was timed; can exceed 1 on sums", "no CPU measurement in the row"),
	rare(optional("stratum", String, "`tail`", "not of the tail")),
	optional("configured_rate", Double, "probability", "not stamped, or a sum"),
	optional("effective_rate", Double, "probability after the sampler", "not stamped, or a sum"),
	optional("tier", String, "", "the method has none, or a sum"),
	optional("reason", String, "why the sampler chose the rate; in rollups the weight cells for CPU and wall time: `minute/hour`; `rest`: a [residual](../background/sampling.md#adding-rows)", "not stamped"),
	optional("weight_basis", String, "[source of p](../background/sampling.md#where-p-of-other-sdks-comes-from)", "not stamped"),
	optional("cpu_state", String, "[why](../background/cost-model.md#cpu-time); `exact` if the CPU of any call was timed", "counts rows"),
	optional("usd_per_core_hour", Double, "USD", "unpriced"),
	optional("price_source", String, "source of the price, or `unpriced: ` and why", "no price requested"),
	optional("process_start_ns", Int64, "ns since 1970, UTC; of a sum the oldest", "not given by one process"),
	rare(optional("cores", Double, "cores that the process may use; in rollups summed over processes, so that `cores` x time stays the same", "not a `process` row; not given by one row")),
	rare(optional("host_cores", Double, "cores of the host", "as `cores`")),
	rare(optional("cpu_limit", Double, "cores that the container may use; summed like `cores`", "no limit; not known; not a `process` row")),
	rare(optional("rss_bytes", Int64, "bytes", "not a `process` row; a sum")),
	rare(optional("calls_total", Int64, "calls emitted by the process so far", "not a `process` row; a sum")),
	rare(optional("final", Boolean, "the last row of the process", "not a `process` row; a sum")),
	rare(list("sdk_stats", []Column{{Name: "name", Type: String, Required: true}, {Name: "value", Type: Double, Required: true}},
		"the SDK's counters; of a sum those of probe costs (`probe.`) of its last row, and `own.cpu_ns` if all rows have it", "none")),
	optional("trace_id", Bytes16, "", "no trace"),
	optional("span_id", Bytes8, "", "no trace"),
	optional("parent_span_id", Bytes8, "", "no parent, or no trace"),
	rare(unbounded(long(optional("request_id", String, "", "not given")))),
	unbounded(long(optional("batch_id", String, "item that contained the row", "a sum"))),
	required("row_seq", Int32, "place in the item, from 0"),
}

func required(name string, t Type, unit string) Column {
	return Column{Name: name, Type: t, Required: true, Unit: unit, Null: "never"}
}

func optional(name string, t Type, unit, null string) Column {
	return Column{Name: name, Type: t, Unit: unit, Null: null}
}

func list(name string, fields []Column, unit, null string) Column {
	return Column{Name: name, Type: List, Fields: fields, Unit: unit, Null: null}
}

func rare(c Column) Column {
	c.Rare = true
	return c
}

func varies(c Column) Column {
	c.Varies = true
	return c
}

func unbounded(c Column) Column {
	c.Unbounded = true
	return c
}

func long(c Column) Column {
	c.Long = true
	return c
}
