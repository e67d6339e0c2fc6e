package pricebook

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/corehour/corehour/internal/configfile"
)

var (
	bookFields    = []string{"currency", "default", "list_prices", "prices"}
	defaultFields = []string{"usd_per_core_hour"}
	entryFields   = []string{"cloud_provider", "region", "host_type", "capacity_type", "usd_per_core_hour"}
)

// Parse reads the file of a price book. An error means that it is none;
// every fault of a part of it is a warning, and that part is left out.
func Parse(data []byte) (*Book, []configfile.Warning, error) {
	root, err := readYAML(data)
	if err != nil {
		return nil, nil, err
	}
	r := &reader{}
	top := &section{reader: r, index: -1}
	currency, fallback := "", 0.0
	lists := true
	var entries []Entry
	top.each(root, bookFields, func(name string, v *yaml.Node) {
		switch name {
		case "currency":
			currency = top.currency(v)
		case "default":
			fallback = r.readDefault(v)
		case "list_prices":
			lists = top.yesOrNo(name, v)
		case "prices":
			entries = r.readEntries(top, v)
		}
	})
	b, warnings := New(currency, fallback, entries)
	if !lists {
		b.WithoutLists()
	}
	return b, append(r.warnings, warnings...), nil
}

// readYAML reads exactly one document, a mapping.
func readYAML(data []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, errors.New("must hold `prices` or `default`, found an empty file")
	} else if err != nil {
		return nil, fmt.Errorf("not YAML: %w", err)
	}
	if err := decoder.Decode(new(yaml.Node)); err == nil {
		return nil, errors.New("must hold one YAML document, found several")
	} else if !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("not YAML: %w", err)
	}
	if document.Kind != yaml.DocumentNode || len(document.Content) != 1 || resolve(document.Content[0]).Kind != yaml.MappingNode {
		return nil, errors.New("must hold a mapping with `prices` or `default`, found something else")
	}
	root := resolve(document.Content[0])
	if len(root.Content) == 2 && root.Content[0].Value == "currency" {
		return nil, errors.New("must hold `prices` or `default`, found only `currency`")
	}
	return root, nil
}

// resolve follows an alias; anchors cannot be aliases themselves.
func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

type reader struct {
	warnings []configfile.Warning
}

func (r *reader) readDefault(v *yaml.Node) float64 {
	s := &section{reader: r, where: "default", index: -1}
	usd := 0.0
	s.each(v, defaultFields, func(_ string, v *yaml.Node) { usd = s.price(v) })
	if usd == 0 && !s.faulty {
		s.warn("usd_per_core_hour", v.Line, "must be said", "nothing", "")
	}
	return usd
}

func (r *reader) readEntries(top *section, v *yaml.Node) []Entry {
	if v.Kind != yaml.SequenceNode {
		top.warn("prices", v.Line, "must be a list", show(v), "")
		return nil
	}
	var entries []Entry
	for i, n := range v.Content {
		if i == MaxEntries {
			top.warn("prices", n.Line, fmt.Sprintf("must have at most %d entries", MaxEntries), fmt.Sprint(len(v.Content)), "")
			break
		}
		if e, ok := r.readEntry(i, resolve(n)); ok {
			entries = append(entries, e)
		}
	}
	return entries
}

func (r *reader) readEntry(i int, v *yaml.Node) (Entry, bool) {
	s := &section{reader: r, where: fmt.Sprintf("prices[%d]", i), index: i}
	e := Entry{Index: i}
	s.each(v, entryFields, func(name string, v *yaml.Node) {
		switch name {
		case "cloud_provider":
			e.CloudProvider = s.text(name, v)
		case "region":
			e.Region = s.text(name, v)
		case "host_type":
			e.HostType = s.text(name, v)
		case "capacity_type":
			e.CapacityType = s.text(name, v)
		case "usd_per_core_hour":
			e.USD = s.price(v)
		}
	})
	if s.faulty { // what was left out must not be reported as absent too
		return e, false
	}
	if e.USD == 0 {
		s.warn("usd_per_core_hour", v.Line, "must be said", "nothing", "")
	}
	if e.parts() == 0 {
		s.warn("", v.Line, MustSelect, "none", UseDefault)
	}
	return e, !s.faulty
}

// section is one mapping of the file.
type section struct {
	*reader
	where  string
	index  int // -1 outside the list
	faulty bool
}

func (s *section) warn(field string, line int, rule, found, hint string) {
	s.faulty = true
	s.warnings = append(s.warnings, configfile.Warning{
		Where: s.where, Index: s.index, Field: field, Line: line, Rule: rule, Value: found, Hint: hint,
	})
}

// each calls read for every key that is known. What is said twice counts the
// first time only, as nobody can tell which was meant.
func (s *section) each(n *yaml.Node, known []string, read func(name string, v *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		hint := ""
		if s.where == "default" {
			hint = "write {usd_per_core_hour: ...}"
		}
		s.warn("", n.Line, "must be a mapping", show(n), hint)
		return
	}
	var seen []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := resolve(n.Content[i]), resolve(n.Content[i+1])
		switch {
		case key.Kind != yaml.ScalarNode || !slices.Contains(known, key.Value):
			s.warn("", key.Line, "must have known keys only", show(key), configfile.DidYouMean(key.Value, known))
		case slices.Contains(seen, key.Value):
			s.warn(key.Value, key.Line, "must be said once", "it a second time", "")
		default:
			seen = append(seen, key.Value)
			read(key.Value, v)
		}
	}
}

func (s *section) text(name string, v *yaml.Node) string {
	switch fault := TextFault(v.Value); {
	case v.Kind != yaml.ScalarNode:
		s.warn(name, v.Line, "must be a text", show(v), "")
	case v.Tag != "!!str":
		s.warn(name, v.Line, "must be a text", show(v), "put it in quotes, or leave the key out for any")
	case fault != "":
		s.warn(name, v.Line, fault, show(v), "")
	default:
		return v.Value
	}
	return ""
}

func (s *section) price(v *yaml.Node) float64 {
	const name = "usd_per_core_hour"
	var usd float64
	switch {
	case v.Kind == yaml.ScalarNode && v.Tag == "!!str" && strings.TrimSpace(v.Value) != "" && yaml.Unmarshal([]byte(v.Value), &usd) == nil:
		s.warn(name, v.Line, "must be a number", show(v), "remove the quotes")
	case v.Kind != yaml.ScalarNode || v.Tag != "!!float" && v.Tag != "!!int" || v.Decode(&usd) != nil:
		s.warn(name, v.Line, "must be a number", show(v), "")
	case PriceFault(usd) != "":
		s.warn(name, v.Line, PriceFault(usd), show(v), "")
	default:
		return usd
	}
	return 0
}

func (s *section) currency(v *yaml.Node) string {
	if v.Kind != yaml.ScalarNode || v.Tag != "!!str" || CurrencyFault(v.Value) != "" {
		s.warn("currency", v.Line, CurrencyRule, show(v), "")
		return ""
	}
	return v.Value
}

// yesOrNo reads a switch; a faulty one is off.
func (s *section) yesOrNo(name string, v *yaml.Node) (on bool) {
	if v.Kind != yaml.ScalarNode || v.Tag != "!!bool" || v.Decode(&on) != nil {
		s.warn(name, v.Line, "must be true or false", show(v), "")
	}
	return on
}

func show(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null":
		return "nothing"
	default:
		return configfile.Quote(n.Value)
	}
}
