package parquet

// A unit is columns next to each other that are copied together, because they follow
// from the same values.
type unit struct {
	columns int
	paths   []string // of what is read for it
	copy    func(c *copier)
	starts  bool // it has the starts of the rows
}

var resourcePaths = append(resourceNames[:len(resourceNames):len(resourceNames)], "process_start_ns")

// units lists them in the order of the columns.
func (t *table) units() []unit {
	names := func(path string, to *stringColumn, of func(*block) *nameVector) unit {
		return unit{columns: 1, paths: []string{path}, copy: func(c *copier) { c.names(to, of) }}
	}
	times := func(path string, to *timeColumn, of func(*block) *longs) unit {
		return unit{columns: 1, paths: []string{path}, copy: func(c *copier) { c.times(to, of) }}
	}
	values := func(path string, to *doubleColumn, of func(*block) *doubles) unit {
		return unit{columns: 1, paths: []string{path}, copy: func(c *copier) { c.doubles(to, of) }}
	}
	counts := func(path string, to *longColumn, of func(*block) *longs) unit {
		return unit{columns: 1, paths: []string{path}, copy: func(c *copier) { c.counts(to, of) }}
	}
	squares := func(path string, to *sparseColumn, of func(*block) *doubles) unit {
		return unit{columns: 1, paths: []string{path}, copy: func(c *copier) { c.squares(to, of) }}
	}
	maxima := func(to *timeColumn, paths []string, of func(*block) [3]*longs) unit {
		return unit{columns: 1, paths: paths, copy: func(c *copier) { c.maxima(to, of) }}
	}
	bins := func(path string, to *listColumn, of func(*block) *listVector[int64]) unit {
		return unit{columns: 1, paths: []string{path}, copy: func(c *copier) { c.bins(to, of) }}
	}
	weights := func(path string, to *listColumn, of func(*block) *listVector[float64]) unit {
		return unit{columns: 1, paths: []string{path}, copy: func(c *copier) { c.weights(to, of) }}
	}
	ids := func(path string, to *idColumn, of func(*block) *idVector) unit {
		return unit{columns: 1, paths: []string{path}, copy: func(c *copier) { c.ids(to, of) }}
	}
	spans := unit{columns: 2, paths: []string{"start_ns", "end_ns", "wall_ns"}, starts: true, copy: func(c *copier) {
		c.times(&t.start, func(b *block) *longs { return &b.start })
		c.ends(t)
	}}
	return []unit{
		{columns: 1, copy: func(*copier) {}}, // the day, which is that of the file
		names("kind", &t.kind, func(b *block) *nameVector { return &b.kind }),
		names("level", &t.level, func(b *block) *nameVector { return &b.level }),
		spans,
		{columns: len(resourceNames), copy: func(c *copier) {
			c.resources(&t.resources)
			for i := range t.resource {
				t.resource[i].fill()
			}
		}},
		names("class", &t.class, func(b *block) *nameVector { return &b.class }),
		names("method", &t.method, func(b *block) *nameVector { return &b.method }),
		names("signature", &t.signature, func(b *block) *nameVector { return &b.signature }),
		names("caller", &t.caller, func(b *block) *nameVector { return &b.caller }),
		names("stack", &t.stack, func(b *block) *nameVector { return &b.stack }),
		names("goroutine_group", &t.group, func(b *block) *nameVector { return &b.group }),
		values("calls", &t.calls, func(b *block) *doubles { return &b.calls }),
		counts("measured", &t.measured, func(b *block) *longs { return &b.measured }),
		counts("cpu_measured", &t.cpuMeasured, func(b *block) *longs { return &b.cpuMeasured }),
		values("errors", &t.errors, func(b *block) *doubles { return &b.errors }),
		times("wall_ns", &t.wall.sum, func(b *block) *longs { return &b.wall }),
		times("cpu_ns", &t.cpu.sum, func(b *block) *longs { return &b.cpu }),
		squares("wall_sq", &t.wall.squares, func(b *block) *doubles { return &b.wallSq }),
		squares("cpu_sq", &t.cpu.squares, func(b *block) *doubles { return &b.cpuSq }),
		maxima(&t.wall.max, []string{"measured", "wall_ns", "wall_max_ns"}, func(b *block) [3]*longs { return [...]*longs{&b.measured, &b.wall, &b.wallMax} }),
		maxima(&t.cpu.max, []string{"cpu_measured", "cpu_ns", "cpu_max_ns"}, func(b *block) [3]*longs { return [...]*longs{&b.cpuMeasured, &b.cpu, &b.cpuMax} }),
		bins(binPaths[0], &t.wall.bins, func(b *block) *listVector[int64] { return &b.wallBins }),
		weights("wall_hist.list.element.n", &t.wall.counts, func(b *block) *listVector[float64] { return &b.wallCounts }),
		bins(binPaths[1], &t.cpu.bins, func(b *block) *listVector[int64] { return &b.cpuBins }),
		weights("cpu_hist.list.element.n", &t.cpu.counts, func(b *block) *listVector[float64] { return &b.cpuCounts }),
		values("p", &t.p, func(b *block) *doubles { return &b.p }),
		values("cpu_p", &t.cpuP, func(b *block) *doubles { return &b.cpuP }),
		names("stratum", &t.stratum, func(b *block) *nameVector { return &b.stratum }),
		values("configured_rate", &t.configuredRate, func(b *block) *doubles { return &b.configuredRate }),
		values("effective_rate", &t.effectiveRate, func(b *block) *doubles { return &b.effectiveRate }),
		names("tier", &t.tier, func(b *block) *nameVector { return &b.tier }),
		names("reason", &t.reason, func(b *block) *nameVector { return &b.reason }),
		names("weight_basis", &t.weightBasis, func(b *block) *nameVector { return &b.weightBasis }),
		names("cpu_state", &t.cpuState, func(b *block) *nameVector { return &b.cpuState }),
		values("usd_per_core_hour", &t.price, func(b *block) *doubles { return &b.price }),
		names("price_source", &t.priceSource, func(b *block) *nameVector { return &b.priceSource }),
		{columns: 1, copy: func(c *copier) {
			c.resources(&t.resources)
			t.processStart.fill()
		}},
		{columns: len(processPaths), paths: processPaths, copy: func(c *copier) { c.processes(t) }},
		ids("trace_id", &t.trace, func(b *block) *idVector { return &b.trace }),
		ids("span_id", &t.spanID, func(b *block) *idVector { return &b.spanID }),
		ids("parent_span_id", &t.parent, func(b *block) *idVector { return &b.parent }),
		names("request_id", &t.requestID, func(b *block) *nameVector { return &b.requestID }),
		names("batch_id", &t.batchID, func(b *block) *nameVector { return &b.batchID }),
		{columns: 1, paths: []string{"row_seq"}, copy: func(c *copier) {
			for _, p := range c.picks {
				t.seq.values = append(t.seq.values, int32(c.parts[p.part].block.seq.value(int(p.row))))
			}
		}},
	}
}

// binPaths are the columns that say how many bins a row has.
var binPaths = []string{"wall_hist.list.element.bin", "cpu_hist.list.element.bin"}

// processPaths are the columns that process rows have.
var processPaths = []string{
	"cores", "host_cores", "cpu_limit", "rss_bytes", "calls_total", "final", "sdk_stats.list.element.name", "sdk_stats.list.element.value",
}
