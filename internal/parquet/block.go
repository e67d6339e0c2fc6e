package parquet

import (
	"fmt"
	"slices"
	"strings"

	pq "github.com/parquet-go/parquet-go"

	"github.com/corehour/corehour/internal/methodspan"
)

// block is one row group, read column by column, which takes a tenth of the time
// that the library takes to read rows. Rows are made of it one at a time, because
// as columns they take a fifth of the memory.
type block struct {
	rows    int
	columns []blockColumn

	kind, level                             nameVector
	class, method, signature, caller, stack nameVector
	group, stratum, tier, reason            nameVector
	weightBasis, cpuState, priceSource      nameVector
	requestID, batchID                      nameVector
	resource                                [12]nameVector

	start, end, measured, cpuMeasured    numberVector[int64]
	wall, cpu, wallMax, cpuMax           numberVector[int64]
	processStart, rss, callsTotal, final numberVector[int64]
	seq                                  numberVector[int64]
	calls, errors, wallSq, cpuSq         numberVector[float64]
	p, cpuP, configuredRate              numberVector[float64]
	effectiveRate, price, cores          numberVector[float64]
	hostCores, cpuLimit                  numberVector[float64]
	trace, spanID, parent                idVector
	wallBins, cpuBins                    listVector[int64]
	wallCounts, cpuCounts, statValues    listVector[float64]
	statNames                            nameListVector

	resources map[resourceKey]*methodspan.Resource
	last      resourceKey
	lastRes   *methodspan.Resource
	// Where only the resources are kept: the row's, by its number.
	resourceAt rowNumbers
	distinct   []*methodspan.Resource
}

// blockColumn is a leaf of the schema and where its values go.
type blockColumn struct {
	path string // as in wall_hist.list.element.bin
	vector
}

// resourceKey tells resources of one row group apart by the places of their names.
type resourceKey struct {
	names [12]int32
	start int64
}

// newBlock reads the columns that want is true for, all if it is nil.
func newBlock(want func(path string) bool, intern func(string) string) *block {
	b := &block{resources: map[resourceKey]*methodspan.Resource{}}
	add := func(path string, v vector) {
		if want == nil || want(path) {
			b.columns = append(b.columns, blockColumn{path, v})
		}
	}
	names := func(path string, v *nameVector, shared bool) {
		if shared {
			v.intern = intern
		}
		add(path, v)
	}
	longs := func(path string, v *numberVector[int64]) {
		v.page = longsOf
		add(path, v)
	}
	doubles := func(path string, v *numberVector[float64]) {
		v.page = doublesOf
		add(path, v)
	}
	ids := func(path string, v *idVector, size int) {
		v.size = size
		add(path, v)
	}
	names("kind", &b.kind, true)
	names("level", &b.level, true)
	longs("start_ns", &b.start)
	longs("end_ns", &b.end)
	for i, name := range resourceNames {
		names(name, &b.resource[i], true)
	}
	names("class", &b.class, true)
	names("method", &b.method, true)
	names("signature", &b.signature, true)
	names("caller", &b.caller, true)
	names("stack", &b.stack, false)
	names("goroutine_group", &b.group, false)
	doubles("calls", &b.calls)
	longs("measured", &b.measured)
	longs("cpu_measured", &b.cpuMeasured)
	doubles("errors", &b.errors)
	longs("wall_ns", &b.wall)
	longs("cpu_ns", &b.cpu)
	doubles("wall_sq", &b.wallSq)
	doubles("cpu_sq", &b.cpuSq)
	longs("wall_max_ns", &b.wallMax)
	longs("cpu_max_ns", &b.cpuMax)
	b.wallBins.page, b.cpuBins.page = longsOf, longsOf
	b.wallCounts.page, b.cpuCounts.page, b.statValues.page = doublesOf, doublesOf, doublesOf
	add("wall_hist.list.element.bin", &b.wallBins)
	add("wall_hist.list.element.n", &b.wallCounts)
	add("cpu_hist.list.element.bin", &b.cpuBins)
	add("cpu_hist.list.element.n", &b.cpuCounts)
	doubles("p", &b.p)
	doubles("cpu_p", &b.cpuP)
	names("stratum", &b.stratum, true)
	doubles("configured_rate", &b.configuredRate)
	doubles("effective_rate", &b.effectiveRate)
	names("tier", &b.tier, true)
	names("reason", &b.reason, true)
	names("weight_basis", &b.weightBasis, true)
	names("cpu_state", &b.cpuState, true)
	doubles("usd_per_core_hour", &b.price)
	names("price_source", &b.priceSource, true)
	longs("process_start_ns", &b.processStart)
	doubles("cores", &b.cores)
	doubles("host_cores", &b.hostCores)
	doubles("cpu_limit", &b.cpuLimit)
	longs("rss_bytes", &b.rss)
	longs("calls_total", &b.callsTotal)
	longs("final", &b.final)
	add("sdk_stats.list.element.name", &b.statNames)
	add("sdk_stats.list.element.value", &b.statValues)
	ids("trace_id", &b.trace, 16)
	ids("span_id", &b.spanID, 8)
	ids("parent_span_id", &b.parent, 8)
	names("request_id", &b.requestID, false)
	names("batch_id", &b.batchID, false)
	longs("row_seq", &b.seq)
	return b
}

