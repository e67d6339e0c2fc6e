// Package rulefile reads small JSON files of rules: a version and lists of flat
// entries, as owners, silences and budgets are.
//
//	{"version": 1, "silences": [{"service": "shop", "until": "2026-12-01", "reason": "..."}]}
//
// Its invariant: every entry is checked, a bad one becomes a configfile.Warning
// with its place and is left out, and all others count.
//
// It does not know what the fields mean; packages that own a file do.
package rulefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/corehour/corehour/internal/configfile"
)

const (
	// MaxEntries bounds each list of a file.
	MaxEntries = 10_000
	maxText    = 1024 // characters of a value
)

// List is one list of a file and what its entries may say.
type List struct {
	Name   string
	Fields []string
	// Read takes one entry. It reports faults through the entry, and what it makes
	// of a faulty one is not to be used: it is asked for Faulty at its end.
	Read func(e *Entry)
}

// Parse reads a file. An error means that it is none of this form.
func Parse(data []byte, lists ...List) ([]configfile.Warning, error) {
	p := &parser{data: data, decoder: json.NewDecoder(bytes.NewReader(data)), lists: lists}
	p.decoder.UseNumber()
	if !utf8.Valid(data) {
		return nil, errors.New("must be UTF-8")
	}
	if !json.Valid(data) {
		var all any
		err := json.Unmarshal(data, &all)
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, fmt.Errorf("line %d: not JSON: %w", p.lineAt(int(syntax.Offset)), err)
		}
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if err := p.file(); err != nil {
		return nil, err
	}
	return p.warnings, nil
}

type parser struct {
	data     []byte
	decoder  *json.Decoder
	lists    []List
	warnings []configfile.Warning
}

func (p *parser) lineAt(offset int) int {
	return 1 + bytes.Count(p.data[:min(offset, len(p.data))], []byte{'\n'})
}

func (p *parser) line() int { return p.lineAt(int(p.decoder.InputOffset())) }

// token can't fail but at the end: the text is valid JSON.
func (p *parser) token() json.Token {
	token, err := p.decoder.Token()
	if err != nil {
		return io.EOF
	}
	return token
}

func (p *parser) raw() json.RawMessage {
	var v json.RawMessage
	_ = p.decoder.Decode(&v) // valid, see token
	return v
}

func (p *parser) file() error {
	if p.token() != json.Delim('{') {
		return errors.New("must hold a JSON object, found something else")
	}
	known := []string{"$schema", "version"}
	for _, l := range p.lists {
		known = append(known, l.Name)
	}
	seen := map[string]bool{}
	for p.decoder.More() {
		name, line := p.token().(string), p.line()
		i := slices.IndexFunc(p.lists, func(l List) bool { return l.Name == name })
		switch {
		case !slices.Contains(known, name):
			p.warn(configfile.Warning{Index: -1, Field: configfile.Quote(name), Line: line, Rule: "must be a known field", Hint: configfile.DidYouMean(name, known)})
			p.raw()
		case seen[name]:
			p.warn(configfile.Warning{Index: -1, Field: name, Line: line, Rule: "must be said once", Value: "it a second time"})
			p.raw()
		case name == "version":
			if v := string(p.raw()); v != "1" {
				return fmt.Errorf(`line %d: "version" must be 1, found %s`, line, configfile.Quote(v))
			}
		case i >= 0:
			p.list(&p.lists[i])
		default:
			p.raw()
		}
		seen[name] = true
	}
	if !seen["version"] {
		return errors.New(`"version" must be 1, found none: add "version": 1`)
	}
	return nil
}

func (p *parser) warn(w configfile.Warning) { p.warnings = append(p.warnings, w) }

func (p *parser) list(l *List) {
	line := p.line()
	var entries []json.RawMessage
	raw := p.raw()
	if json.Unmarshal(raw, &entries) != nil {
		p.warn(configfile.Warning{Where: l.Name, Index: -1, Line: line, Rule: "must be an array", Value: show(raw)})
		return
	}
	// Entries are read again one by one, which tells their lines.
	start := int(p.decoder.InputOffset()) - len(raw)
	inner := json.NewDecoder(bytes.NewReader(raw))
	_, _ = inner.Token()
	for i := range entries {
		begin := start + int(inner.InputOffset())
		for begin < len(p.data) && strings.ContainsRune(" \t\r\n,[", rune(p.data[begin])) {
			begin++
		}
		var v json.RawMessage
		_ = inner.Decode(&v)
		if i == MaxEntries {
			p.warn(configfile.Warning{Where: l.Name, Index: -1, Line: p.lineAt(begin), Rule: fmt.Sprintf("must have at most %d entries", MaxEntries), Value: strconv.Itoa(len(entries))})
			return
		}
		e := &Entry{Index: i, where: fmt.Sprintf("%s[%d]", l.Name, i), line: p.lineAt(begin), parser: p}
		if e.read(v, l.Fields) {
			l.Read(e)
		}
	}
}

