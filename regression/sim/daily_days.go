package sim

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/corehour/corehour/regression/drift"
)

// otherDays are the ways in which the same history is read from other days, by up to six.
var otherDays = []struct {
	name string
	days func(p *Daily, k int)
}{
	{"dates shifted", func(p *Daily, k int) { p.Phase = k }},
	{"first days missing", func(p *Daily, k int) { p.First = k }},
	{"last days missing", func(p *Daily, k int) { p.Without = k }},
}

// plantedScenes are steps of which it is counted from how many weekdays they are found.
// Where all series change nothing else is drawn.
var plantedScenes = []struct {
	series, moved int
	noise, effect float64
	files         int // for each file of a scene
}{
	{1, 1, 0.02, 0, 8}, {1, 1, 0.02, 0.06, 8}, {1, 1, 0.02, 0.10, 8}, {1, 1, 0.02, 0.15, 8}, {1, 1, 0.02, 0.30, 8},
	{dailySeries, 20, 0.02, 0.03, 1}, {dailySeries, 20, 0.01, 0.03, 1}, {dailySeries, 20, 0.02, 0.10, 1}, {dailySeries, 15, 0.02, -0.10, 1},
}

// WeekdayGoals adds how far what is told of a planted step depends on the days on which a
// history begins and ends: each scene is read from seven days in a row.
func (t *Table) WeekdayGoals(seed uint64, files int, progress func(string)) error {
	readings := []struct {
		name   string
		replay func(Daily, uint64, uint64) (*drift.Course, error)
	}{
		{"a file", Daily.Replay},
		{"rows", func(p Daily, seed, run uint64) (*drift.Course, error) { return p.ReplayRows(seed, run, 1000) }},
	}
	for _, c := range plantedScenes {
		for _, reading := range readings {
			for _, other := range otherDays {
				alike, all := 0, 0
				var found [7]int
				for f := range max(1, files*c.files) {
					p := dailyBase(c.noise, 0.5)
					p.Series, p.Days = c.series, 140
					p.Steps = []PlantedStep{{c.moved, 75 + f%9, c.effect}}
					times := make([]int, c.moved)
					for k := range found {
						shifted := p
						other.days(&shifted, k)
						course, err := reading.replay(shifted, seed, uint64(f))
						if err != nil {
							return err
						}
						for n := range told(course, math.Copysign(1, c.effect)) {
							if n >= 0 && n < c.moved {
								times[n]++
								found[k]++
							}
						}
					}
					for _, n := range times {
						all++
						if n == 0 || n == len(found) {
							alike++
						}
					}
				}
				least, most := 100*float64(slices.Min(found[:]))/float64(all), 100*float64(slices.Max(found[:]))/float64(all)
				name := fmt.Sprintf("drift, %+.0f%% in %d of %d series, noise %g%%, %s of %s", 100*c.effect, c.moved, c.series, 100*c.noise, other.name, reading.name)
				t.Higher(fmt.Sprintf("%s: alike (%d of %d; found in %.1f%% to %.1f%%)", name, alike, all, least, most), 100*float64(alike)/float64(all), "%", 95)
				progress(fmt.Sprintf("%s: alike %.1f%% of %d; found in %.1f%% to %.1f%%", name, 100*float64(alike)/float64(all), all, least, most))
			}
		}
	}
	return nil
}

// atMost is the upper end of a one-sided 95% interval of what was counted (Poisson).
func atMost(n int) float64 { return distuv.ChiSquared{K: 2 * float64(n+1)}.Quantile(0.95) / 2 }
