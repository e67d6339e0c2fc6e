package output

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Format is the output format of a document.
type Format string

const (
	Text         Format = "text"
	JSON         Format = "json"
	MarkdownPage Format = "markdown"
	CSV          Format = "csv"

	// HTML is supported by a few commands, which write it themselves.
	HTML Format = "html"
)

// Formats lists the formats that every command supports.
var Formats = []Format{Text, JSON, MarkdownPage, CSV}

// ParseFormat reads a value of --format.
func ParseFormat(s string) (Format, error) {
	if slices.Contains(Formats, Format(s)) {
		return Format(s), nil
	}
	if s == "html" {
		return "", fmt.Errorf("--format: this command writes no html; want text, json, markdown or csv")
	}
	return "", fmt.Errorf("--format: want text, json, markdown or csv, found %q", s)
}

// Write writes the document.
func (d *Document) Write(w io.Writer, f Format) error {
	switch f {
	case JSON:
		return WriteJSON(w, d.Data)
	case CSV:
		return d.csv(w)
	case MarkdownPage:
		return d.markdown(w)
	default:
		return d.text(w)
	}
}

// WriteJSON writes a value as indented JSON and a newline.
func WriteJSON(w io.Writer, v any) error {
	data, err := encode(v, "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// Line encodes a value as JSON on one line.
func Line(v any) ([]byte, error) { return encode(v, "") }

func encode(v any, indent string) ([]byte, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // names like <init> stay readable
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	// Characters that affect a terminal only occur inside of strings, where their escaped form is equivalent.
	var out []byte
	for _, r := range b.String() {
		switch {
		case r == '\n' || !acts(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out, nil
}

func (d *Document) csv(w io.Writer) error {
	for _, b := range d.Blocks {
		if b.Table == nil {
			continue
		}
		out := csv.NewWriter(w)
		write := func(fields []string) error {
			if len(fields) != 1 || fields[0] != "" {
				return out.Write(fields)
			}
			out.Flush() // readers skip an empty line
			_, err := io.WriteString(w, "\"\"\n")
			return errors.Join(out.Error(), err)
		}
		header := make([]string, len(b.Table.Columns))
		for i, c := range b.Table.Columns {
			header[i] = csvField(c)
		}
		if err := write(header); err != nil {
			return err
		}
		for _, row := range b.Table.Rows {
			fields := make([]string, len(row))
			for i, c := range row {
				fields[i] = c.text
				if !c.figure {
					fields[i] = csvField(c.text)
				}
			}
			if err := write(fields); err != nil {
				return err
			}
		}
		out.Flush()
		return out.Error()
	}
	return nil
}

func (d *Document) text(w io.Writer) error {
	most := MaxWidth
	if d.Wide {
		most = 0
	}
	var b strings.Builder
	for i, block := range d.Blocks {
		if i > 0 {
			b.WriteByte('\n')
		}
		for _, line := range block.Lines {
			writeLine(&b, line, most)
		}
		if block.Table != nil {
			block.Table.text(&b, most)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeLine writes a line outside of a table; most is its maximum width, 0 = no limit.
func writeLine(b *strings.Builder, line string, most int) {
	line = Printable(line)
	if most == 0 {
		b.WriteString(line + "\n")
		return
	}
	for _, part := range wrap(line, most) {
		b.WriteString(part + "\n")
	}
}

func (t *Table) text(b *strings.Builder, most int) {
	if t.Title != "" {
		writeLine(b, t.Title, most)
	}
	columns, omitted := t.fit(most)
	height := 0
	for i := range columns {
		height = max(height, len(columns[i].header))
	}
	header := make([][]string, len(columns))
	for i, c := range columns { // the last word of a header is right above the figures
		header[i] = append(make([]string, height-len(c.header)), c.header...)
	}
	writeRow(b, columns, header)
	shortened := false
	for _, row := range t.Rows {
		cells := make([][]string, len(columns))
		for i, c := range columns {
			text := Printable(row[c.index].text)
			switch {
			case Cells(text) <= c.width:
				cells[i] = []string{text}
			case row[c.index].prose:
				cells[i] = lines(text, c.width)
			default:
				cells[i], shortened = []string{Middle(text, c.width)}, true
			}
		}
		writeRow(b, columns, cells)
	}
	switch {
	case len(omitted) > 0:
		writeLine(b, fmt.Sprintf("no room for %s: --wide prints all columns", strings.Join(omitted, ", ")), most)
	case shortened:
		writeLine(b, "names are shortened: --wide prints all of them", most)
	}
}

// writeRow writes the lines of a row. The number of lines can differ between columns.
func writeRow(b *strings.Builder, columns []column, cells [][]string) {
	height := 1
	for _, c := range cells {
		height = max(height, len(c))
	}
	for n := range height {
		var line strings.Builder
		for i, c := range columns {
			if i > 0 {
				line.WriteString(gap)
			}
			text := ""
			if n < len(cells[i]) {
				text = cells[i][n]
			}
			pad := strings.Repeat(" ", max(0, c.width-Cells(text)))
			if c.figure {
				line.WriteString(pad + text)
			} else {
				line.WriteString(text + pad)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

func (d *Document) markdown(w io.Writer) error {
	var b strings.Builder
	for i, block := range d.Blocks {
		if i > 0 {
			b.WriteByte('\n')
		}
		for j, line := range block.Lines {
			if j > 0 {
				b.WriteString("\\\n") // a hard line break
			}
			b.WriteString(Markdown(line))
		}
		if len(block.Lines) > 0 {
			b.WriteByte('\n')
		}
		if block.Table != nil {
			block.Table.markdown(&b)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *Table) markdown(b *strings.Builder) {
	if t.Title != "" {
		b.WriteString("**" + Markdown(t.Title) + "**\n\n")
	}
	for _, c := range t.Columns {
		b.WriteString("| " + Markdown(c) + " ")
	}
	b.WriteString("|\n")
	for i := range t.Columns {
		if len(t.Rows) > 0 && t.Rows[0][i].figure {
			b.WriteString("| ---: ")
		} else {
			b.WriteString("| --- ")
		}
	}
	b.WriteString("|\n")
	for _, row := range t.Rows {
		for _, c := range row {
			b.WriteString("| " + Markdown(c.text) + " ")
		}
		b.WriteString("|\n")
	}
}
