package methodfile

import (
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/rulefile"
)

const (
	maxMethods = 100_000
	maxTiers   = 64 // tiers are values of a metric's label

	maxTierName = 64
)

// File is a parsed method file.
type File struct {
	// Default is the rule of methods that no entry matches.
	Default Rule

	// Tiers are the names of the file's tiers, sorted.
	Tiers []string

	Matcher
}

// The rule about a rate and its bounds, by the origin of their values.
const (
	ordered         = "must hold min <= rate <= max"
	orderedWithTier = ordered + ", with the values of its tier"
	orderedWithAll  = ordered + ", with the values of its tier and the defaults"
)

var (
	fileFields    = []string{"version", "defaults", "tiers", "methods", "$schema"}
	defaultFields = append([]string{"tier"}, settingFields...)
	entryFields   = append([]string{"class", "method", "signature", "match", "tier", "blocking", "scope"}, settingFields...)
)

// Parse reads a method file. An error means that nothing of it is usable. A fault of a part of
// the file is a warning, and that part is left out.
func Parse(data []byte) (*File, []configfile.Warning, error) {
	root, err := rulefile.ParseJSON(data)
	if err != nil {
		return nil, nil, err
	}
	p := &parser{report: &rulefile.Report{}, tiers: make(map[string]settings)}
	parts := make(map[string]*rulefile.Node)
	p.report.Section("").Keys(root, fileFields, func(key string, v *rulefile.Node) { parts[key] = v })
	if err := rulefile.CheckVersion(parts["version"]); err != nil {
		return nil, nil, err
	}
	// The order matters: entries refer to tiers and inherit from the defaults.
	p.readTiers(parts["tiers"])
	p.readDefaults(parts["defaults"])
	p.readMethods(parts["methods"])
	return p.file(), p.report.Warnings, nil
}

type parser struct {
	report   *rulefile.Report
	tiers    map[string]settings
	defaults settings
	rules    []*Rule
}

func (p *parser) readTiers(v *rulefile.Node) {
	if v == nil {
		return
	}
	top := p.report.Section("tiers")
	if v.Kind != rulefile.KindObject {
		top.WarnType("", v, rulefile.KindObject)
		return
	}
	lines := make(map[string]int, len(v.Members))
	for _, m := range v.Members {
		s := p.report.Section("tiers." + pathElement(m.Key))
		n := utf8.RuneCountInString(m.Key)
		switch {
		case n < 1 || n > maxTierName:
			s.Warn("", m.Line, fmt.Sprintf("a tier's name must have 1 to %d characters", maxTierName), fmt.Sprint(n), "")
			continue
		case lines[m.Key] > 0:
			top.WarnDuplicate(m, lines[m.Key])
			continue
		case len(p.tiers) == maxTiers:
			top.Warn("", m.Line, fmt.Sprintf("must be at most %d", maxTiers), fmt.Sprint(len(v.Members)), "")
			return
		}
		lines[m.Key] = m.Line
		p.tiers[m.Key] = p.readSettings(s, m.Value, settingFields)
	}
}

// pathElement returns a key that the file chose as a part of a path: quoted unless it consists
// of letters, digits, - and _.
func pathElement(key string) string {
	for _, r := range key {
		if r != '_' && r != '-' && !(r >= '0' && r <= '9') && !(r >= 'a' && r <= 'z') && !(r >= 'A' && r <= 'Z') {
			return configfile.Quote(key)
		}
	}
	if key == "" || len(key) > 40 {
		return configfile.Quote(key)
	}
	return key
}

func (p *parser) readDefaults(v *rulefile.Node) {
	if v == nil {
		return
	}
	s := p.report.Section("defaults")
	own := p.readSettings(s, v, defaultFields)
	p.defaults = own.withDefaults(p.tierOf(own))
	if values := p.defaults.unordered(); values != "" {
		s.Warn("", v.Line, orderedWithTier, values, "")
		p.defaults.min, p.defaults.max = nil, nil
	}
}

// readSettings reads a tier or the defaults. It leaves out only the faulty keys, because
// entries would mean something else without their tier or the defaults.
func (p *parser) readSettings(s *rulefile.Section, v *rulefile.Node, known []string) settings {
	var found settings
	s.Keys(v, known, func(key string, v *rulefile.Node) {
		if key == "tier" {
			found.tier = p.readTier(s, v)
			return
		}
		found.read(s, key, v)
	})
	if values := found.unordered(); values != "" {
		s.Warn("", v.Line, ordered, values, "")
		found.min, found.max = nil, nil
	}
	return found
}

// readTier reads a reference to a tier.
func (p *parser) readTier(s *rulefile.Section, v *rulefile.Node) *string {
	name := optional(s.Text("tier", v))
	if name == nil {
		return nil
	}
	if _, ok := p.tiers[*name]; !ok {
		names := slices.Sorted(maps.Keys(p.tiers))
		hint := configfile.DidYouMean(*name, names)
		if len(names) == 0 {
			hint = "the file has no tiers"
		}
		s.Warn("tier", v.Line, "must be a key of `tiers`", v.Show(), hint)
		return nil
	}
	return name
}

// tierOf returns the settings of the tier that s names, if any.
func (p *parser) tierOf(s settings) settings {
	if s.tier == nil {
		return settings{}
	}
	return p.tiers[*s.tier]
}

func (p *parser) readMethods(v *rulefile.Node) {
	if v != nil {
		p.report.Section("").Items("methods", v, maxMethods, p.readEntry)
	}
}

func (p *parser) readEntry(i int, v *rulefile.Node) {
	s := p.report.Entry("methods", i)
	rule := &Rule{Index: i}
	var own settings
	var class, method, signature, match *string
	s.Keys(v, entryFields, func(key string, v *rulefile.Node) {
		switch key {
		case "class":
			class = readSymbol(s, key, v)
		case "method":
			method = optional(s.Text(key, v))
		case "signature":
			signature = optional(s.Text(key, v))
		case "match":
			match = readSymbol(s, key, v)
		case "tier":
			own.tier = p.readTier(s, v)
		case "blocking":
			rule.Blocking, _ = s.Bool(key, v)
		case "scope":
			rule.Scope, _ = s.Choice(key, v, ScopeLazy, ScopeEager, ScopeTotal)
		default:
			own.read(s, key, v)
		}
	})
	if s.Faulty() { // a key that was left out must not be reported as missing too
		return
	}
	setNames(s, rule, v.Line, class, method, signature, match)
	near := own.withDefaults(p.tierOf(own))
	all := near.withDefaults(p.defaults)
	if values := own.unordered(); values != "" {
		s.Warn("", v.Line, ordered, values, "")
	} else if values := all.unordered(); values != "" {
		s.Warn("", v.Line, orderedWithAll, values, "")
	}
	if s.Faulty() {
		return
	}
	all.setRule(rule)
	rule.Explicit = near.rate != nil
	rule.Adaptive = near.min != nil || near.max != nil
	rule.Reason = fmt.Sprintf("methods[%d] %s", i, rule.name())
	p.rules = append(p.rules, rule)
}

// file compiles the rules.
func (p *parser) file() *File {
	f := &File{Default: Rule{Index: -1, Reason: "defaults"}, Tiers: slices.Sorted(maps.Keys(p.tiers))}
	p.defaults.setRule(&f.Default)
	f.Matcher = newMatcher(p.rules, p.report)
	return f
}
