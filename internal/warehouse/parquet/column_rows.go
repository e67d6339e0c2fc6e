package parquet

import "slices"

// rowNumbers holds one number per row. While all rows have the same, which is the
// usual case in most columns, it counts them and no more.
type rowNumbers struct {
	n    int     // rows
	same int32   // the number of all of them, while each is empty
	each []int32 // by row
}

func (r *rowNumbers) appendNumber(number int32) {
	if len(r.each) == 0 && number == r.same && r.n > 0 {
		r.n++ // apart, so that it is inlined
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

// writeCounted writes down what was only counted so far.
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
