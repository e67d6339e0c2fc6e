package methodfile

import (
	"fmt"
	"strings"
)

// Settings are the settings of a method; nil and empty are absent from the file.
type Settings struct {
	Mode          string // sample, aggregate, off
	Rate, CPURate *float64
	Min, Max      *float64 // bounds of adaptive rates
	Tail, Stack   *bool
	Blocking      bool
	Tier          string
	Lazy          int // index of the entry, from 1, whose methods switch on the methods that they call
}

// Values of mode.
const (
	ModeSample    = "sample"
	ModeAggregate = "aggregate"
	ModeOff       = "off"
)

// minRate is the lowest rate; for a rate of 0 there is mode off.
const minRate = 1e-9

// withDefaults returns s, with absent settings taken from base.
func (s Settings) withDefaults(base Settings) Settings {
	setIfPresent(&base.Mode, s.Mode)
	setIfPresent(&base.Rate, s.Rate)
	setIfPresent(&base.CPURate, s.CPURate)
	setIfPresent(&base.Min, s.Min)
	setIfPresent(&base.Max, s.Max)
	setIfPresent(&base.Tail, s.Tail)
	setIfPresent(&base.Stack, s.Stack)
	setIfPresent(&base.Blocking, s.Blocking)
	setIfPresent(&base.Tier, s.Tier)
	setIfPresent(&base.Lazy, s.Lazy)
	return base
}

func setIfPresent[T comparable](to *T, v T) {
	var zero T
	if v != zero {
		*to = v
	}
}

// readSetting reads one of settingKeys. It is not a method of Settings, because packages with probes
// compile the methods of Settings, and with them the generic code of section.
func readSetting(to *Settings, s *section, key string, v *node) {
	const useOff = `to time no calls of a method write "mode": "off"`
	switch key {
	case "rate":
		to.Rate = s.share(key, v, minRate, useOff)
	case "min":
		to.Min = s.share(key, v, minRate, "")
	case "max":
		to.Max = s.share(key, v, minRate, useOff)
	case "cpu_rate":
		to.CPURate = s.share(key, v, 0, "")
	case "mode":
		to.Mode = s.choice(key, v, ModeSample, ModeAggregate, ModeOff)
	case "tail":
		to.Tail = s.flag(key, v)
	case "stack":
		to.Stack = s.flag(key, v)
	}
}

// unordered returns min, rate and max for a message if min <= rate <= max does not hold; empty
// if it does.
func (s Settings) unordered() string {
	if atMost(s.Min, s.Max) && atMost(s.Min, s.Rate) && atMost(s.Rate, s.Max) {
		return ""
	}
	var parts []string
	for _, x := range []struct {
		key   string
		value *float64
	}{{"min", s.Min}, {"rate", s.Rate}, {"max", s.Max}} {
		if x.value != nil {
			parts = append(parts, fmt.Sprintf("%s %v", x.key, *x.value))
		}
	}
	return strings.Join(parts, ", ")
}

func atMost(a, b *float64) bool { return a == nil || b == nil || *a <= *b }
