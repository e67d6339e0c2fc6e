package methodfile

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Bounds of a file.
const (
	MaxSize     = 16 << 20 // bytes
	maxEntries  = 100_000
	maxTiers    = 64
	maxTierName = 64   // characters
	maxText     = 1024 // characters
)

var (
	settingKeys = []string{"rate", "cpu_rate", "min", "max", "mode", "tail", "stack"}
	fileKeys    = []string{"version", "defaults", "tiers", "methods", "$schema"}
	defaultKeys = append([]string{"tier"}, settingKeys...)
	entryKeys   = append([]string{"class", "method", "signature", "match", "tier", "blocking", "scope"}, settingKeys...)
)

// Parse reads a file. An error means that nothing of it is usable; all other faults are in
// File.Faults.
func Parse(data []byte) (*File, error) {
	if len(data) > MaxSize {
		return nil, fmt.Errorf("must be at most %d bytes, found %d", MaxSize, len(data))
	}
	root, err := readTree(data)
	if err != nil {
		return nil, err
	}
	p := &parser{file: newFile()}
	parts := map[string]*node{}
	p.section("").keys(root, fileKeys, func(key string, v *node) { parts[key] = v })
	if err := checkVersion(parts["version"]); err != nil {
		return nil, err
	}
	// The order matters: entries refer to tiers and inherit from the defaults.
	p.readTiers(parts["tiers"])
	p.readDefaults(parts["defaults"])
	p.readMethods(parts["methods"])
	for _, add := range p.add {
		add()
	}
	return p.file, nil
}

func checkVersion(v *node) error {
	if v == nil {
		return errors.New(`"version" must be 1, found none: add "version": 1`)
	}
	if v.kind != kindNumber || v.text != "1" {
		return fmt.Errorf(`line %d: "version" must be 1, found %s`, v.line, v.show())
	}
	return nil
}

type parser struct {
	file *File
	add  []func() // adds the entries to the file
}

func (p *parser) section(path string) *section { return &section{file: p.file, path: path} }

func (p *parser) readTiers(v *node) {
	if v == nil {
		return
	}
	top := p.section("tiers")
	if v.kind != kindObject {
		top.warnType("", v, kindObject)
		return
	}
	lines := make(map[string]int, len(v.members))
	for _, m := range v.members {
		s := p.section("tiers." + pathElement(m.key))
		n := utf8.RuneCountInString(m.key)
		switch {
		case n < 1 || n > maxTierName:
			s.warn("", m.line, fmt.Sprintf("a tier's name must have 1 to %d characters", maxTierName), strconv.Itoa(n), "")
			continue
		case lines[m.key] > 0:
			top.warnDuplicate(m, lines[m.key])
			continue
		case len(p.file.tiers) == maxTiers:
			top.warn("", m.line, fmt.Sprintf("must be at most %d", maxTiers), strconv.Itoa(len(v.members)), "")
			return
		}
		lines[m.key] = m.line
		tier := p.readSettings(s, m.value, settingKeys)
		tier.Tier = m.key
		p.file.tiers[m.key] = tier
	}
}

// pathElement returns a key that the file chose as a part of a path: quoted unless it consists
// of letters, digits, - and _.
func pathElement(key string) string {
	for _, r := range key {
		if r != '_' && r != '-' && !(r >= '0' && r <= '9') && !(r >= 'a' && r <= 'z') && !(r >= 'A' && r <= 'Z') {
			return quote(key)
		}
	}
	if key == "" || len(key) > 40 {
		return quote(key)
	}
	return key
}

func (p *parser) readDefaults(v *node) {
	if v == nil {
		return
	}
	s := p.section("defaults")
	own := p.readSettings(s, v, defaultKeys)
	all := own.withDefaults(p.file.tiers[own.Tier])
	if values := all.unordered(); values != "" {
		s.warn("", v.line, "must hold min <= rate <= max, with the values of its tier", values, "")
		all.Min, all.Max = nil, nil
	}
	p.file.defaults = all
}

// readSettings reads a tier or the defaults. It leaves out only the faulty keys, because entries
// would mean something else without their tier or the defaults.
func (p *parser) readSettings(s *section, v *node, known []string) Settings {
	var found Settings
	s.keys(v, known, func(key string, v *node) {
		if key == "tier" {
			found.Tier = p.readTier(s, v)
			return
		}
		readSetting(&found, s, key, v)
	})
	if values := found.unordered(); values != "" {
		s.warn("", v.line, "must hold min <= rate <= max", values, "")
		found.Min, found.Max = nil, nil
	}
	return found
}

// readTier reads a reference to a tier; empty if it is faulty.
func (p *parser) readTier(s *section, v *node) string {
	name := s.text("tier", v)
	if name == nil {
		return ""
	}
	if _, ok := p.file.tiers[*name]; !ok {
		names := slices.Sorted(maps.Keys(p.file.tiers))
		hint := didYouMean(*name, names)
		if len(names) == 0 {
			hint = "the file has no tiers"
		}
		s.warn("tier", v.line, "must be a key of `tiers`", v.show(), hint)
		return ""
	}
	return *name
}

func (p *parser) readMethods(v *node) {
	if v == nil {
		return
	}
	top := p.section("methods")
	if v.kind != kindList {
		top.warnType("", v, kindList)
		return
	}
	for i, m := range v.members {
		if i == maxEntries {
			top.warn("", m.line, fmt.Sprintf("must have at most %d entries", maxEntries), strconv.Itoa(len(v.members)), "")
			return
		}
		p.readEntry(i, m.value)
	}
}
