package maintain

import (
	"errors"
	"fmt"
	"time"
)

// Policy says what is to be done when. An age is counted from the end of a UTC
// date; 0 switches its rule off.
type Policy struct {
	// MaxFiles is how many files of raw rows a date may have before its small ones
	// are merged.
	MaxFiles int
	// MinuteAfter and HourAfter are the ages at which rows are added up by minute
	// and by hour.
	MinuteAfter time.Duration
	HourAfter   time.Duration
	// KeepRaw, KeepIDs and KeepRollups are the ages beyond which dates with raw
	// rows are dropped, ids are left out of raw rows, and rolled dates are dropped.
	KeepRaw     time.Duration
	KeepIDs     time.Duration
	KeepRollups time.Duration
	// SumRows is how many rows a date that is over must have in no sums before sums by hour
	// are kept next to it: fewer are read as fast. 0 keeps none.
	SumRows int64
	// MaxBytes is how large the warehouse may get and MinFree how little space the
	// file system may have left. Beyond either the oldest dates are dropped, if
	// DropOldest allows it.
	MaxBytes   int64
	MinFree    int64
	DropOldest bool
}

// Defaults.
const (
	DefaultMaxFiles    = 200
	DefaultMinuteAfter = 7 * day
	DefaultHourAfter   = 28 * day
	DefaultKeepRollups = 400 * day
	DefaultSumRows     = 500_000

	DefaultRowsInMemory = 500_000
)

const (
	day = 24 * time.Hour
	// quiet is how long nothing must have been written to a date before it is
	// rolled up, so that late rows are added in few goes.
	quiet = time.Hour
	// smallRows is what a file of raw rows has less than to be worth merging.
	smallRows    = 8 * rowGroupRows
	maxOpenFiles = 256
	rowGroupRows = 122_880
)

// Validate reports all that contradicts itself. name spells a field as the user
// knows it.
func (p *Policy) Validate(name func(field string) string) error {
	var errs []error
	fault := func(ok bool, field, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(name(field)+" "+format, args...))
		}
	}
	fault(p.MaxFiles >= 2, "max_files", "must be at least 2, found %d", p.MaxFiles)
	for _, age := range []struct {
		field string
		d     time.Duration
	}{
		{"minute_after", p.MinuteAfter}, {"hour_after", p.HourAfter},
		{"keep_raw", p.KeepRaw}, {"keep_ids", p.KeepIDs}, {"keep_rollups", p.KeepRollups},
	} {
		fault(age.d >= 0, age.field, "must not be negative, found %s", age.d)
	}
	fault(p.MaxBytes >= 0, "max_bytes", "must not be negative, found %d", p.MaxBytes)
	fault(p.MinFree >= 0, "min_free_bytes", "must not be negative, found %d", p.MinFree)
	rolled := p.MinuteAfter
	if rolled == 0 || p.HourAfter > 0 && p.HourAfter < rolled {
		rolled = p.HourAfter
	}
	fault(p.MinuteAfter == 0 || p.HourAfter == 0 || p.HourAfter > p.MinuteAfter, "hour_after",
		"must be more than %s, found %s and %s", name("minute_after"), p.HourAfter, p.MinuteAfter)
	fault(p.KeepRaw == 0 || rolled == 0, "keep_raw",
		"has no effect, since raw rows go when they are rolled up (after %s): switch rolling off or leave it out", rolled)
	fault(p.KeepIDs == 0 || rolled == 0 || p.KeepIDs < rolled, "keep_ids",
		"has no effect, since ids go when rows are rolled up: must be less than %s, found %s", rolled, p.KeepIDs)
	fault(p.KeepRollups == 0 || p.KeepRollups > max(p.MinuteAfter, p.HourAfter), "keep_rollups",
		"must be more than the ages at which rows are rolled up, found %s", p.KeepRollups)
	fault(!p.DropOldest || p.MaxBytes > 0 || p.MinFree > 0, "drop_oldest",
		"has no effect without %s or %s", name("max_bytes"), name("min_free_bytes"))
	return errors.Join(errs...)
}
