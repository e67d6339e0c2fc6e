package parquet

// A pick is a row of one of several blocks.
type pick struct{ block, row int32 }

// unseen is the number of a value that was not copied yet.
const unseen = int32(-2)

// heavyText is the size from which on a block's names are counted row by row.
const heavyText = 1 << 20

// copyTo merges the rows into a stream. Rows are picked in their order and then
// copied column by column, so that none is ever put together.
func (r *Run) copyTo(s *stream) error {
	picks := make([]pick, 0, s.file.groupRows)
	copyPicks := func() {
		s.copy(picks, r.blocks)
		picks = picks[:0]
	}
	for len(r.sources) > 0 {
		if r.rows++; r.rows%8192 == 0 && r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		source := r.sources[0]
		picks = append(picks, pick{source.number, int32(source.at - 1)})
		if source.block.heavy {
			s.text += source.block.textOf(source.at - 1)
		}
		full := s.copied+len(picks) == s.file.groupRows || s.text > rowGroupText
		if full || source.at == source.block.rows { // the next row group takes its place
			copyPicks()
		}
		if full {
			if err := s.flush(); err != nil {
				return err
			}
		}
		if err := r.advance(); err != nil {
			return err
		}
	}
	if len(picks) > 0 {
		copyPicks()
	}
	return nil
}

// renumber forgets the numbers that values had in the columns they were copied to.
func (b *block) renumber() {
	for _, c := range b.columns {
		if v, ok := c.vector.(*nameVector); ok {
			v.numbers = v.numbers[:0]
		}
	}
}

// longNames are the names that may be long and of which there may be many.
func (b *block) longNames() [5]*nameVector {
	return [...]*nameVector{&b.stack, &b.requestID, &b.batchID, &b.caller, &b.signature}
}

// weigh finds out whether the block's names must be counted row by row.
func (b *block) weigh() {
	n := 0
	for _, v := range b.longNames() {
		for _, s := range v.values {
			n += len(s)
		}
	}
	b.heavy = n > heavyText
}

func (b *block) textOf(row int) (n int) {
	for _, v := range b.longNames() {
		n += len(v.get(row))
	}
	return n
}
