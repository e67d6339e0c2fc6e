package parquet

import "github.com/corehour/corehour/internal/methodspan"

// copyRows adds rows of blocks column by column: what add does for a row that is
// put together, which must stay alike.
func (t *table) copyRows(picks []pick, blocks []*block) {
	if len(picks) == 0 {
		return
	}
	for _, p := range picks {
		t.resources.add(blocks[p.block].resourceOf(int(p.row)))
	}
	c := &copier{picks, blocks}
	c.names(&t.kind, func(b *block) *nameVector { return &b.kind })
	c.names(&t.level, func(b *block) *nameVector { return &b.level })
	c.times(&t.start, func(b *block) *longs { return &b.start })
	c.times(&t.end, func(b *block) *longs { return &b.end })
	c.names(&t.class, func(b *block) *nameVector { return &b.class })
	c.names(&t.method, func(b *block) *nameVector { return &b.method })
	c.names(&t.signature, func(b *block) *nameVector { return &b.signature })
	c.names(&t.caller, func(b *block) *nameVector { return &b.caller })
	c.names(&t.stack, func(b *block) *nameVector { return &b.stack })
	c.names(&t.group, func(b *block) *nameVector { return &b.group })
	c.doubles(&t.calls, func(b *block) *doubles { return &b.calls })
	c.counts(&t.measured, func(b *block) *longs { return &b.measured })
	c.counts(&t.cpuMeasured, func(b *block) *longs { return &b.cpuMeasured })
	c.doubles(&t.errors, func(b *block) *doubles { return &b.errors })
	c.times(&t.wall.sum, func(b *block) *longs { return &b.wall })
	c.times(&t.cpu.sum, func(b *block) *longs { return &b.cpu })
	c.maxima(&t.wall.max, func(b *block) [3]*longs { return [...]*longs{&b.measured, &b.wall, &b.wallMax} })
	c.maxima(&t.cpu.max, func(b *block) [3]*longs { return [...]*longs{&b.cpuMeasured, &b.cpu, &b.cpuMax} })
	c.doubles(&t.p, func(b *block) *doubles { return &b.p })
	c.doubles(&t.cpuP, func(b *block) *doubles { return &b.cpuP })
	c.names(&t.stratum, func(b *block) *nameVector { return &b.stratum })
	c.doubles(&t.configuredRate, func(b *block) *doubles { return &b.configuredRate })
	c.doubles(&t.effectiveRate, func(b *block) *doubles { return &b.effectiveRate })
	c.names(&t.tier, func(b *block) *nameVector { return &b.tier })
	c.names(&t.reason, func(b *block) *nameVector { return &b.reason })
	c.names(&t.weightBasis, func(b *block) *nameVector { return &b.weightBasis })
	c.names(&t.cpuState, func(b *block) *nameVector { return &b.cpuState })
	c.doubles(&t.price, func(b *block) *doubles { return &b.price })
	c.names(&t.priceSource, func(b *block) *nameVector { return &b.priceSource })
	c.names(&t.requestID, func(b *block) *nameVector { return &b.requestID })
	c.names(&t.batchID, func(b *block) *nameVector { return &b.batchID })
	c.ids(&t.trace, func(b *block) *idVector { return &b.trace })
	c.ids(&t.spanID, func(b *block) *idVector { return &b.spanID })
	c.ids(&t.parent, func(b *block) *idVector { return &b.parent })
	c.rare(t)
	first := methodspan.Row{StartNS: t.start.values[0]}
	t.day.day = first.EventDay()
}

// copier copies columns of the picked rows.
type copier struct {
	picks  []pick
	blocks []*block
}

type (
	longs   = numberVector[int64]
	doubles = numberVector[float64]
)

// vectorsOf lists a column's vectors, by block, and tells whether any has a value.
func vectorsOf[V any](c *copier, of func(*block) *V, empty func(*V) bool) (all []*V, known bool) {
	all = make([]*V, len(c.blocks))
	for i, b := range c.blocks {
		all[i] = of(b)
		known = known || !empty(all[i])
	}
	return all, known
}

