package output

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// MaxWidth is the maximum number of terminal cells in a line of text.
const MaxWidth = 120

const (
	// gap separates two columns.
	gap = "  "
	// leastName is the minimum width of a name, in cells, as long as there are columns to leave out.
	leastName = 24
	// leastProse is the same minimum for a wrapped cell.
	leastProse = 32
	ellipsis   = "..."
)

// Cells returns the number of terminal cells that a text takes: two for a wide character, none for a combining mark.
func Cells(s string) int {
	n := 0
	for _, r := range s {
		n += cellsOf(r)
	}
	return n
}

func cellsOf(r rune) int {
	switch {
	case r < 0x300: // before the first combining mark
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Middle shortens a name to most cells. It first leaves out the beginning of a package path, which many names have in
// common, and then the middle. It keeps more of the end, which distinguishes a method from others.
func Middle(s string, most int) string {
	if Cells(s) <= most {
		return s
	}
	for path := s[:pathOf(s)]; ; {
		slash := strings.IndexByte(path, '/')
		if slash < 0 {
			break
		}
		path, s = path[slash+1:], s[slash+1:]
		if short := ellipsis + "/" + s; Cells(short) <= most {
			return short
		}
	}
	if Cells(s) <= most {
		return s
	}
	if most <= len(ellipsis) {
		return ellipsis[:max(0, most)]
	}
	room := most - len(ellipsis)
	head := room / 3
	return cut(s, head) + ellipsis + cutEnd(s, room-head)
}

// WithoutPath returns the name of a method without the path of its package: cart.Cart.Total of shop/cart.Cart.Total.
func WithoutPath(name string) string { return name[pathOf(name):] }

// pathOf returns the index of the last element of the path at the beginning of a method's name. A URL has
// no such path, and type arguments do not belong to it.
func pathOf(s string) int {
	end := strings.IndexAny(s, "[( ")
	if end < 0 {
		end = max(0, len(s)-1)
	}
	if strings.Contains(s, "://") {
		return 0
	}
	return strings.LastIndexByte(s[:end], '/') + 1
}

// cut returns the beginning of s that takes at most the given number of cells.
func cut(s string, most int) string {
	n := 0
	for i, r := range s {
		if n += cellsOf(r); n > most {
			return s[:i]
		}
	}
	return s
}

func cutEnd(s string, most int) string {
	n, at := 0, len(s)
	for at > 0 {
		r, size := utf8.DecodeLastRuneInString(s[:at])
		if n += cellsOf(r); n > most {
			break
		}
		at -= size
	}
	for at < len(s) { // a mark needs the character before it
		r, size := utf8.DecodeRuneInString(s[at:])
		if cellsOf(r) > 0 {
			break
		}
		at += size
	}
	return s[at:]
}

// wrap breaks a line between words. Lines after the first have an indent of two more cells than the first. A word that
// is longer than a line is shortened.
func wrap(s string, most int) []string {
	if Cells(s) <= most {
		return []string{s}
	}
	indent := s[:len(s)-len(strings.TrimLeft(s, " "))]
	if len(indent) > most/2 {
		indent = ""
	}
	next := indent + gap
	var lines []string
	line, empty := indent, true
	for word := range strings.FieldsSeq(s) {
		if !empty && Cells(line)+1+Cells(word) > most {
			lines = append(lines, line)
			line, empty = next, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+Middle(word, most-Cells(line)), false
	}
	return append(lines, line)
}

// column is a column of a table that is fitted to a width.
type column struct {
	index         int
	header        []string
	natural       int // width of the widest cell
	least         int // minimum width as long as columns can be left out
	width         int
	figure, prose bool
}

// fit selects the columns of a table and their widths, so that a line takes at most the given number of cells
// (0 = no limit). If there is not enough room, it leaves out columns in the order of t.Least, then from the right.
// Columns of t.Least with the same name in every row are left out first.
func (t *Table) fit(most int) (shown []column, omitted []string) {
	for i, name := range t.Columns {
		c := column{index: i, header: []string{Printable(name)}, figure: len(t.Rows) > 0 && t.Rows[0][i].figure}
		for _, row := range t.Rows {
			c.natural = max(c.natural, Cells(Printable(row[i].text)))
			c.prose = c.prose || row[i].prose
		}
		c.width = max(c.natural, Cells(c.header[0]))
		shown = append(shown, c)
	}
	if most == 0 || lineOf(shown) <= most {
		return shown, nil
	}
	for i := range shown {
		shown[i].narrow()
	}
	for lineOf(shown) > most && len(shown) > 1 {
		at := t.leastOf(shown)
		omitted = append(omitted, t.omission(shown[at].index))
		shown = slices.Delete(shown, at, at+1)
	}
	if lineOf(shown) > most {
		shown[0].width = most
	}
	widen(shown, most-lineOf(shown))
	return shown, omitted
}

// leastOf returns the index of the column to leave out first.
func (t *Table) leastOf(shown []column) int {
	at := len(shown) - 1
	for _, name := range slices.Backward(t.Least) {
		if i := slices.IndexFunc(shown, func(c column) bool { return t.Columns[c.index] == name }); i >= 0 {
			at = i
		}
	}
	for _, name := range slices.Backward(t.Least) {
		if i := slices.IndexFunc(shown, func(c column) bool { return t.Columns[c.index] == name }); i >= 0 && t.same(shown[i].index) {
			at = i
		}
	}
	return at
}

// same reports whether a name is the same in every row, so that the sentence below can mention it once.
func (t *Table) same(index int) bool {
	for _, row := range t.Rows {
		if c := row[index]; c.figure || c.text == "" || c.text != t.Rows[0][index].text {
			return false
		}
	}
	return len(t.Rows) > 0
}

// omission returns the name of an omitted column for the sentence below the table.
func (t *Table) omission(index int) string {
	if t.same(index) {
		return t.Columns[index] + " (" + t.Rows[0][index].text + ")"
	}
	return t.Columns[index]
}

// narrow sets the width of a column to its minimum.
func (c *column) narrow() {
	c.header = strings.Fields(c.header[0])
	for _, word := range c.header {
		c.least = max(c.least, min(Cells(word), leastName))
	}
	switch {
	case c.figure:
		c.least = max(c.least, c.natural)
	case c.prose:
		c.least = max(c.least, min(c.natural, leastProse))
	default:
		c.least = max(c.least, min(c.natural, leastName))
	}
	c.width = c.least
}

// widen distributes the remaining room, cell by cell, to the narrowest column that needs more.
func widen(columns []column, room int) {
	for ; room > 0; room-- {
		best := -1
		for i := range columns {
			if c := &columns[i]; c.width < c.natural && (best < 0 || c.width < columns[best].width) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		columns[best].width++
	}
	for i := range columns {
		columns[i].header = lines(strings.Join(columns[i].header, " "), columns[i].width)
	}
}

// lines wraps the text of a cell without an indent.
func lines(s string, most int) []string {
	var out []string
	line := ""
	for word := range strings.FieldsSeq(s) {
		word = Middle(word, most)
		switch {
		case line == "":
			line = word
		case Cells(line)+1+Cells(word) > most:
			out = append(out, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(out, line)
}

func lineOf(columns []column) int {
	n := -len(gap)
	for i := range columns {
		n += columns[i].width + len(gap)
	}
	return max(0, n)
}
