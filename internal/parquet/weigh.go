package parquet

// heavyText is the size from which on the text of a row group is counted row by row.
const heavyText = 1 << 20

// longNames may be long, and there may be many of them.
var longNames = []string{"stack", "request_id", "batch_id", "caller", "signature"}

// weigh counts the text of each row of the row group that comes next, if there is
// much of it.
func (m *merger) weigh(s *source) ([]int32, error) {
	b, group := m.weighed, s.file.RowGroups()[s.group]
	columns := b.named(longNames)
	size := int64(0)
	for _, c := range columns {
		if leaf, ok := s.file.Schema().Lookup(c.path); ok {
			size += s.file.Metadata().RowGroups[s.group].Columns[leaf.ColumnIndex].MetaData.TotalUncompressedSize
		}
	}
	if size <= heavyText {
		return nil, nil
	}
	b.begin(group)
	texts := make([]int32, b.rows)
	distinct := 0
	for _, c := range columns {
		c.borrow(&m.spare)
		if err := b.readColumns(s.file.Schema(), group, []blockColumn{c}); err != nil {
			return nil, err
		}
		names := c.vector.(*nameVector)
		for _, name := range names.values {
			distinct += len(name)
		}
		for i := range texts {
			texts[i] += int32(len(names.get(i)))
		}
		c.giveBack(&m.spare)
	}
	if distinct <= heavyText {
		return nil, nil
	}
	return texts, nil
}
