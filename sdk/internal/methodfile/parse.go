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
)

// MaxSize and maxEntries bound what is read.
const (
	MaxSize    = 16 << 20
	maxEntries = 100_000
	version    = 1
)

type object = map[string]json.RawMessage

// Parse reads a file. normal brings names to the form class.method. The error is
// for a file of which nothing can be used; all other faults are in the File.
func Parse(data []byte, normal func(string) string) (*File, error) {
	if len(data) > MaxSize {
		return nil, fmt.Errorf("the method file must be at most %d bytes, found %d", MaxSize, len(data))
	}
	var top object
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(&top); err != nil {
		return nil, fmt.Errorf("the method file must be a JSON object: %w", located(data, err))
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("the method file must be one JSON object, found more after it")
	}
	p := parser{file: newFile(), normal: normal}
	p.unknown("", top, "version", "defaults", "tiers", "methods", "strict", "$schema")
	found := 0
	if raw, ok := top["version"]; !ok || json.Unmarshal(raw, &found) != nil || found != version {
		return nil, fmt.Errorf("version must be %d, found %s", version, orAbsent(top["version"]))
	}
	if raw, ok := top["strict"]; ok && json.Unmarshal(raw, &p.file.Strict) != nil {
		p.fault("strict must be true or false, found %s", raw)
	}
	if raw, ok := top["defaults"]; ok {
		p.file.defaults, _ = p.settings("defaults", raw, settingKeys)
	}
	p.tiers(top["tiers"])
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

func orAbsent(raw json.RawMessage) string {
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
	file   *File
	normal func(string) string
}

func (p *parser) fault(format string, args ...any) {
	p.file.Faults = append(p.file.Faults, fmt.Sprintf(format, args...))
}

// unknown reports keys that mean nothing, and tells whether there were any.
func (p *parser) unknown(where string, o object, known ...string) bool {
	strangers := slices.DeleteFunc(slices.Sorted(maps.Keys(o)), func(key string) bool { return slices.Contains(known, key) })
	for _, key := range strangers {
		hint := ""
		if near := nearest(key, known); near != "" {
			hint = fmt.Sprintf("; did you mean %q", near)
		}
		p.fault("%s: unknown key %q%s", place(where), shortened([]byte(key)), hint)
	}
	return len(strangers) > 0
}

func place(where string) string {
	if where == "" {
		return "method file"
	}
	return where
}

func (p *parser) tiers(raw json.RawMessage) {
	if raw == nil {
		return
	}
	var tiers object
	if err := json.Unmarshal(raw, &tiers); err != nil {
		p.fault("tiers must be an object of tiers, found %s", shortened(raw))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(tiers)) {
		if s, ok := p.settings(fmt.Sprintf("tiers.%s", shortened([]byte(name))), tiers[name], settingKeys); ok {
			s.Tier = name
			p.file.tiers[name] = s
		}
	}
}

func (p *parser) methods(raw json.RawMessage) {
	if raw == nil {
		return
	}
	var entries []json.RawMessage
	if err := json.Unmarshal(raw, &entries); err != nil {
		p.fault("methods must be a list, found %s", shortened(raw))
		return
	}
	if len(entries) > maxEntries {
		p.fault("methods must be at most %d, found %d; the others are left out", maxEntries, len(entries))
		entries = entries[:maxEntries]
	}
	for i, raw := range entries {
		p.entry(i, raw)
	}
}