// read takes over a row group.
func (b *block) read(schema *pq.Schema, group pq.RowGroup) error {
	b.begin(group)
	return b.readColumns(schema, group, b.columns)
}

// begin takes over a row group of which no column is read yet.
func (b *block) begin(group pq.RowGroup) {
	b.rows = int(group.NumRows())
	clear(b.resources)
	b.lastRes = nil
}

// readColumns reads columns of the row group. The library may panic over a file that
// is damaged, which must not stop more than the reading of it.
func (b *block) readColumns(schema *pq.Schema, group pq.RowGroup, columns []blockColumn) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("reading it panics: %v", p)
		}
	}()
	chunks := group.ColumnChunks()
	for _, c := range columns {
		c.reset()
		leaf, ok := c.leaf(schema)
		if !ok {
			continue
		}
		if err := readVector(chunks[leaf], c.vector); err != nil {
			return fmt.Errorf("column %s: %w", c.path, err)
		}
		if n := rowsOf(c.vector); n != b.rows {
			return fmt.Errorf("column %s has %d rows of %d", c.path, n, b.rows)
		}
	}
	return nil
}

// leaf is where a schema has the column, false if it is of an older one.
func (c *blockColumn) leaf(schema *pq.Schema) (int, bool) {
	leaf, ok := schema.Lookup(strings.Split(c.path, ".")...)
	return leaf.ColumnIndex, ok
}

// named are the columns of these paths, of those that are read.
func (b *block) named(paths []string) []blockColumn {
	var columns []blockColumn
	for _, c := range b.columns {
		if slices.Contains(paths, c.path) {
			columns = append(columns, c)
		}
	}
	return columns
}

func rowsOf(v vector) int {
	switch v := v.(type) {
	case *nameVector:
		return v.rows
	case *numberVector[int64]:
		return v.rows
	case *numberVector[float64]:
		return v.rows
	case *idVector:
		return v.rows
	case *listVector[int64]:
		return v.rows
	case *listVector[float64]:
		return v.rows
	case *nameListVector:
		return v.rows
	}
	return -1
}

// key is what row i is sorted by.
func (b *block) key(i int) rowKey {
	return rowKey{b.resource[1].get(i), b.class.get(i), b.method.get(i), b.resource[2].get(i), b.start.value(i)}
}

// row makes a row. Equal resources are shared within the block.
func (b *block) row(i int, r *methodspan.Row) {
	*r = methodspan.Row{
		Resource: b.resourceOf(i), Kind: b.kind.get(i), Level: b.level.get(i), StartNS: b.start.value(i), EndNS: b.endOf(i),
		Class: b.class.get(i), Method: b.method.get(i), Signature: b.signature.get(i), Caller: b.caller.get(i),
		Stack: b.stack.get(i), Group: b.group.get(i),
		Calls: b.calls.value(i), Measured: b.measured.value(i), CPUMeasured: b.cpuMeasured.value(i), Errors: b.errors.value(i),
		WallNS: b.wall.value(i), WallSq: b.wallSq.value(i), WallMaxNS: b.wallMax.value(i),
		CPUNS: b.cpu.value(i), CPUSq: b.cpuSq.value(i), CPUMaxNS: b.cpuMax.value(i),
		WallHist: histogramOf(&b.wallBins, &b.wallCounts, i), CPUHist: histogramOf(&b.cpuBins, &b.cpuCounts, i),
		P: b.p.value(i), CPUP: b.cpuP.value(i), Stratum: b.stratum.get(i),
		ConfiguredRate: b.configuredRate.value(i), EffectiveRate: b.effectiveRate.value(i),
		Tier: b.tier.get(i), Reason: b.reason.get(i), WeightBasis: b.weightBasis.get(i), CPUState: b.cpuState.get(i),
		PriceSource: b.priceSource.get(i), RequestID: b.requestID.get(i), BatchID: b.batchID.get(i), RowSeq: int32(b.seq.value(i)),
	}
	// A maximum that follows from the sum is not stored.
	if r.Measured == 1 && r.WallMaxNS == 0 {
		r.WallMaxNS = r.WallNS
	}
	if r.CPUMeasured == 1 && r.CPUMaxNS == 0 {
		r.CPUMaxNS = r.CPUNS
	}
	if price, ok := b.price.get(i); ok {
		r.USDPerCoreHour = &price
	}
	b.trace.get(i, r.TraceID[:])
	b.spanID.get(i, r.SpanID[:])
	b.parent.get(i, r.ParentSpanID[:])
	r.Process = b.process(i)
}

