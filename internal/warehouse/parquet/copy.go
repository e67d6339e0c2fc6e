package parquet

// unseen is the number of a name that is not copied yet.
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

// vectorsOf lists the vectors of a leaf, by part, and reports whether any has a value.
func vectorsOf[V vector](c *copier, leaf int) (all []V, known bool) {
	all = make([]V, len(c.parts))
	for i, p := range c.parts {
		all[i] = p.block.columns[leaf].vector.(V)
		known = known || !all[i].empty()
	}
	return all, known
}

// names maps the numbers of a part's names to the column's numbers, so that each name is looked up once per part.
func (c *copier) names(to *stringColumn, leaf int) {
	from, known := vectorsOf[*nameVector](c, leaf)
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

// sameName returns the only name, if all rows of all parts have the same one.
func sameName(from []*nameVector) (string, bool) {
	for _, v := range from {
		if len(v.at) > 0 || len(v.values) != 1 || v.values[0] != from[0].values[0] {
			return "", false
		}
	}
	return from[0].values[0], true
}

func (c *copier) times(to *timeColumn, leaf int) {
	from, known := vectorsOf[*longs](c, leaf)
	if !known && !to.required {
		to.addNulls(len(c.picks))
		return
	}
	for _, p := range c.picks {
		if x, ok := from[p.part].get(int(p.row)); ok || to.required {
			to.appendTime(x)
		} else {
			to.addNull()
		}
	}
}

func (c *copier) counts(to *longColumn, leaf int) {
	from, _ := vectorsOf[*longs](c, leaf)
	for _, p := range c.picks {
		to.appendValue(from[p.part].value(int(p.row)))
	}
}

func (c *copier) doubles(to *doubleColumn, leaf int) {
	from, known := vectorsOf[*doubles](c, leaf)
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

func (c *copier) ids(to *idColumn, leaf int) {
	from, known := vectorsOf[*idVector](c, leaf)
	if !known {
		to.n += len(c.picks)
		return
	}
	for _, p := range c.picks {
		v := from[p.part]
		if len(v.values) == 0 {
			to.addNull()
			continue
		}
		to.appendID(v.values[int(p.row)*v.size : (int(p.row)+1)*v.size])
	}
}

func (c *copier) seqs(to *seqColumn, leaf int) {
	from, _ := vectorsOf[*longs](c, leaf)
	for _, p := range c.picks {
		to.values = append(to.values, int32(from[p.part].value(int(p.row))))
	}
}

// sparse copies numbers and flags that few rows have.
func (c *copier) sparse(to *sparseColumn, leaf int) {
	if _, double := c.parts[0].block.columns[leaf].vector.(*doubles); double {
		if from, known := vectorsOf[*doubles](c, leaf); known {
			for _, p := range c.picks {
				to.addKnown(from[p.part].get(int(p.row)))
			}
			return
		}
	} else if from, known := vectorsOf[*longs](c, leaf); known {
		for _, p := range c.picks {
			x, ok := from[p.part].get(int(p.row))
			switch {
			case !ok:
				to.addNull()
			case to.bits:
				to.addBool(x != 0)
			default:
				to.addLong(x)
			}
		}
		return
	}
	to.rows.addSame(null, len(c.picks))
}

// copyLists copies one field of the elements of lists.
func copyLists[T element](c *copier, to *listColumn, leaf int, add func(T)) {
	from, known := vectorsOf[*listVector[T]](c, leaf)
	if !known {
		to.n += len(c.picks)
		return
	}
	for _, p := range c.picks {
		elements := from[p.part].get(int(p.row))
		to.beginAny(len(elements))
		for _, e := range elements {
			add(e)
		}
	}
}

func (c *copier) resources(to *resources) {
	for _, p := range c.picks {
		b := c.parts[p.part].block
		to.appendResource(b.distinct[b.resourceAt.at(p.row)])
	}
}
