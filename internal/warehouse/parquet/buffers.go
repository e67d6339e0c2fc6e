package parquet

// A merge copies column by column. Each column needs its buffers only for a moment.

// buffers are the free buffers that no vector uses.
type buffers struct {
	longs   [][]int64
	doubles [][]float64
	places  [][]int32
	bytes   [][]byte
	known   [][]bool
	names   [][]string
}

// keptBuffers is the number of buffers of each kind that are kept.
const keptBuffers = 6

// borrowBuffer returns an empty buffer, a free one if available.
func borrowBuffer[T any](free *[][]T) []T {
	n := len(*free)
	if n == 0 {
		return nil
	}
	buffer := (*free)[n-1]
	*free = (*free)[:n-1]
	return buffer[:0]
}

// freeBuffer returns a buffer to the free ones unless there are enough.
func freeBuffer[T any](free *[][]T, buffer []T) []T {
	if cap(buffer) > 0 && len(*free) < keptBuffers {
		*free = append(*free, buffer[:0])
	}
	return nil
}

func (v *nameVector) borrow(b *buffers) {
	v.at, v.numbers, v.values = borrowBuffer(&b.places), borrowBuffer(&b.places), borrowBuffer(&b.names)
}

func (v *nameVector) giveBack(b *buffers) {
	clear(v.values) // let go of the names
	v.rows, v.at, v.numbers, v.values = 0, freeBuffer(&b.places, v.at), freeBuffer(&b.places, v.numbers), freeBuffer(&b.names, v.values)
}

func (v *numberVector[T]) borrow(b *buffers) {
	v.values, v.has = borrowBuffer(valuesOf[T](b)), borrowBuffer(&b.known)
}

func (v *numberVector[T]) giveBack(b *buffers) {
	v.rows, v.same, v.values, v.has = 0, false, freeBuffer(valuesOf[T](b), v.values), freeBuffer(&b.known, v.has)
}

func (v *idVector) borrow(b *buffers) { v.values = borrowBuffer(&b.bytes) }

func (v *idVector) giveBack(b *buffers) { v.rows, v.values = 0, freeBuffer(&b.bytes, v.values) }

func (v *listVector[T]) borrow(b *buffers) {
	v.ends, v.values = borrowBuffer(&b.places), borrowBuffer(valuesOf[T](b))
}

func (v *listVector[T]) giveBack(b *buffers) {
	clear(v.values) // let go of the names
	v.rows, v.ends, v.values = 0, freeBuffer(&b.places, v.ends), freeBuffer(valuesOf[T](b), v.values)
}

func valuesOf[T element](b *buffers) *[][]T {
	if longs, ok := any(&b.longs).(*[][]T); ok {
		return longs
	}
	if doubles, ok := any(&b.doubles).(*[][]T); ok {
		return doubles
	}
	return any(&b.names).(*[][]T)
}

func (c *dictColumn[K]) forget() { c.rows.each = nil }

func (c *timeColumn) forget() { c.values, c.known = nil, nil }

func (c *sparseColumn) forget() { c.rows.each, c.values = nil, nil }

func (c *idColumn) forget() { c.values = nil }

func (c *listColumn) forget() { c.rows, c.values, c.starts = nil, nil, nil }

func (c *seqColumn) forget() { c.values = nil }

func (c *dayColumn) forget() {}
