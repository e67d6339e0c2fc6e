package methodfile

import (
	"fmt"
	"math"
	"strings"

	"github.com/corehour/corehour/internal/rulefile"
)

// settings are the keys that entries, tiers and defaults share. Nil is a key that is absent.
type settings struct {
	rate, cpuRate, min, max *float64
	mode                    *Mode
	tail, stack             *bool
	tier                    *string
}

var settingFields = []string{"rate", "cpu_rate", "min", "max", "mode", "tail", "stack"}

// read reads one of settingFields.
func (s *settings) read(section *rulefile.Section, key string, v *rulefile.Node) {
	const useOff = `to time no calls of a method write "mode": "off"`
	switch key {
	case "rate":
		s.rate = readShare(section, key, v, MinRate, useOff)
	case "min":
		s.min = readShare(section, key, v, MinRate, "")
	case "max":
		s.max = readShare(section, key, v, MinRate, useOff)
	case "cpu_rate":
		s.cpuRate = readShare(section, key, v, 0, "")
	case "mode":
		if mode, ok := section.Choice(key, v, string(ModeSample), string(ModeAggregate), string(ModeOff)); ok {
			s.mode = (*Mode)(&mode)
		}
	case "tail":
		s.tail = optional(section.Bool(key, v))
	case "stack":
		s.stack = optional(section.Bool(key, v))
	}
}

// optional returns a value that was read without a fault, else nil.
func optional[T any](v T, ok bool) *T {
	if !ok {
		return nil
	}
	return &v
}

// readShare reads a number between low and 1.
func readShare(s *rulefile.Section, key string, v *rulefile.Node, low float64, hintBelow string) *float64 {
	x, ok := s.Number(key, v)
	if !ok {
		return nil
	}
	if x >= low && x <= 1 {
		return &x
	}
	hint := ""
	switch {
	case x < low:
		hint = hintBelow
	case x > 1 && x <= 100:
		hint = fmt.Sprintf("rates are shares, %v%% is %v", x, x/100)
	}
	s.Warn(key, v.Line, fmt.Sprintf("must be between %v and 1", low), v.Show(), hint)
	return nil
}

// withDefaults returns s, with absent keys taken from less specific settings.
func (s settings) withDefaults(general settings) settings {
	return settings{
		rate:    first(s.rate, general.rate),
		cpuRate: first(s.cpuRate, general.cpuRate),
		min:     first(s.min, general.min),
		max:     first(s.max, general.max),
		mode:    first(s.mode, general.mode),
		tail:    first(s.tail, general.tail),
		stack:   first(s.stack, general.stack),
		tier:    first(s.tier, general.tier),
	}
}

func first[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}

func value[T any](p *T, otherwise T) T {
	if p != nil {
		return *p
	}
	return otherwise
}

// setRule copies the settings to a rule.
func (s settings) setRule(r *Rule) {
	r.Rate = value(s.rate, 0)
	r.CPURate = value(s.cpuRate, math.NaN())
	r.Min = value(s.min, 0)
	r.Max = value(s.max, 1)
	r.Mode = value(s.mode, ModeSample)
	r.Tail = value(s.tail, false)
	r.Stack = value(s.stack, false)
	r.Tier = value(s.tier, "")
}

// unordered returns min, rate and max for a message if min <= rate <= max does not hold; empty
// if it does.
func (s settings) unordered() string {
	low, high := value(s.min, 0), value(s.max, 1)
	if rate := value(s.rate, low); low <= rate && rate <= high {
		return ""
	}
	var parts []string
	for _, x := range []struct {
		key   string
		value *float64
	}{{"min", s.min}, {"rate", s.rate}, {"max", s.max}} {
		if x.value != nil {
			parts = append(parts, fmt.Sprintf("%s %v", x.key, *x.value))
		}
	}
	return strings.Join(parts, ", ")
}
