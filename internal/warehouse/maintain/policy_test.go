package maintain

import (
	"slices"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func dateOf(daysAgo int, quietFor time.Duration, files ...parquet.File) table.Date {
	return table.Date{Date: noon.AddDate(0, 0, -daysAgo).Format(time.DateOnly), Files: files, LastCommitted: noon.Add(-quietFor)}
}

func file(level string, rows int64) parquet.File {
	return parquet.File{Level: level, Rows: rows, Bytes: 100}
}

func TestPolicy_DueActions(t *testing.T) {
	raw, minute, hour := file(methodspan.LevelRaw, 10), file(methodspan.LevelMinute, 10), file(methodspan.LevelHour, 10)
	p := Policy{MaxFiles: 2, KeepIDs: 2 * day, MinuteAfter: 4 * day, HourAfter: 8 * day, KeepRollups: 20 * day}
	for name, tc := range map[string]struct {
		date    table.Date
		want    Action
		expired bool
	}{
		"today":                        {dateOf(0, time.Minute, raw), "", false},
		"many files":                   {dateOf(0, time.Minute, raw, raw, raw), Merge, false},
		"many large files":             {dateOf(0, time.Minute, file(methodspan.LevelRaw, smallRows), file(methodspan.LevelRaw, smallRows), raw), "", false},
		"old ids":                      {dateOf(3, time.Minute, raw), DropIDs, false},
		"due by minute":                {dateOf(5, 2*time.Hour, raw), Minute, false},
		"due by minute, but not quiet": {dateOf(5, time.Minute, parquet.File{Level: methodspan.LevelRaw, NoIDs: true}), "", false},
		"rolled up by minute":          {dateOf(5, 2*time.Hour, minute), "", false},
		"late rows":                    {dateOf(5, 2*time.Hour, minute, raw), Minute, false},
		"due by hour":                  {dateOf(9, 2*time.Hour, minute), Hour, false},
		"late rows, by hour":           {dateOf(9, 2*time.Hour, hour, raw), Hour, false},
		"rolled up by hour":            {dateOf(9, 2*time.Hour, hour), "", false},
		"too old":                      {dateOf(21, 2*time.Hour, hour), "", true},
		"as old, but raw":              {dateOf(21, 2*time.Hour, raw), Hour, true},
	} {
		if got := p.due(&tc.date, noon); got != tc.want {
			t.Errorf("%s: %q is due, want %q", name, got, tc.want)
		}
		if got := p.expired(&tc.date, noon); got != tc.expired {
			t.Errorf("%s: expired %v, want %v", name, got, tc.expired)
		}
	}
}

// The oldest dates are dropped until the limits are met, but never today or yesterday.
func TestPolicy_DropsOldestDates(t *testing.T) {
	var dates []table.Date
	for ago := 5; ago >= 0; ago-- {
		dates = append(dates, dateOf(ago, 0, file(methodspan.LevelRaw, 1)))
	}
	for name, tc := range map[string]struct {
		policy       Policy
		doomed, free int64
		known        bool
		want         int
	}{
		"not allowed":               {Policy{MaxBytes: 1}, 0, 0, true, 0},
		"within the limit":          {Policy{MaxBytes: 600, DropOldest: true}, 0, 0, true, 0},
		"too large":                 {Policy{MaxBytes: 450, DropOldest: true}, 0, 0, true, 2},
		"whatever it takes":         {Policy{MaxBytes: 1, DropOldest: true}, 0, 0, true, 4},
		"too little space":          {Policy{MinFree: 150, DropOldest: true}, 0, 0, true, 2},
		"space is about to be free": {Policy{MinFree: 150, DropOldest: true}, 150, 0, true, 0},
		"the system does not say":   {Policy{MinFree: 150, DropOldest: true}, 0, 0, false, 0},
	} {
		got := tc.policy.sheds(dates, noon, 600, tc.doomed, tc.free, tc.known)
		if len(got) != tc.want || !slices.EqualFunc(got, dates[:len(got)], func(a, b table.Date) bool { return a.Date == b.Date }) {
			t.Errorf("%s: %d dates go, want %d", name, len(got), tc.want)
		}
	}
}
