package maintain

import (
	"slices"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// Action is what a step does.
type Action string

const (
	Expire  Action = "expire"    // drop a date that is older than the policy keeps
	Shed    Action = "shed"      // drop a date because the disk is full
	Hour    Action = "roll_hour" // add up by hour
	Minute  Action = "roll_minute"
	DropIDs Action = "drop_ids"
	Merge   Action = "merge"
	Sum     Action = "sum_hours" // keep hourly rollups of the rows
	NoSums  Action = "drop_sums" // drop these because the disk is full
	Delete  Action = "delete_service"
	Relabel Action = "relabel_service"
	Damaged Action = "drop_damaged"
	Mend    Action = "drop_impossible" // numbers, not rows
)

// Actions lists all of them.
var Actions = []Action{Expire, Shed, Hour, Minute, DropIDs, Merge, Sum, NoSums, Delete, Relabel, Damaged, Mend}

// Step is one commit: what it took out, or added up, and what it put in.
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

// age tells how long ago a date ended.
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

// finer lists the files that are not of a level yet.
func finer(files []parquet.File, level string) []parquet.File {
	return filter(files, func(f parquet.File) bool { return levels[f.Level] < levels[level] })
}

// notCoarser lists the files that can be added up to a level.
func notCoarser(files []parquet.File, level string) []parquet.File {
	return filter(files, func(f parquet.File) bool { return levels[f.Level] <= levels[level] })
}

func rawFiles(files []parquet.File) []parquet.File { return finer(files, methodspan.LevelMinute) }

// due tells what is to be done to a date next, "" if nothing. Dropping is decided
// for all dates together, and rollups are made when nothing is due to any.
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

// sumsDue reports whether sums are to be kept next to a date: it is over and quiet, and so many of
// its rows are in no sums that adding it up is worth it. A few late rows are not: all others
// would be added up again with them.
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

// small lists the files that are worth merging.
func small(files []parquet.File) []parquet.File {
	return filter(rawFiles(files), func(f parquet.File) bool { return f.Rows < smallRows })
}

// expired reports whether the policy keeps a date no longer. Where rows are to be rolled
// up, those that could not be go with the sums of their age.
func (p *Policy) expired(d *table.Date, now time.Time) bool {
	old := age(d.Date, now)
	raw := len(rawFiles(d.Files))
	return p.KeepRaw > 0 && old >= p.KeepRaw && raw == len(d.Files) ||
		p.KeepRollups > 0 && old >= p.KeepRollups && (raw < len(d.Files) || p.MinuteAfter > 0 || p.HourAfter > 0)
}
