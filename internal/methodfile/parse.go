package methodfile

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/corehour/corehour/internal/configfile"
)

const (
	maxMethods = 100_000
	maxTiers   = 64 // they are values of a metric's label

	maxTierName = 64
)

// File is what a method file says.
type File struct {
	// Default is the rule of methods that no entry matches.
	Default Rule

	// Tiers are the names of the file's tiers, sorted.
	Tiers []string

	Matcher
}

// Rules between a rate and its bounds, by where their values come from.
const (
	ordered         = "must hold min <= rate <= max"
	orderedWithTier = ordered + ", with what its tier says"
	orderedWithAll  = ordered + ", with what its tier and the defaults say"
)

var (
	fileFields    = []string{"version", "defaults", "tiers", "methods", "$schema"}
	defaultFields = append([]string{"tier"}, settingFields...)
	entryFields   = append([]string{"class", "method", "signature", "match", "tier", "blocking", "scope"}, settingFields...)
)

// Parse reads a method file. An error means that it is not one; every fault of
// a part of it is a warning, and that part is left out.
func Parse(data []byte) (*File, []configfile.Warning, error) {
	root, err := readTree(data)
	if err != nil {
		return nil, nil, err
	}
	if root.kind != kindObject {
		return nil, nil, fmt.Errorf("must hold a JSON object, found %s", root.kind)
	}
	p := &parser{reader: &reader{}, tiers: make(map[string]settings)}
	top := &section{reader: p.reader, index: -1}
	parts := make(map[string]*node)
	top.each(root, fileFields, func(name string, v *node) { parts[name] = v })
	if err := checkVersion(parts["version"]); err != nil {
		return nil, nil, err
	}
	// The order matters: entries refer to tiers and build on the defaults.
	p.readTiers(parts["tiers"])
	p.readDefaults(parts["defaults"])
	p.readMethods(parts["methods"])
	return p.file(), p.warnings, nil
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
	*reader
	tiers    map[string]settings
	defaults settings
	rules    []*Rule
}

func (p *parser) readTiers(v *node) {
	if v == nil {
		return
	}
	top := &section{reader: p.reader, where: "tiers", index: -1}
	if v.kind != kindObject {
		top.warn("", v.line, "must be an object", v.show(), "")
		return
	}
	for _, m := range v.members {
		s := &section{reader: p.reader, where: "tiers." + fieldName(m.name), index: -1}
		_, repeated := p.tiers[m.name]
		switch {
		case m.name == "" || utf8.RuneCountInString(m.name) > maxTierName:
			s.warn("", m.value.line, fmt.Sprintf("a tier's name must have 1 to %d characters", maxTierName),
				fmt.Sprint(utf8.RuneCountInString(m.name)), "")
			continue
		case repeated:
			s.warn("", m.value.line, "must be said once", "it a second time", "")
			continue
		case len(p.tiers) == maxTiers:
			top.warn("", m.value.line, fmt.Sprintf("must be at most %d", maxTiers), fmt.Sprint(len(v.members)), "")
			return
		}
		p.tiers[m.name] = p.readSettings(s, m.value, settingFields)
	}
}

func (p *parser) readDefaults(v *node) {
	if v == nil {
		return
	}
	s := &section{reader: p.reader, where: "defaults", index: -1}
	own := p.readSettings(s, v, defaultFields)
	p.defaults = own.under(p.tierOf(own))
	if values := p.defaults.disorder(); values != "" {
		s.warn("", v.line, orderedWithTier, values, "")
		p.defaults.min, p.defaults.max = nil, nil
	}
}

// readSettings leaves out the faulty fields only: without its tier or the
// defaults an entry would mean something else.
func (p *parser) readSettings(s *section, v *node, known []string) settings {
	var found settings
	s.each(v, known, func(name string, v *node) {
		if name == "tier" {
			found.tier = p.tier(s, v)
			return
		}
		s.setting(&found, name, v)
	})
	if values := found.disorder(); values != "" {
		s.warn("", v.line, ordered, values, "")
		found.min, found.max = nil, nil
	}
	return found
}

// tier reads a reference to a tier.
func (p *parser) tier(s *section, v *node) *string {
	name := s.text("tier", v)
	if name == nil {
		return nil
	}
	if _, ok := p.tiers[*name]; !ok {
		names := slices.Sorted(maps.Keys(p.tiers))
		hint := configfile.DidYouMean(*name, names)
		if len(names) == 0 {
			hint = "the file has no tiers"
		}
		s.warn("tier", v.line, "must be a key of `tiers`", v.show(), hint)
		return nil
	}
	return name
}

// tierOf is what the tier says that settings refer to.
func (p *parser) tierOf(s settings) settings {
	if s.tier == nil {
		return settings{}
	}
	return p.tiers[*s.tier]
}

func (p *parser) readMethods(v *node) {
	if v == nil {
		return
	}
	top := &section{reader: p.reader, where: "methods", index: -1}
	if v.kind != kindArray {
		top.warn("", v.line, "must be an array", v.show(), "")
		return
	}
	for i, m := range v.members {
		if i == maxMethods {
			top.warn("", m.value.line, fmt.Sprintf("must have at most %d entries", maxMethods), fmt.Sprint(len(v.members)), "")
			return
		}
		p.readEntry(i, m.value)
	}
}

func (p *parser) readEntry(i int, v *node) {
	s := &section{reader: p.reader, where: fmt.Sprintf("methods[%d]", i), index: i}
	rule := &Rule{Index: i}
	var own settings
	var class, method, signature, match *string
	s.each(v, entryFields, func(name string, v *node) {
		switch name {
		case "class":
			class = s.symbol(name, v)
		case "method":
			method = s.text(name, v)
		case "signature":
			signature = s.text(name, v)
		case "match":
			match = s.symbol(name, v)
		case "tier":
			own.tier = p.tier(s, v)
		case "blocking":
			rule.Blocking = value(s.bool(name, v), false)
		case "scope":
			rule.Scope = value(choice(s, name, v, ScopeLazy, ScopeEager, ScopeTotal), "")
		default:
			s.setting(&own, name, v)
		}
	})
	if s.faulty { // what was left out must not be reported as absent too
		return
	}
	s.name(rule, v.line, class, method, signature, match)
	near := own.under(p.tierOf(own))
	all := near.under(p.defaults)
	if values := own.disorder(); values != "" {
		s.warn("", v.line, ordered, values, "")
	} else if values := all.disorder(); values != "" {
		s.warn("", v.line, orderedWithAll, values, "")
	}
	if s.faulty {
		return
	}
	all.fill(rule)
	rule.Explicit = near.rate != nil
	rule.Adaptive = near.min != nil || near.max != nil
	rule.Reason = fmt.Sprintf("methods[%d] %s", i, rule.name())
	p.rules = append(p.rules, rule)
}

// file compiles what was read.
func (p *parser) file() *File {
	f := &File{Default: Rule{Index: -1, Reason: "defaults"}, Tiers: slices.Sorted(maps.Keys(p.tiers))}
	p.defaults.fill(&f.Default)
	f.Matcher = newMatcher(p.rules, p.reader)
	return f
}
