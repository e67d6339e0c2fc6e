package main

import (
	"testing"
	"time"

	"github.com/spf13/cobra"
)

func TestParseDuration(t *testing.T) {
	for s, want := range map[string]time.Duration{"90m": 90 * time.Minute, "7d": 168 * time.Hour, "1.5d": 36 * time.Hour, "2w": 336 * time.Hour} {
		if got, err := parseDuration("--since", s); err != nil || got != want {
			t.Errorf("%s: %v, %v", s, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"7d", "1e300d", "-1w", "NaNd", "Infw", "9999999999999h", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d, err := parseDuration("--since", s); err == nil && d <= 0 {
			t.Errorf("parseDuration(%q) = %v", s, d)
		}
	})
}

// TestTimeZone_RepeatedHour: at the end of daylight saving time the same local time as --from and --to selects
// one hour.
func TestTimeZone_RepeatedHour(t *testing.T) {
	clock(t, time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))
	c := newCommon(&cobra.Command{Use: "cost"}, "7d")
	if err := c.flags.Parse([]string{"--from", "2026-10-25 02:00", "--to", "2026-10-25 02:00", "--tz", "Europe/Berlin"}); err != nil {
		t.Fatal(err)
	}
	if err := c.checkFlags(); err != nil || c.window.To.Sub(c.window.From) != time.Hour {
		t.Errorf("the hour that occurs twice: %v, %v", c.window, err)
	}
}
