package main

import (
	"testing"
	"time"
)

func TestParseDuration(t *testing.T) {
	for s, want := range map[string]time.Duration{"90m": 90 * time.Minute, "7d": 168 * time.Hour, "1.5d": 36 * time.Hour, "2w": 336 * time.Hour} {
		if got, err := parseDuration("--since", s); err != nil || got != want {
			t.Errorf("%s: %v, %v", s, got, err)
		}
	}
}

func TestParseTime(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for s, want := range map[string]string{
		"2026-11-21":                "2026-11-20T23:00:00Z",
		"2026-07-01 14:30":          "2026-07-01T12:30:00Z",
		"2026-07-01 14:30:15":       "2026-07-01T12:30:15Z",
		"2026-07-01T14:30":          "2026-07-01T12:30:00Z",
		"2026-07-01T14:30:00Z":      "2026-07-01T14:30:00Z",
		"2026-07-01T14:30:00-05:00": "2026-07-01T19:30:00Z",
	} {
		got, err := parseTime("--from", s, berlin)
		if err != nil || got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%s: %v, %v; want %s", s, got, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"7d", "1e300d", "-1w", "NaNd", "Infw", "9999999999999h", "2026-11-21", "0000-00-00", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d, err := parseDuration("--since", s); err == nil && d <= 0 {
			t.Errorf("parseDuration(%q) = %v", s, d)
		}
		if at, err := parseTime("--from", s, time.UTC); err == nil && at.IsZero() && s[:4] != "0001" {
			t.Errorf("parseTime(%q) = %v", s, at)
		}
	})
}
