package parquet

import (
	"github.com/parquet-go/parquet-go/format"

	"github.com/corehour/corehour/internal/methodspan"
)

// table holds the rows of one file by column.
type table struct {
	plain int // of the last rows, those that only noteAbsent has yet to tell rare columns of

	day       dayColumn
	resources resources
	kind      stringColumn
	level     stringColumn
	start     timeColumn
	end       timeColumn // required in files for other programs, see ExchangeEncoder
	resource  [12]resourceColumn
	class     stringColumn
	method    stringColumn
	signature stringColumn
	caller    stringColumn
	stack     stringColumn
	group     stringColumn

	calls       doubleColumn
	measured    longColumn
	cpuMeasured longColumn
	errors      doubleColumn
	wall, cpu   quantityColumns

	p, cpuP                       doubleColumn
	stratum                       stringColumn
	configuredRate, effectiveRate doubleColumn
	tier, reason                  stringColumn
	weightBasis, cpuState         stringColumn
	price                         doubleColumn
	priceSource                   stringColumn
	processStart                  startColumn
	cores, hostCores, cpuLimit    sparseColumn
	rss, callsTotal, final        sparseColumn
	statNames, statValues         listColumn
	trace, spanID, parent         idColumn
	requestID, batchID            stringColumn
	seq                           seqColumn
}

// quantityColumns are those of wall or of CPU time.
type quantityColumns struct {
	sum     timeColumn
	squares sparseColumn
	max     timeColumn
	bins    listColumn
	counts  listColumn
}

// namedColumn is a leaf of the schema.
type namedColumn struct {
	path []string
	column
	codec   format.CompressionCodec // of the file that is being written
	decided bool
}

func newTable() *table {
	t := &table{
		kind: requiredString(), level: requiredString(),
		start: timeColumn{required: true},
		class: optionalString(), method: optionalString(), signature: optionalString(),
		caller: optionalString(), stack: optionalString(), group: optionalString(),
		calls: requiredDouble(), measured: requiredLong(), cpuMeasured: requiredLong(), errors: requiredDouble(),
		wall: newQuantity(), cpu: newQuantity(),
		p: optionalDouble(), cpuP: optionalDouble(), stratum: optionalString(),
		configuredRate: optionalDouble(), effectiveRate: optionalDouble(),
		tier: optionalString(), reason: optionalString(), weightBasis: optionalString(), cpuState: optionalString(),
		price: optionalDouble(), priceSource: optionalString(),
		cores: sparseColumn{size: 8}, hostCores: sparseColumn{size: 8}, cpuLimit: sparseColumn{size: 8}, rss: sparseColumn{size: 8}, callsTotal: sparseColumn{size: 8},
		final:     sparseColumn{size: 1, bits: true},
		statNames: listColumn{}, statValues: listColumn{size: 8},
		trace: idColumn{size: 16}, spanID: idColumn{size: 8}, parent: idColumn{size: 8},
		requestID: optionalString(), batchID: optionalString(),
	}
	for i, value := range [...]func(*methodspan.Resource) string{
		func(r *methodspan.Resource) string { return r.ServiceNamespace },
		func(r *methodspan.Resource) string { return r.Service },
		func(r *methodspan.Resource) string { return r.Version },
		func(r *methodspan.Resource) string { return r.Revision },
		func(r *methodspan.Resource) string { return r.Environment },
		func(r *methodspan.Resource) string { return r.Instance },
		func(r *methodspan.Resource) string { return r.Host },
		func(r *methodspan.Resource) string { return r.HostID },
		func(r *methodspan.Resource) string { return r.HostType },
		func(r *methodspan.Resource) string { return r.CloudProvider },
		func(r *methodspan.Resource) string { return r.Region },
		func(r *methodspan.Resource) string { return r.CapacityType },
	} {
		t.resource[i] = resourceColumn{stringColumn: optionalString(), of: &t.resources, value: value}
		t.resource[i].per = &t.resources.rows
	}
	t.processStart = startColumn{longColumn: optionalLong(), of: &t.resources}
	t.processStart.per = &t.resources.rows
	return t
}

func newQuantity() quantityColumns {
	return quantityColumns{squares: sparseColumn{size: 8}, bins: listColumn{size: 4}, counts: listColumn{size: 8}}
}

// resourceNames are the columns that follow from the resource, in its order.
var resourceNames = [...]string{
	"service_namespace", "service", "version", "revision", "environment", "instance",
	"host", "host_id", "host_type", "cloud_provider", "region", "capacity_type",
}

