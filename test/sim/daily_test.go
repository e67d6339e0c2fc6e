//go:build !race

package sim

import (
	"strings"
	"testing"
)

// A short form of the table must meet the same goals, with slack because it draws fewer files.
func TestDaily_MeetsGoals(t *testing.T) {
	for name, part := range map[string]func(*Table, uint64, int) error{
		"common": commonMode, "dates": stepDates, "directions": directions, "short": shortSeries,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var table Table
			if err := part(&table, 20260304, 1); err != nil {
				t.Fatal(err)
			}
			for _, f := range table.Results {
				slack := 8. // percentage points
				if strings.Contains(f.Name, "+3%") {
					slack = 25 // only 20 series
				}
				switch {
				case f.Goal == nil:
				case f.Better == "higher" && f.Value < *f.Goal-slack, f.Better == "lower" && f.Value > *f.Goal:
					t.Errorf("%s: %.3g, goal %v", f.Name, f.Value, *f.Goal)
				}
			}
		})
	}
}

// A dip in a file of one series, and autocorrelated noise in files of one series, cause few alarms.
func TestDaily_NoiseRaisesFewAlarms(t *testing.T) {
	lines := 0
	for n := range uint64(20) {
		p := dailyBase(0.03, 0.5)
		p.Series, p.Days, p.Dip = 1, 154, PlantedDip{70, 14, 0.3}
		result, err := p.Replay(9, n)
		if err != nil {
			t.Fatal(err)
		}
		p = dailyBase(0.03, 0.8)
		p.Series, p.Days = 1, 154
		noise, err := p.Replay(9, n)
		if err != nil {
			t.Fatal(err)
		}
		lines += len(told(result, 1)) + len(told(noise, 1))
	}
	if lines > 2 {
		t.Errorf("%d lines in 40 files in which nothing increased", lines)
	}
}

// The reports of a step depend neither on the dates nor on the weekday on which a history ends. In each
// scene one series may differ, because some of the seven histories have evaluations that others lack.
func TestDaily_SameReportsOnEveryWeekday(t *testing.T) {
	for _, c := range []plantedScene{{1, 1, 0.02, 0.06, 12}, {8, 3, 0.02, 0.05, 1}} {
		for _, other := range otherDays {
			alike, found, err := c.weekdays(readings[0], other.days, 901, c.files)
			all, fewer := c.files*c.moved, 1
			if other.name == "dates shifted" {
				fewer = 0
			}
			if err != nil || all-alike > fewer || found[0] == 0 {
				t.Errorf("%+v, %s: %d of %d alike, found %v, %v", c, other.name, alike, all, found, err)
			}
		}
	}
}
