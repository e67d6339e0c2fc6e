package units

import (
	"fmt"
	"time"
)

// ParseTime parses a time with an offset, or a local time of zone. A local time that occurs twice,
// at the end of summer time, is the later instant if last is set and else the earlier one. Callers
// set last for the end of a window, so that the window contains the repeated hour.
func ParseTime(s string, zone *time.Location, last bool) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return t, nil
	}
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return localInstant(t, zone, last), nil
		}
	}
	return time.Time{}, fmt.Errorf("want a time like 2026-11-21, \"2026-11-21 14:30\" or 2026-11-21T14:30:00Z, found %q", s)
}

// localInstant returns the instant at which the local time of zone has the date and time that t has
// in UTC: the later one if last is set and there are two. For a local time that is skipped it
// returns the instant at which summer time begins.
func localInstant(t time.Time, zone *time.Location, last bool) time.Time {
	var found []time.Time
	for _, around := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		_, offset := t.Add(around).In(zone).Zone()
		at := t.Add(-time.Duration(offset) * time.Second).In(zone)
		if _, is := at.Zone(); is == offset {
			found = append(found, at)
		}
	}
	switch {
	case len(found) == 0:
		_, before := t.Add(-24 * time.Hour).In(zone).Zone()
		start, _ := t.Add(-time.Duration(before) * time.Second).In(zone).ZoneBounds()
		return start
	case last:
		return found[len(found)-1]
	}
	return found[0]
}
