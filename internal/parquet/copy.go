package parquet

import "github.com/corehour/corehour/internal/methodspan"

// unseen is the number of a name that was not copied yet.
const unseen = int32(-2)

// copier copies columns of the picked rows.
type copier struct {
	picks []pick
	parts []part
}

type (
	longs   = numberVector[int64]
	doubles = numberVector[float64]
)

// vectorsOf lists a column's vectors, by part, and reports whether any has a value.
func vectorsOf[V any](c *copier, of func(*block) *V, empty func(*V) bool) (all []*V, known bool) {
	all = make([]*V, len(c.parts))
	for i, p := range c.parts {
		all[i] = of(p.block)
		known = known || !empty(all[i])
	}
	return all, known
}

// names maps the numbers of a part's names to those of the column, so that each
// name is looked up once per part.
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
		v, at := from[p.part], int32(0)
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
			to.rows.appendNumber(number)
		case to.required:
			to.appendName("")
		default:
			to.addNull()
		}
	}
}

// sameName is the one name that all rows of all parts have.
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
		if x, ok := from[p.part].get(int(p.row)); ok || to.required {
			to.appendTime(x)
		} else {
			to.addNull()
		}
	}
}

// ends leaves out those that follow from start and wall time, which older files have.
func (c *copier) ends(t *table) {
	for _, p := range c.picks {
		b, row := c.parts[p.part].block, int(p.row)
		end, ok := b.end.get(row)
		if !ok {
			t.end.addNull()
			continue
		}
		wall, timed := b.wall.get(row)
		t.addEnd(b.start.value(row), wall, end, timed)
	}
}

// maxima leaves out those that follow from one value, which older files have.
func (c *copier) maxima(to *timeColumn, of func(*block) [3]*longs) {
	from := make([][3]*longs, len(c.parts))
	for i, p := range c.parts {
		from[i] = of(p.block)
	}
	for _, p := range c.picks {
		measured, sum, maximum := from[p.part][0], from[p.part][1], from[p.part][2]
		row := int(p.row)
		x, ok := maximum.get(row)
		if !ok || methodspan.MaximumFollows(measured.value(row), sum.value(row), x) {
			to.addNull()
		} else {
			to.appendTime(x)
		}
	}
}

func (c *copier) counts(to *longColumn, of func(*block) *longs) {
	from, _ := vectorsOf(c, of, (*longs).empty)
	for _, p := range c.picks {
		to.appendValue(from[p.part].value(int(p.row)))
	}
}

func (c *copier) doubles(to *doubleColumn, of func(*block) *doubles) {
	from, known := vectorsOf(c, of, (*doubles).empty)
	if !known && !to.required {
		to.addNulls(len(c.picks))
		return
	}
	for _, p := range c.picks {
		if x, ok := from[p.part].get(int(p.row)); ok || to.required {
			to.addDouble(x)
		} else {
			to.addNull()
		}
	}
}

func (c *copier) ids(to *idColumn, of func(*block) *idVector) {
	from, _ := vectorsOf(c, of, func(v *idVector) bool { return len(v.values) == 0 })
	for _, p := range c.picks {
		v := from[p.part]
		if len(v.values) == 0 {
			to.addNull()
			continue
		}
		to.appendID(v.values[int(p.row)*v.size : (int(p.row)+1)*v.size])
	}
}

func (c *copier) squares(to *sparseColumn, of func(*block) *doubles) {
	from, _ := vectorsOf(c, of, (*doubles).empty)
	for _, p := range c.picks {
		to.addKnown(from[p.part].get(int(p.row)))
	}
}

func (c *copier) bins(to *listColumn, of func(*block) *listVector[int64]) {
	for _, p := range c.picks {
		bins := of(c.parts[p.part].block).get(int(p.row))
		to.beginAny(len(bins))
		for _, bin := range bins {
			to.addInt(int32(bin))
		}
	}
}

func (c *copier) weights(to *listColumn, of func(*block) *listVector[float64]) {
	for _, p := range c.picks {
		weights := of(c.parts[p.part].block).get(int(p.row))
		to.beginAny(len(weights))
		for _, n := range weights {
			to.addDouble(n)
		}
	}
}

func (c *copier) processes(t *table) {
	for _, p := range c.picks {
		t.addProcess(c.parts[p.part].block.process(int(p.row)))
	}
}

func (c *copier) resources(to *resources) {
	for _, p := range c.picks {
		b := c.parts[p.part].block
		to.appendResource(b.distinct[b.resourceAt.at(p.row)])
	}
}
