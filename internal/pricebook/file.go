package pricebook

import (
	"errors"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/rulefile"
)

var (
	bookFields    = []string{"currency", "default", "list_prices", "prices"}
	defaultFields = []string{"usd_per_core_hour"}
	entryFields   = []string{"cloud_provider", "region", "host_type", "capacity_type", "usd_per_core_hour"}
)

// Parse reads the file of a price book. An error means that nothing of it is usable. A fault of
// a part of the file is a warning, and that part is left out.
func Parse(data []byte) (*Book, []configfile.Warning, error) {
	root, err := rulefile.ParseYAML(data)
	if err != nil {
		return nil, nil, err
	}
	if len(root.Members) == 1 && root.Members[0].Key == "currency" {
		return nil, nil, errors.New("must hold `prices` or `default`, found only `currency`")
	}
	r := &rulefile.Report{}
	top := r.Section("")
	currency, fallback := "", 0.0
	lists := true
	var entries []Entry
	top.Keys(root, bookFields, func(key string, v *rulefile.Node) {
		switch key {
		case "currency":
			currency = readCurrency(top, v)
		case "default":
			fallback = readDefault(r, v)
		case "list_prices":
			lists, _ = top.Bool(key, v) // a faulty value switches them off
		case "prices":
			top.Items(key, v, MaxEntries, func(i int, v *rulefile.Node) {
				if e, ok := readEntry(r.Entry(key, i), v); ok {
					e.Index = i
					entries = append(entries, e)
				}
			})
		}
	})
	b, warnings := New(currency, fallback, entries)
	if !lists {
		b.WithoutLists()
	}
	return b, append(r.Warnings, warnings...), nil
}

const priceKey = "usd_per_core_hour"

func readDefault(r *rulefile.Report, v *rulefile.Node) float64 {
	s := r.Section("default")
	if v.Kind != rulefile.KindObject {
		s.Warn("", v.Line, "must be an object", v.Show(), "write {usd_per_core_hour: ...}")
		return 0
	}
	usd := 0.0
	s.Keys(v, defaultFields, func(_ string, v *rulefile.Node) { usd = readPrice(s, v) })
	if usd == 0 && !s.Faulty() {
		s.WarnMissing(priceKey, v.Line, "")
	}
	return usd
}

func readEntry(s *rulefile.Section, v *rulefile.Node) (Entry, bool) {
	var e Entry
	s.Keys(v, entryFields, func(key string, v *rulefile.Node) {
		switch key {
		case "cloud_provider":
			e.CloudProvider = readName(s, key, v)
		case "region":
			e.Region = readName(s, key, v)
		case "host_type":
			e.HostType = readName(s, key, v)
		case "capacity_type":
			e.CapacityType = readName(s, key, v)
		case priceKey:
			e.USD = readPrice(s, v)
		}
	})
	if s.Faulty() { // a key that was left out must not be reported as missing too
		return e, false
	}
	if e.USD == 0 {
		s.WarnMissing(priceKey, v.Line, "")
	}
	if e.parts() == 0 {
		s.Warn("", v.Line, MustSelect, "none", UseDefault)
	}
	return e, !s.Faulty()
}

func readName(s *rulefile.Section, key string, v *rulefile.Node) string {
	switch fault := TextFault(v.Text); {
	case v.Kind == rulefile.KindObject || v.Kind == rulefile.KindList:
		s.WarnType(key, v, rulefile.KindString)
	case v.Kind != rulefile.KindString:
		s.Warn(key, v.Line, "must be a string", v.Show(), "put it in quotes, or leave the key out to match any")
	case fault != "":
		s.Warn(key, v.Line, fault, v.Show(), "")
	default:
		return v.Text
	}
	return ""
}

// readPrice returns a price, 0 for a faulty one.
func readPrice(s *rulefile.Section, v *rulefile.Node) float64 {
	usd, ok := s.Number(priceKey, v)
	if ok && PriceFault(usd) != "" {
		s.Warn(priceKey, v.Line, PriceFault(usd), v.Show(), "")
		return 0
	}
	return usd
}

func readCurrency(s *rulefile.Section, v *rulefile.Node) string {
	if v.Kind != rulefile.KindString || CurrencyFault(v.Text) != "" {
		s.Warn("currency", v.Line, CurrencyRule, v.Show(), "")
		return ""
	}
	return v.Text
}