// names maps the numbers of a block's names to those of the column, so that each
// name is looked up once per block.
func (c *copier) names(to *stringColumn, of func(*block) *nameVector) {
	from, known := vectorsOf(c, of, func(v *nameVector) bool { return len(v.values) == 0 })
	if !known && !to.required {
		to.addNulls(len(c.picks))
		return
	}
	if name, same := sameName(from); same && name != "" {
		to.addSame(name, len(c.picks))
		return
	}
	for _, v := range from {
		for len(v.numbers) < len(v.values) {
			v.numbers = append(v.numbers, unseen)
		}
	}
	for _, p := range c.picks {
		v, at := from[p.block], int32(0)
		if len(v.at) > 0 {
			at = v.at[p.row]
		}
		number := null
		if at != null && int(at) < len(v.values) {
			number = v.numbers[at]
			if number == unseen {
				number = null
				if name := v.values[at]; name != "" || to.required {
					number = to.number(name)
				}
				v.numbers[at] = number
			}
		}
		switch {
		case number != null:
			to.rows.add(number)
		case to.required:
			to.add("")
		default:
			to.addNull()
		}
	}
}

// sameName is the one name that all rows of all blocks have.
func sameName(from []*nameVector) (string, bool) {
	for _, v := range from {
		if len(v.at) > 0 || len(v.values) != 1 || v.values[0] != from[0].values[0] {
			return "", false
		}
	}
	return from[0].values[0], true
}

func (c *copier) times(to *timeColumn, of func(*block) *longs) {
	from, known := vectorsOf(c, of, (*longs).empty)
	for _, p := range c.picks {
		if !known {
			to.addNull()
			continue
		}
		if x, ok := from[p.block].get(int(p.row)); ok || to.required {
			to.add(x)
		} else {
			to.addNull()
		}
	}
}

// maxima leaves out those that follow from one value, which older files have.
func (c *copier) maxima(to *timeColumn, of func(*block) [3]*longs) {
	from := make([][3]*longs, len(c.blocks))
	for i, b := range c.blocks {
		from[i] = of(b)
	}
	for _, p := range c.picks {
		measured, sum, maximum := from[p.block][0], from[p.block][1], from[p.block][2]
		row := int(p.row)
		x, ok := maximum.get(row)
		if !ok || followsFromSum(measured.value(row), sum.value(row), x) {
			to.addNull()
		} else {
			to.add(x)
		}
	}
}

func (c *copier) counts(to *longColumn, of func(*block) *longs) {
	from, _ := vectorsOf(c, of, (*longs).empty)
	for _, p := range c.picks {
		to.add(from[p.block].value(int(p.row)))
	}
}

func (c *copier) doubles(to *doubleColumn, of func(*block) *doubles) {
	from, known := vectorsOf(c, of, (*doubles).empty)
	if !known && !to.required {
		to.addNulls(len(c.picks))
		return
	}
	for _, p := range c.picks {
		if x, ok := from[p.block].get(int(p.row)); ok || to.required {
			to.addDouble(x)
		} else {
			to.addNull()
		}
	}
}

func (c *copier) ids(to *sparseColumn, of func(*block) *idVector) {
	from, _ := vectorsOf(c, of, func(v *idVector) bool { return len(v.values) == 0 })
	for _, p := range c.picks {
		v := from[p.block]
		if len(v.values) == 0 {
			to.addNull()
			continue
		}
		to.addID(v.values[int(p.row)*v.size : (int(p.row)+1)*v.size])
	}
}

// rare copies the columns that few rows have, and the place in the item.
func (c *copier) rare(t *table) {
	for _, p := range c.picks {
		b, i := c.blocks[p.block], int(p.row)
		t.seq.values = append(t.seq.values, int32(b.seq.value(i)))
		t.wall.addHistogram(histogramOf(&b.wallBins, &b.wallCounts, i))
		t.cpu.addHistogram(histogramOf(&b.cpuBins, &b.cpuCounts, i))
		t.wall.squares.addKnown(b.wallSq.get(i))
		t.cpu.squares.addKnown(b.cpuSq.get(i))
		t.addProcess(b.process(i))
	}
}
