package maintain

import (
	"slices"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// Action is the kind of a step.
type Action string

const (
	Expire  Action = "expire"    // drop a date that is older than the policy keeps
	Shed    Action = "shed"      // drop a date because the disk is full
	Hour    Action = "roll_hour" // roll up by hour
	Minute  Action = "roll_minute"
	DropIDs Action = "drop_ids"
	Merge   Action = "merge"
	Sum     Action = "sum_hours" // write a pre-aggregated hourly rollup
	NoSums  Action = "drop_sums" // drop pre-aggregated rollups because the disk is full
	Delete  Action = "delete_service"
	Relabel Action = "relabel_service"
	Damaged Action = "drop_damaged"
	Mend    Action = "drop_impossible" // remove impossible numbers from rows
)

// Actions lists all actions.
var Actions = []Action{Expire, Shed, Hour, Minute, DropIDs, Merge, Sum, NoSums, Delete, Relabel, Damaged, Mend}

// Step is one commit: the files that it replaced or rolled up, and the file that it wrote.
type Step struct {
	Action   Action  `json:"action"`
	Date     string  `json:"date"`
	Files    int     `json:"files"`
	Rows     int64   `json:"rows"`
	Bytes    int64   `json:"bytes"`
	OutRows  int64   `json:"out_rows"`
	OutBytes int64   `json:"out_bytes"`
	Seconds  float64 `json:"seconds"`
}

func newStep(action Action, date string, files []parquet.File) Step {
	return Step{Action: action, Date: date, Files: len(files), Rows: rowsOf(files), Bytes: sizeOf(files)}
}

// age returns the time since the end of a date, 0 if date is invalid.
func age(date string, now time.Time) time.Duration {
	start, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return 0
	}
	return now.Sub(start.Add(day))
}

// levels orders the levels from fine to coarse.
var levels = map[string]int{methodspan.LevelRaw: 0, methodspan.LevelMinute: 1, methodspan.LevelHour: 2}

func filter(files []parquet.File, keep func(parquet.File) bool) []parquet.File {
	return slices.DeleteFunc(slices.Clone(files), func(f parquet.File) bool { return !keep(f) })
}

// finer returns the files of a finer level than level.
func finer(files []parquet.File, level string) []parquet.File {
	return filter(files, func(f parquet.File) bool { return levels[f.Level] < levels[level] })
}

// notCoarser returns the files that can be rolled up to level.
func notCoarser(files []parquet.File, level string) []parquet.File {
	return filter(files, func(f parquet.File) bool { return levels[f.Level] <= levels[level] })
}

func rawFiles(files []parquet.File) []parquet.File { return finer(files, methodspan.LevelMinute) }

// due returns the next action for a date, "" for none. It does not decide about dropping dates and
// about pre-aggregated rollups.
func (p *Policy) due(d *table.Date, now time.Time) Action {
	old := age(d.Date, now)
	settled := now.Sub(d.LastCommitted) >= quiet
	switch {
	case p.HourAfter > 0 && old >= p.HourAfter && settled && len(finer(d.Files, methodspan.LevelHour)) > 0:
		return Hour
	case p.MinuteAfter > 0 && old >= p.MinuteAfter && settled && len(rawFiles(d.Files)) > 0:
		return Minute
	case p.KeepIDs > 0 && old >= p.KeepIDs && len(withIDs(d.Files)) > 0:
		return DropIDs
	case len(rawFiles(d.Files)) > p.MaxFiles && len(small(d.Files)) > 1:
		return Merge
	}
	return ""
}

// sumsDue reports whether a pre-aggregated rollup of a date is due: the day is closed, nothing was
// written to it for the quiet time, and at least SumRows rows and an eighth of all rows are in no
// rollup. For fewer late rows it is not worth aggregating all rows again.
func (p *Policy) sumsDue(d *table.Date, now time.Time) bool {
	if p.SumRows == 0 || age(d.Date, now) < 0 || now.Sub(d.LastCommitted) < quiet {
		return false
	}
	fine := finer(d.Files, methodspan.LevelHour)
	missing := rowsOf(filter(fine, func(f parquet.File) bool {
		return d.Sums == nil || !slices.Contains(d.Sums.Of, f.Path)
	}))
	return missing >= p.SumRows && 8*missing >= rowsOf(fine)
}

func withIDs(files []parquet.File) []parquet.File {
	return filter(rawFiles(files), func(f parquet.File) bool { return !f.NoIDs })
}

// small returns the raw files that are worth merging.
func small(files []parquet.File) []parquet.File {
	return filter(rawFiles(files), func(f parquet.File) bool { return f.Rows < smallRows })
}

// expired reports whether a date is older than the policy keeps. If the policy rolls up, raw rows
// that were not rolled up expire at the age of rollups.
func (p *Policy) expired(d *table.Date, now time.Time) bool {
	old := age(d.Date, now)
	raw := len(rawFiles(d.Files))
	return p.KeepRaw > 0 && old >= p.KeepRaw && raw == len(d.Files) ||
		p.KeepRollups > 0 && old >= p.KeepRollups && (raw < len(d.Files) || p.MinuteAfter > 0 || p.HourAfter > 0)
}
