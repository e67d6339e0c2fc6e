// Package units parses durations, sizes and times of configurations and flags, such as 7d and 10GB.
//
// Its invariant: a duration in Go's form and a plain number of bytes keep their meaning.
//
// It does not check whether a value is sensible for its setting.
package units

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a time.Duration whose text may also be in days or weeks.
type Duration time.Duration

// maxDuration is the longest duration in days or weeks. A time.Duration can hold it.
const maxDuration = 200 * 365 * 24 * time.Hour

// UnmarshalText parses Go's form, or days and weeks such as 7d and 2w.
func (d *Duration) UnmarshalText(text []byte) error {
	s := string(text)
	if v, err := time.ParseDuration(s); err == nil {
		*d = Duration(v)
		return nil
	}
	for _, u := range []struct {
		suffix string
		unit   time.Duration
	}{{"d", 24 * time.Hour}, {"w", 7 * 24 * time.Hour}} {
		number, ok := strings.CutSuffix(s, u.suffix)
		if n, err := strconv.ParseFloat(number, 64); ok && err == nil && n >= 0 && n <= float64(maxDuration/u.unit) {
			*d = Duration(n * float64(u.unit))
			return nil
		}
	}
	return fmt.Errorf("want a duration with a unit like 90m, 168h, 7d or 4w, found %q", s)
}

// MarshalText returns Go's form.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

func (d Duration) String() string { return time.Duration(d).String() }

// Bytes is a number of bytes whose text may have a decimal unit.
type Bytes int64

// UnmarshalText parses a number, alone or with a unit such as 500MB.
func (b *Bytes) UnmarshalText(text []byte) error {
	number, factor := string(text), 1.0
	for _, u := range []struct {
		suffix string
		factor float64
	}{{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}} {
		if rest, ok := strings.CutSuffix(number, u.suffix); ok {
			number, factor = strings.TrimSpace(rest), u.factor
			break
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v >= 0) || v*factor > 1e18 {
		return fmt.Errorf("want a number of bytes like 268435456, 500MB, 10GB or 1TB, found %q", text)
	}
	*b = Bytes(v * factor)
	return nil
}