// columns lists the leaves in the order of the schema.
func (t *table) columns() []namedColumn {
	list := func(name, field string) []string { return []string{name, "list", "element", field} }
	flat := func(name string, c column) namedColumn { return namedColumn{path: []string{name}, column: c} }
	columns := []namedColumn{
		flat("event_date", &t.day), flat("kind", &t.kind), flat("level", &t.level),
		flat("start_ns", &t.start), flat("end_ns", &t.end),
	}
	for i, name := range resourceNames {
		columns = append(columns, flat(name, &t.resource[i]))
	}
	return append(columns,
		flat("class", &t.class), flat("method", &t.method), flat("signature", &t.signature),
		flat("caller", &t.caller), flat("stack", &t.stack), flat("goroutine_group", &t.group),
		flat("calls", &t.calls), flat("measured", &t.measured), flat("cpu_measured", &t.cpuMeasured), flat("errors", &t.errors),
		flat("wall_ns", &t.wall.sum), flat("cpu_ns", &t.cpu.sum),
		flat("wall_sq", &t.wall.squares), flat("cpu_sq", &t.cpu.squares),
		flat("wall_max_ns", &t.wall.max), flat("cpu_max_ns", &t.cpu.max),
		namedColumn{path: list("wall_hist", "bin"), column: &t.wall.bins}, namedColumn{path: list("wall_hist", "n"), column: &t.wall.counts},
		namedColumn{path: list("cpu_hist", "bin"), column: &t.cpu.bins}, namedColumn{path: list("cpu_hist", "n"), column: &t.cpu.counts},
		flat("p", &t.p), flat("cpu_p", &t.cpuP), flat("stratum", &t.stratum),
		flat("configured_rate", &t.configuredRate), flat("effective_rate", &t.effectiveRate),
		flat("tier", &t.tier), flat("reason", &t.reason), flat("weight_basis", &t.weightBasis), flat("cpu_state", &t.cpuState),
		flat("usd_per_core_hour", &t.price), flat("price_source", &t.priceSource), flat("process_start_ns", &t.processStart),
		flat("cores", &t.cores), flat("host_cores", &t.hostCores), flat("cpu_limit", &t.cpuLimit),
		flat("rss_bytes", &t.rss), flat("calls_total", &t.callsTotal), flat("final", &t.final),
		namedColumn{path: list("sdk_stats", "name"), column: &t.statNames}, namedColumn{path: list("sdk_stats", "value"), column: &t.statValues},
		flat("trace_id", &t.trace), flat("span_id", &t.spanID), flat("parent_span_id", &t.parent),
		flat("request_id", &t.requestID), flat("batch_id", &t.batchID), flat("row_seq", &t.seq),
	)
}

// set takes over the rows of one date.
func (t *table) set(rows []*methodspan.Row) {
	t.day.day = rows[0].EventDay()
	for _, r := range rows {
		t.addRow(r)
	}
	t.noteAbsent()
	t.fill()
}

// fill sets the columns that follow from the resources, once all rows are known.
func (t *table) fill() {
	for i := range t.resource {
		t.resource[i].fill()
	}
	t.processStart.fill()
}

func (t *table) addRow(r *methodspan.Row) {
	t.resources.appendResource(r.Resource)
	t.kind.appendName(r.Kind)
	t.level.appendName(r.Level)
	t.start.appendTime(r.StartNS)
	t.addEnd(r.StartNS, r.WallNS, r.EndNS, r.Measured > 0)
	t.class.addName(r.Class)
	t.method.addName(r.Method)
	t.caller.addName(r.Caller)
	t.group.addName(r.Group)
	t.calls.addDouble(r.Calls)
	t.measured.appendValue(r.Measured)
	t.cpuMeasured.appendValue(r.CPUMeasured)
	t.errors.addDouble(r.Errors)
	t.wall.addSum(r.Measured, r.WallNS)
	t.cpu.addSum(r.CPUMeasured, r.CPUNS)
	t.p.addKnown(r.P)
	t.cpuP.addKnown(r.CPUP)
	t.configuredRate.addKnown(r.ConfiguredRate)
	t.effectiveRate.addKnown(r.EffectiveRate)
	t.tier.addName(r.Tier)
	t.reason.addName(r.Reason)
	t.weightBasis.addName(r.WeightBasis)
	t.cpuState.addName(r.CPUState)
	t.price.addPointer(r.USDPerCoreHour)
	t.priceSource.addName(r.PriceSource)
	t.batchID.addName(r.BatchID)
	t.trace.appendID(r.TraceID[:])
	t.spanID.appendID(r.SpanID[:])
	t.parent.appendID(r.ParentSpanID[:])
	t.seq.values = append(t.seq.values, r.RowSeq)
	if isPlain(r) {
		t.plain++
		return
	}
	t.noteAbsent()
	t.addRare(r)
}

// addEnd adds the end of a row unless it follows from other columns and may be left out.
func (t *table) addEnd(start, wall, end int64, timed bool) {
	if timed && !t.end.required && endFollows(start, wall, end) {
		t.end.addNull()
	} else {
		t.end.appendTime(end)
	}
}

// endFollows reports whether a row ends when its start and its wall time say. A sum that
// INT64 does not hold says nothing: readers that add it up would fail.
func endFollows(start, wall, end int64) bool {
	sum := start + wall
	return sum == end && (wall < 0) == (sum < start)
}

// addSum adds the sum of a measured quantity, unknown where nothing was measured.
func (q *quantityColumns) addSum(measured, sum int64) {
	if measured <= 0 {
		q.sum.addNull()
	} else {
		q.sum.appendTime(sum)
	}
}
