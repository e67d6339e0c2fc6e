package lake

// WorthSums has sums kept beside dates of so many rows, until undo is called.
func WorthSums(rows int64) (undo func()) {
	before := worthSums
	worthSums = rows
	return func() { worthSums = before }
}
