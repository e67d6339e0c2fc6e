package output

import (
	"slices"
	"strconv"
)

// Document is the output of a command.
type Document struct {
	Blocks []Block
	// Data is the JSON form.
	Data any
	// Wide disables the limit of MaxWidth cells for lines of text.
	Wide bool
}

// View selects what of a result a document has.
type View struct {
	Format Format
	// Top is the number of entries without a finding; 0 = all.
	Top int
	// Verbose adds the evidence, Wide all columns.
	Verbose, Wide bool
}

// Block is a paragraph or a table.
type Block struct {
	Lines []string
	Table *Table
}

// Table is printed with its columns aligned. CSV contains only the first table of a document.
type Table struct {
	Title   string
	Columns []string
	Rows    [][]Cell
	// Least lists the columns to leave out first if a line of text has not enough room.
	Least []string
}

// Cell is an untrusted name or a figure of our own.
type Cell struct {
	text          string
	figure, prose bool
}

// Name returns a cell with untrusted text.
func Name(s string) Cell { return Cell{text: s} }

// Prose returns a cell with sentences, which text wraps instead of shortening them.
func Prose(s string) Cell { return Cell{text: s, prose: true} }

// Figure returns a cell with our own text. It is aligned to the right and never shortened.
func Figure(s string) Cell { return Cell{text: s, figure: true} }

// Whole returns a figure for a whole number.
func Whole(n int64) Cell { return Figure(strconv.FormatInt(n, 10)) }

// Say adds a paragraph of lines, if there are any.
func (d *Document) Say(lines ...string) {
	if len(lines) > 0 {
		d.Blocks = append(d.Blocks, Block{Lines: lines})
	}
}

// Add adds a table.
func (d *Document) Add(t *Table) { d.Blocks = append(d.Blocks, Block{Table: t}) }

// Object is a JSON object whose members keep their order.
type Object struct {
	Names  []string
	Values []any
}

// MarshalJSON implements json.Marshaler.
func (o Object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, name := range o.Names {
		if i > 0 {
			b = append(b, ',')
		}
		key, err := Line(name)
		if err != nil {
			return nil, err
		}
		value, err := Line(o.Values[i])
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, key...), ':'), value...)
	}
	return append(b, '}'), nil
}

// Omit removes the columns whose cells all contain one of the texts.
func (t *Table) Omit(texts ...string) {
	for i := len(t.Columns) - 1; i >= 0 && len(t.Rows) > 0; i-- {
		if slices.ContainsFunc(t.Rows, func(row []Cell) bool { return !slices.Contains(texts, row[i].text) }) {
			continue
		}
		t.Columns = slices.Delete(t.Columns, i, i+1)
		for n := range t.Rows {
			t.Rows[n] = slices.Delete(t.Rows[n], i, i+1)
		}
	}
}
