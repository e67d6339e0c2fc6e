package methodfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of what is read.
const (
	MaxSize     = 16 << 20
	maxEntries  = 100_000
	maxTiers    = 64
	maxTierName = 64
	maxText     = 1024
	version     = 1
)

type object = map[string]json.RawMessage

// Parse reads a file. The error is for a file of which nothing can be used; all
// other faults are in the File.
func Parse(data []byte) (*File, error) {
	if len(data) > MaxSize {
		return nil, fmt.Errorf("must be at most %d bytes, found %d", MaxSize, len(data))
	}
	var top object
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(&top); err != nil {
		return nil, fmt.Errorf("must be a JSON object: %w", located(data, err))
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("must be one JSON object, found more after it")
	}
	found := 0
	if raw, ok := top["version"]; !ok || json.Unmarshal(raw, &found) != nil || found != version {
		return nil, fmt.Errorf("version must be %d, found %s", version, orNothing(top["version"]))
	}
	p := parser{file: newFile()}
	p.unknown("method file", top, "version", "defaults", "tiers", "methods", "$schema")
	p.tiers(top["tiers"])
	p.defaults(top["defaults"])
	p.methods(top["methods"])
	return p.file, nil
}

// located adds the line to an error of the JSON decoder.
func located(data []byte, err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at := min(max(0, int(syntax.Offset)), len(data))
		return fmt.Errorf("line %d: %w", 1+bytes.Count(data[:at], []byte("\n")), err)
	}
	return err
}

func orNothing(raw json.RawMessage) string {
	if raw == nil {
		return "nothing"
	}
	return shortened(raw)
}

// shortened keeps a fault readable whatever the file holds.
func shortened(raw []byte) string {
	const most = 80
	if len(raw) > most {
		return strings.ToValidUTF8(string(raw[:most]), "") + "..."
	}
	return string(raw)
}

type parser struct {
	file *File
}

func (p *parser) fault(format string, args ...any) {
	p.file.Faults = append(p.file.Faults, fmt.Sprintf(format, args...))
}

// unknown reports keys that mean nothing.
func (p *parser) unknown(where string, o object, known ...string) {
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if !slices.Contains(known, key) {
			p.fault("%s: unknown key %q%s", where, shortened([]byte(key)), meant(key, known))
		}
	}
}

// meant suggests the name that was probably meant.
func meant(name string, known []string) string {
	if near := nearest(name, known); near != "" {
		return fmt.Sprintf("; did you mean %q", near)
	}
	return ""
}

// tiers keeps of each tier what makes sense.
func (p *parser) tiers(raw json.RawMessage) {
	var tiers object
	if raw != nil && json.Unmarshal(raw, &tiers) != nil {
		p.fault("tiers: must be an object of tiers, found %s", shortened(raw))
	}
	for _, name := range slices.Sorted(maps.Keys(tiers)) {
		where := "tiers." + shortened([]byte(name))
		if n := utf8.RuneCountInString(name); n < 1 || n > maxTierName {
			p.fault("%s: a tier's name must have 1 to %d characters, found %d", where, maxTierName, n)
			continue
		}
		if len(p.file.tiers) == maxTiers {
			p.fault("tiers: must be at most %d, found %d", maxTiers, len(tiers))
			return
		}
		s := p.settings(where, p.object(where, tiers[name]), settingKeys)
		s.Tier = name
		p.file.tiers[name] = s
	}
}

func (p *parser) defaults(raw json.RawMessage) {
	if raw == nil {
		return
	}
	o := p.object("defaults", raw)
	s := p.settings("defaults", o, append([]string{"tier"}, settingKeys...))
	p.file.defaults = s.over(p.tier("defaults", o))
}

func (p *parser) methods(raw json.RawMessage) {
	var entries []json.RawMessage
	if raw != nil && json.Unmarshal(raw, &entries) != nil {
		p.fault("methods: must be a list, found %s", shortened(raw))
	}
	if len(entries) > maxEntries {
		p.fault("methods: must be at most %d, found %d; the others are left out", maxEntries, len(entries))
		entries = entries[:maxEntries]
	}
	for i, raw := range entries {
		p.entry(i, raw)
	}
}
