package units

import (
	"testing"
	"time"
)

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
		got, err := ParseTime(s, berlin, false)
		if err != nil || got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%s: %v, %v; want %s", s, got, err, want)
		}
	}
}

// TestParseTime_SummerTime parses local times that occur twice or never.
func TestParseTime_SummerTime(t *testing.T) {
	for _, c := range []struct{ zone, text, first, last string }{
		{"Europe/Berlin", "2026-10-25 02:30", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
		{"Europe/Berlin", "2026-10-25 02:00", "2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z"},
		{"Europe/Berlin", "2026-10-25 03:00", "2026-10-25T02:00:00Z", "2026-10-25T02:00:00Z"},
		{"Europe/Berlin", "2026-10-25 01:59:59", "2026-10-24T23:59:59Z", "2026-10-24T23:59:59Z"},
		{"Europe/Berlin", "2026-10-25", "2026-10-24T22:00:00Z", "2026-10-24T22:00:00Z"},
		{"Europe/Berlin", "2026-10-25T02:30:00+01:00", "2026-10-25T01:30:00Z", "2026-10-25T01:30:00Z"},
		{"Europe/Berlin", "2026-03-29 02:30", "2026-03-29T01:00:00Z", "2026-03-29T01:00:00Z"},
		{"Europe/Berlin", "2026-03-29 03:00", "2026-03-29T01:00:00Z", "2026-03-29T01:00:00Z"},
		{"America/New_York", "2026-11-01 01:30", "2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z"},
		{"Australia/Lord_Howe", "2026-04-05 01:45", "2026-04-04T14:45:00Z", "2026-04-04T15:15:00Z"},
		{"America/Havana", "2026-11-01", "2026-11-01T04:00:00Z", "2026-11-01T05:00:00Z"},
		{"Asia/Kolkata", "2026-10-25 02:30", "2026-10-24T21:00:00Z", "2026-10-24T21:00:00Z"},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		for _, last := range []bool{false, true} {
			want := c.first
			if last {
				want = c.last
			}
			got, err := ParseTime(c.text, zone, last)
			if err != nil || got.UTC().Format(time.RFC3339) != want {
				t.Errorf("%s in %s, last %v: %v, %v, want %s", c.text, c.zone, last, got.UTC(), err, want)
			}
		}
	}
}

func FuzzParseTime(f *testing.F) {
	for _, s := range []string{"2026-11-21", "2026-10-25 02:30", "2026-07-01T14:30:00-05:00", "0000-00-00", "9999-12-31 23:59", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if at, err := ParseTime(s, time.UTC, false); err == nil && at.IsZero() && s[:4] != "0001" {
			t.Errorf("ParseTime(%q) = %v", s, at)
		}
	})
}
