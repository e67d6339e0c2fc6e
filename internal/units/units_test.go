package units

import (
	"strings"
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"7d": 7 * day, "2w": 14 * day, "1.5d": 36 * time.Hour, "0d": 0, "0s": 0, "0": 0, "168h": 7 * day, "1h30m": 90 * time.Minute, "-1s": -time.Second,
	} {
		var d Duration
		if err := d.UnmarshalText([]byte(text)); err != nil || time.Duration(d) != want {
			t.Errorf("%q: %s %v, want %s", text, d, err, want)
		}
	}
	for _, text := range []string{"", "d", "7", "7 days", "-7d", "NaNd", "Infd", "1e9w", "7dd"} {
		var d Duration
		if err := d.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), "168h") {
			t.Errorf("%q: %s %v", text, d, err)
		}
	}
}

func TestBytes(t *testing.T) {
	for text, want := range map[string]Bytes{
		"10GB": 10e9, "1.5 kB": 1500, "0": 0, "12B": 12, "268435456": 256 << 20, "1TB": 1e12, "3MB": 3e6,
	} {
		var b Bytes
		if err := b.UnmarshalText([]byte(text)); err != nil || b != want {
			t.Errorf("%q: %d %v, want %d", text, b, err, want)
		}
	}
	for _, text := range []string{"", "GB", "-1", "ten", "10GiB", "NaN", "Inf", "1e18TB"} {
		var b Bytes
		if err := b.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), "500MB") {
			t.Errorf("%q: %d %v", text, b, err)
		}
	}
}

func FuzzUnits(f *testing.F) {
	f.Add("7d")
	f.Add("10GB")
	f.Fuzz(func(t *testing.T, text string) {
		var d, again Duration
		if d.UnmarshalText([]byte(text)) == nil {
			out, err := d.MarshalText()
			if err != nil || again.UnmarshalText(out) != nil || again != d {
				t.Errorf("%q is %s, and that is %s", text, d, again)
			}
		}
		var b Bytes
		if b.UnmarshalText([]byte(text)) == nil && b < 0 {
			t.Errorf("%q is %d", text, b)
		}
	})
}
