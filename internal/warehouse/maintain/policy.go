package maintain

import (
	"errors"
	"fmt"
	"time"
)

// Policy defines when each maintenance step is due. Ages are counted from the end of a UTC date; 0 disables
// a rule.
type Policy struct {
	// MaxFiles is the maximum number of raw files of a date before its small ones are merged.
	MaxFiles int
	// MinuteAfter and HourAfter are the ages at which rows are rolled up by minute and by hour.
	MinuteAfter time.Duration
	HourAfter   time.Duration
	// KeepRaw, KeepIDs and KeepRollups are the ages after which dates with raw rows are dropped, ids are
	// removed from raw rows, and rolled-up dates are dropped.
	KeepRaw     time.Duration
	KeepIDs     time.Duration
	KeepRollups time.Duration
	// SumRows is the minimum number of rows of a closed day that are in no rollup before an hourly
	// pre-aggregated rollup is added: fewer rows are read as fast without one. 0 disables these rollups.
	SumRows int64
	// MaxBytes is the maximum size of the warehouse and MinFree the minimum free space of the file system,
	// in bytes. Beyond either limit the oldest dates are dropped if DropOldest is set.
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
	// quiet is the time without writes to a date before it is rolled up, so that late rows are rolled up in
	// few passes.
	quiet = time.Hour
	// smallRows is the number of rows below which a raw file is worth merging.
	smallRows    = 8 * rowGroupRows
	maxOpenFiles = 256
	rowGroupRows = 122_880
)

// Validate returns all inconsistencies of the policy. name converts a field name to the user's spelling.
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
