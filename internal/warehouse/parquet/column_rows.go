package parquet

import "slices"

// rowNumbers holds one number per row. While all rows have the same number, the usual case in most columns, it
// only counts the rows.
type rowNumbers struct {
	n    int     // rows
	same int32   // the number of all of them, while each is empty
	each []int32 // by row
}

func (r *rowNumbers) appendNumber(number int32) {
	if len(r.each) == 0 && number == r.same && r.n > 0 {
		r.n++ // in a separate branch, so that it is inlined
	} else {
		r.addOther(number)
	}
}

func (r *rowNumbers) addOther(number int32) {
	switch {
	case len(r.each) > 0:
		r.each = append(r.each, number)
	case r.n == 0:
		r.same = number
	default:
		r.writeCounted()
		r.each = append(r.each, number)
	}
	r.n++
}

// addSame adds a number for n rows.
func (r *rowNumbers) addSame(number int32, n int) {
	if len(r.each) == 0 && (r.n == 0 || number == r.same) {
		r.same = number
		r.n += n
		return
	}
	for range n {
		r.appendNumber(number)
	}
}

// writeCounted materializes the counted numbers.
func (r *rowNumbers) writeCounted() {
	r.each = slices.Grow(r.each, r.n+1)
	for range r.n {
		r.each = append(r.each, r.same)
	}
}

func (r *rowNumbers) at(row int32) int32 {
	if len(r.each) == 0 {
		return r.same
	}
	return r.each[row]
}

func (r *rowNumbers) reset() { r.n, r.each = 0, r.each[:0] }