// endOf is the end of row i, which is not stored if it follows.
func (b *block) endOf(i int) int64 {
	if end, ok := b.end.get(i); ok {
		return end
	}
	return b.start.value(i) + b.wall.value(i)
}

// process is what only process rows have, nil for others.
func (b *block) process(i int) *methodspan.ProcessStats {
	final, ok := b.final.get(i)
	if !ok {
		p := methodspan.ProcessStats{Cores: b.cores.value(i), HostCores: b.hostCores.value(i), CPULimit: b.cpuLimit.value(i), Summed: true}
		if p.Cores+p.HostCores+p.CPULimit == 0 {
			return nil
		}
		return &p
	}
	p := &methodspan.ProcessStats{
		Cores: b.cores.value(i), HostCores: b.hostCores.value(i), CPULimit: b.cpuLimit.value(i), RSSBytes: b.rss.value(i), CallsTotal: methodspan.TotalNotGiven, Final: final != 0,
	}
	if total, ok := b.callsTotal.get(i); ok {
		p.CallsTotal = total
	}
	values := b.statValues.get(i)
	for j, name := range b.statNames.get(i) {
		if j < len(values) {
			p.Stats = append(p.Stats, methodspan.Stat{Name: name, Value: values[j]})
		}
	}
	return p
}

func histogramOf(bins *listVector[int64], counts *listVector[float64], row int) methodspan.Histogram {
	from, n := bins.get(row), counts.get(row)
	if len(from) == 0 || len(n) != len(from) {
		return nil
	}
	h := make(methodspan.Histogram, len(from))
	for i := range h {
		h[i] = methodspan.Bin{Bin: int32(from[i]), N: n[i]}
	}
	return h
}

func (b *block) resourceOf(row int) *methodspan.Resource {
	key := resourceKey{start: b.processStart.value(row)}
	for i := range b.resource {
		if at := b.resource[i].at; len(at) > 0 {
			key.names[i] = at[row]
		}
	}
	if b.lastRes != nil && key == b.last {
		return b.lastRes
	}
	res := b.resources[key]
	if res == nil {
		name := func(i int) string { return b.resource[i].get(row) }
		res = &methodspan.Resource{
			ServiceNamespace: name(0), Service: name(1), Version: name(2), Revision: name(3), Environment: name(4), Instance: name(5),
			Host: name(6), HostID: name(7), HostType: name(8), CloudProvider: name(9), Region: name(10), CapacityType: name(11),
			ProcessStartNS: key.start,
		}
		b.resources[key] = res
	}
	b.last, b.lastRes = key, res
	return res
}

// numberResources keeps the resources of the rows when their columns are let go of.
func (b *block) numberResources() {
	b.resourceAt.reset()
	b.distinct = b.distinct[:0]
	numbers := map[*methodspan.Resource]int32{}
	for i := range b.rows {
		res := b.resourceOf(i)
		n, ok := numbers[res]
		if !ok {
			n = int32(len(b.distinct))
			numbers[res] = n
			b.distinct = append(b.distinct, res)
		}
		b.resourceAt.appendNumber(n)
	}
}

// nameListVector holds the names of the elements of a list.
type nameListVector struct {
	rows  int
	lists [][]string // of the rows; empty if none has any
}

func (v *nameListVector) reset() { v.rows, v.lists = 0, v.lists[:0] }

func (v *nameListVector) get(row int) []string {
	if len(v.lists) == 0 {
		return nil
	}
	return v.lists[row]
}

func (v *nameListVector) readPage(page pq.Page, defs []byte) error {
	n := int(page.NumRows())
	if len(v.lists) == 0 && !known(page) {
		v.rows += n
		return nil
	}
	for len(v.lists) < v.rows {
		v.lists = append(v.lists, nil)
	}
	v.rows += n
	var values nameVector
	if page.Dictionary() != nil {
		return fmt.Errorf("lists are in a dictionary")
	}
	if err := values.texts(page.Data()); err != nil {
		return err
	}
	reps := page.RepetitionLevels()
	if len(reps) != len(defs) {
		return errShort
	}
	at := 0
	for i, r := range reps {
		if r == 0 {
			v.lists = append(v.lists, nil)
		}
		if defs[i] < 2 {
			continue
		}
		if at >= len(values.values) || len(v.lists) == 0 {
			return errShort
		}
		last := &v.lists[len(v.lists)-1]
		*last = append(*last, values.values[at])
		at++
	}
	if len(v.lists) != v.rows {
		return errShort
	}
	return nil
}
