package rulefile

import (
	"math"
	"strings"
	"time"

	"github.com/corehour/corehour/internal/configfile"
)

// MaxEntries bounds each list of a file that Parse reads.
const MaxEntries = 10_000

// List is one list of a file and the keys that its entries may have.
type List struct {
	Name   string
	Fields []string
	// Read reads one entry and reports faults through it. At its end it checks e.Faulty and
	// drops the entry if that is true.
	Read func(e *Entry)
}

// Parse reads a JSON file that consists of a version and lists of flat entries. An error
// means that nothing of the file is usable.
func Parse(data []byte, lists ...List) ([]configfile.Warning, error) {
	root, err := ParseJSON(data)
	if err != nil {
		return nil, err
	}
	known := []string{"$schema", "version"}
	for _, l := range lists {
		known = append(known, l.Name)
	}
	r := &Report{}
	top := r.Section("")
	parts := map[string]*Node{}
	top.Keys(root, known, func(key string, v *Node) { parts[key] = v })
	if err := CheckVersion(parts["version"]); err != nil {
		return nil, err
	}
	for _, l := range lists {
		if v := parts[l.Name]; v != nil {
			top.Items(l.Name, v, MaxEntries, func(i int, v *Node) { r.readEntry(&l, i, v) })
		}
	}
	return r.Warnings, nil
}

func (r *Report) readEntry(l *List, i int, v *Node) {
	e := &Entry{Index: i, section: r.Entry(l.Name, i), line: v.Line, fields: map[string]*Node{}}
	e.section.Keys(v, l.Fields, func(key string, v *Node) { e.fields[key] = v })
	if v.Kind == KindObject {
		l.Read(e)
	}
}

// Entry is one entry of a list.
type Entry struct {
	Index   int
	section *Section
	line    int
	fields  map[string]*Node
}

// Fault adds a warning about a field, or about the entry if field is empty.
func (e *Entry) Fault(field, rule, found, hint string) {
	line := e.line
	if v := e.fields[field]; v != nil {
		line = v.Line
	}
	e.section.Warn(field, line, rule, found, hint)
}

// Faulty reports whether the entry has a fault and must be left out.
func (e *Entry) Faulty() bool { return e.section.Faulty() }

// Has reports whether the entry has a field.
func (e *Entry) Has(field string) bool { return e.fields[field] != nil }

// Text returns a string that is not blank; empty if the entry does not have the field.
func (e *Entry) Text(field string) string {
	v := e.fields[field]
	if v == nil {
		return ""
	}
	s, ok := e.section.Text(field, v)
	if ok && strings.TrimSpace(s) == "" {
		e.Fault(field, "must not be empty", configfile.Quote(s), "leave it out to match any")
		return ""
	}
	return s
}

// Required returns a Text that the entry must have.
func (e *Entry) Required(field string) string {
	if !e.Has(field) {
		e.section.WarnMissing(field, e.line, "")
		return ""
	}
	return e.Text(field)
}

// Choice returns one of some words; empty if the entry does not have the field.
func (e *Entry) Choice(field string, words ...string) string {
	v := e.fields[field]
	if v == nil {
		return ""
	}
	s, _ := e.section.Choice(field, v, words...)
	return s
}

// Positive returns a finite number above 0; 0 if the entry does not have the field.
func (e *Entry) Positive(field string) float64 {
	v := e.fields[field]
	if v == nil {
		return 0
	}
	x, ok := e.section.Number(field, v)
	if ok && (!(x > 0) || math.IsInf(x, 0)) {
		e.Fault(field, "must be a number above 0", v.Show(), "")
		return 0
	}
	return x
}

// Time returns a date, as the start of that day in UTC, or a time of RFC 3339; zero if the
// entry does not have the field.
func (e *Entry) Time(field string) time.Time {
	s := e.Text(field)
	if s == "" {
		return time.Time{}
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, s); err == nil {
			return t
		}
	}
	e.Fault(field, "must be a date like 2026-12-01 or a time like 2026-12-01T08:00:00Z", configfile.Quote(s), "")
	return time.Time{}
}
