package sim

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/corehour/corehour/regression/drift"
)

// otherDays are the ways to change the days of a history. k is at most 6.
var otherDays = []struct {
	name string
	days func(p *Daily, k int)
}{
	{"dates shifted", func(p *Daily, k int) { p.Phase = k }},
	{"first days missing", func(p *Daily, k int) { p.First = k }},
	{"last days missing", func(p *Daily, k int) { p.Without = k }},
}

// plantedScene contains a planted step. The test counts on how many weekdays drift finds it.
type plantedScene struct {
	series, moved int
	noise, effect float64
	files         int // multiplied by the number of files of the table
}

var plantedScenes = []plantedScene{
	{1, 1, 0.02, 0, 8}, {1, 1, 0.02, 0.06, 8}, {1, 1, 0.02, 0.10, 8}, {1, 1, 0.02, 0.15, 8}, {1, 1, 0.02, 0.30, 8},
	{dailySeries, 20, 0.02, 0.03, 1}, {dailySeries, 20, 0.01, 0.03, 1}, {dailySeries, 20, 0.02, 0.10, 1}, {dailySeries, 15, 0.02, -0.10, 1},
}

// A dayReading is a way to feed a history to drift.
type dayReading struct {
	name   string
	replay func(p Daily, seed, run uint64) (*drift.Result, error)
}

var readings = []dayReading{
	{"a file", Daily.Replay},
	{"rows", func(p Daily, seed, run uint64) (*drift.Result, error) { return p.ReplayRows(seed, run, 1000) }},
}

// weekdays evaluates every file on seven days. alike is the number of planted series that are reported on
// all seven days or on none. found is the number reported on each day.
func (c *plantedScene) weekdays(r dayReading, days func(p *Daily, k int), seed uint64, files int) (alike int, found [7]int, err error) {
	for f := range files {
		times := make([]int, c.moved)
		for k := range found {
			p := dailyBase(c.noise, 0.5)
			p.Series, p.Days = c.series, 140
			p.Steps = []PlantedStep{{c.moved, 75 + f%9, c.effect}}
			days(&p, k)
			result, err := r.replay(p, seed, uint64(f))
			if err != nil {
				return 0, found, err
			}
			for n := range told(result, math.Copysign(1, c.effect)) {
				if n >= 0 && n < c.moved {
					times[n]++
					found[k]++
				}
			}
		}
		for _, n := range times {
			if n == 0 || n == len(found) {
				alike++
			}
		}
	}
	return alike, found, nil
}

// WeekdayGoals adds figures that show how much the reports of a planted step depend on the first and last
// day of the history. Each scene is evaluated on seven days in a row.
func (t *Table) WeekdayGoals(seed uint64, files int, progress func(string)) error {
	for i := range plantedScenes {
		c := &plantedScenes[i]
		for _, r := range readings {
			if c.series > 1 && r.name == "a file" {
				continue // slow, and files and rows are evaluated alike
			}
			for _, other := range otherDays {
				if r.name == "rows" && other.name == "dates shifted" {
					continue // rows have no dates
				}
				alike, found, err := c.weekdays(r, other.days, seed, files*c.files)
				if err != nil {
					return err
				}
				all := float64(files * c.files * c.moved)
				name := fmt.Sprintf("drift, %+.0f%% in %d of %d series, noise %g%%, %s of %s: alike (%d of %.0f; found in %.1f%% to %.1f%%)",
					100*c.effect, c.moved, c.series, 100*c.noise, other.name, r.name, alike, all,
					100*float64(slices.Min(found[:]))/all, 100*float64(slices.Max(found[:]))/all)
				t.Higher(name, 100*float64(alike)/all, "%", 95)
				progress(name)
			}
		}
	}
	return nil
}

// atMost returns the upper bound of a one-sided 95% interval for a Poisson count n.
func atMost(n int) float64 { return distuv.ChiSquared{K: 2 * float64(n+1)}.Quantile(0.95) / 2 }