// Entry is one entry of a list.
type Entry struct {
	Index  int
	where  string
	line   int
	fields map[string]json.RawMessage
	parser *parser
	faulty bool
}

func (e *Entry) read(v json.RawMessage, known []string) bool {
	d := json.NewDecoder(bytes.NewReader(v))
	if token, _ := d.Token(); token != json.Delim('{') {
		e.Fault("", "must be an object", show(v), "")
		return false
	}
	e.fields = map[string]json.RawMessage{}
	for d.More() {
		token, _ := d.Token()
		name, _ := token.(string)
		var value json.RawMessage
		_ = d.Decode(&value)
		_, repeated := e.fields[name]
		switch {
		case !slices.Contains(known, name):
			e.Fault(configfile.Quote(name), "must be a known field", "", configfile.DidYouMean(name, known))
		case repeated:
			e.Fault(name, "must be said once", "it a second time", "")
		default:
			e.fields[name] = value
		}
	}
	return true
}

// Fault notes what is wrong with a field, or with the entry if field is empty.
func (e *Entry) Fault(field, rule, found, hint string) {
	e.faulty = true
	e.parser.warn(configfile.Warning{Where: e.where, Index: e.Index, Field: field, Line: e.line, Rule: rule, Value: found, Hint: hint})
}

// Faulty reports whether the entry is to be left out.
func (e *Entry) Faulty() bool { return e.faulty }

// Has reports whether a field is said.
func (e *Entry) Has(field string) bool { return e.fields[field] != nil }

// Text is a field that says something; empty if it is not said.
func (e *Entry) Text(field string) string {
	v := e.fields[field]
	if v == nil {
		return ""
	}
	var s string
	switch {
	case json.Unmarshal(v, &s) != nil || v[0] != '"':
		e.Fault(field, "must be a text", show(v), "")
	case strings.TrimSpace(s) == "":
		e.Fault(field, "must not be empty", configfile.Quote(s), "leave it out for any")
	case utf8.RuneCountInString(s) > maxText:
		e.Fault(field, fmt.Sprintf("must be at most %d characters", maxText), strconv.Itoa(utf8.RuneCountInString(s)), "")
	default:
		return s
	}
	return ""
}

// Required is a Text that must be said.
func (e *Entry) Required(field string) string {
	if !e.Has(field) {
		e.Fault(field, "must be said", "nothing", "")
		return ""
	}
	return e.Text(field)
}

// Choice is a Text that is one of some words.
func (e *Entry) Choice(field string, words ...string) string {
	s := e.Text(field)
	if s != "" && !slices.Contains(words, s) {
		e.Fault(field, fmt.Sprintf("must be one of %q", words), configfile.Quote(s), configfile.DidYouMean(s, words))
	}
	return s
}

// Positive is a number above 0; 0 if it is not said.
func (e *Entry) Positive(field string) float64 {
	v := e.fields[field]
	if v == nil {
		return 0
	}
	x, err := strconv.ParseFloat(string(v), 64)
	if err != nil || !(x > 0) {
		hint := ""
		if v[0] == '"' {
			hint = "remove the quotes"
		}
		e.Fault(field, "must be a number above 0", show(v), hint)
		return 0
	}
	return x
}

// Time is a date (the start of that day in UTC) or a time of RFC 3339.
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

// show is a value fit to be printed.
func show(v json.RawMessage) string {
	switch {
	case len(v) == 0:
		return "nothing"
	case v[0] == '{':
		return "an object"
	case v[0] == '[':
		return "an array"
	case v[0] == '"':
		var s string
		_ = json.Unmarshal(v, &s)
		return configfile.Quote(s)
	}
	return string(v[:min(len(v), 40)])
}
