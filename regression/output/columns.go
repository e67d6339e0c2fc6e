package output

// Columns describes a table of records of one type: each column has a name and a function for its cells.
type Columns[T any] struct {
	names []string
	cells []func(*T) Cell
}

// Column adds a column on the right.
func (c *Columns[T]) Column(name string, cell func(*T) Cell) {
	c.names, c.cells = append(c.names, name), append(c.cells, cell)
}

// Name adds a column of names.
func (c *Columns[T]) Name(name string, text func(*T) string) {
	c.Column(name, func(record *T) Cell { return Name(text(record)) })
}

// Figure adds a column of figures.
func (c *Columns[T]) Figure(name string, text func(*T) string) {
	c.Column(name, func(record *T) Cell { return Figure(text(record)) })
}

// Whole adds a column of whole numbers.
func (c *Columns[T]) Whole(name string, number func(*T) int64) {
	c.Column(name, func(record *T) Cell { return Whole(number(record)) })
}

// Table returns the table of some records.
func (c *Columns[T]) Table(records []T) *Table {
	t := &Table{Columns: c.names}
	for i := range records {
		row := make([]Cell, len(c.cells))
		for j, cell := range c.cells {
			row[j] = cell(&records[i])
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
