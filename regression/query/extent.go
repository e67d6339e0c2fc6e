package query

import (
	"time"

	"github.com/corehour/corehour/internal/methodspan"
)

// Whole widens a window that cuts through hourly or minute rollup rows to whole hours or minutes. It also returns
// the level of these rows, or "" if the window cuts none.
func (w *Warehouse) Whole(window Window) (whole Window, level string) {
	from, fromLevel := w.cutUnit(window.From)
	to, toLevel := w.cutUnit(window.To)
	if fromLevel != "" {
		window.From = from
	}
	if toLevel != "" {
		window.To = to.Add(units[toLevel])
	}
	if fromLevel == methodspan.LevelHour || toLevel == "" {
		return window, fromLevel
	}
	return window, toLevel
}

var units = map[string]time.Duration{methodspan.LevelHour: time.Hour, methodspan.LevelMinute: time.Minute}

// cutUnit returns the start and level of the longest rollup unit that the moment at cuts. The level is empty if there
// are no such rows, or at is the start of the unit.
func (w *Warehouse) cutUnit(at time.Time) (start time.Time, level string) {
	if at.IsZero() {
		return at, ""
	}
	for _, level := range []string{methodspan.LevelHour, methodspan.LevelMinute} {
		start := at.Truncate(units[level])
		if start.Equal(at) {
			continue
		}
		for _, f := range w.Files {
			if f.Level == level && f.MinStartNS < nanos(start.Add(units[level])) && f.MaxStartNS >= nanos(start) {
				return start, level
			}
		}
	}
	return at, ""
}
