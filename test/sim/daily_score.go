package sim

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"

	"github.com/corehour/corehour/regression/drift"
)

// dailySeries is the number of series in most scenes.
const dailySeries = 60

// DailyGoals adds the figures of drift on independent series. files scales the number of files per figure:
// the short form of the tests uses few.
func (t *Table) DailyGoals(seed uint64, files int, progress func(string)) error {
	for _, part := range []func(*Table, uint64, int) error{
		commonMode, autocorrelated, dips, stepDates, directions, shortSeries, fewRecords,
	} {
		before := len(t.Results)
		if err := part(t, seed, files); err != nil {
			return err
		}
		for _, f := range t.Results[before:] {
			progress(fmt.Sprintf("%-90s %8.4g", f.Name, f.Value))
		}
	}
	return nil
}

func dailyBase(noise, rho float64) Daily {
	return Daily{Series: dailySeries, Days: 126, Noise: noise, Rho: rho, Common: 0.02, Weekdays: 0.03}
}

// told returns the largest reported drift of every series with a change of the given sign.
func told(c *drift.Result, sign float64) map[int]*drift.Drift {
	out := map[int]*drift.Drift{}
	for i := range c.Drifts {
		d := &c.Drifts[i]
		if d.Change*sign <= 0 {
			continue
		}
		n := numberOf(d.Method)
		if out[n] == nil || math.Abs(d.Change) > math.Abs(out[n].Change) {
			out[n] = d
		}
	}
	return out
}

// commonMode adds figures for a step shared by many of the series (in most cases a third).
func commonMode(t *Table, seed uint64, files int) error {
	for _, c := range []struct {
		effect, noise float64
		moved         int
	}{{0.30, 0.02, 20}, {0.30, 0.05, 20}, {0.10, 0.02, 20}, {0.03, 0.01, 20}, {0.03, 0.02, 20}, {0.30, 0.02, 30}} {
		p := dailyBase(c.noise, 0.5)
		p.Steps = []PlantedStep{{c.moved, 77, c.effect}}
		var covered, found, wrong, all int
		sum := 0.0
		for f := range files {
			result, err := p.Replay(seed, uint64(f))
			if err != nil {
				return err
			}
			all += c.moved
			for n, d := range told(result, 1) {
				switch {
				case n < 0:
				case n >= c.moved:
					wrong++
				default:
					found++
					sum += d.Change
					if d.Interval[0] <= c.effect && c.effect <= d.Interval[1] {
						covered++
					}
				}
			}
			for n := range told(result, -1) {
				if n >= c.moved {
					wrong++
				}
			}
		}
		name := fmt.Sprintf("%+.0f%% in %d of %d series, noise %g%%", 100*c.effect, c.moved, dailySeries, 100*c.noise)
		goalFound, goalCovered := None, None
		switch {
		case c.moved > 20:
		case c.effect == 0.03:
			goalFound = 50
		default:
			goalCovered = 90
		}
		t.Higher(fmt.Sprintf("drift, %s: found (%d of %d)", name, found, all), 100*float64(found)/float64(all), "%", goalFound)
		t.Higher(fmt.Sprintf("drift, %s: covered (%d of %d told)", name, covered, found), 100*float64(covered)/float64(max(1, found)), "% of those told", goalCovered)
		t.Higher(fmt.Sprintf("drift, %s: mean change told", name), 100*sum/float64(max(1, found)), "%", None)
		t.Lower(fmt.Sprintf("drift, %s: unchanged series told (%d)", name, wrong), 100*float64(wrong)/float64(files*(dailySeries-c.moved)), "% of series", None)
	}
	return nil
}

// autocorrelated adds the false alarms of unchanged, autocorrelated series, in files of many series and of one.
func autocorrelated(t *Table, seed uint64, files int) error {
	for _, c := range []struct{ series, files int }{{1, 30 * files}, {4, 15 * files / 2}, {dailySeries, 3 * files}} {
		for _, rho := range []float64{0, 0.5, 0.7, 0.8} {
			p := dailyBase(0.03, rho)
			p.Series, p.Days = c.series, 365
			var raised, improved perFile
			for f := range max(1, c.files) {
				result, err := p.Replay(seed+1, uint64(f))
				if err != nil {
					return err
				}
				up, down := 0, 0
				for _, d := range result.Drifts {
					if d.Change > 0 {
						up++
					} else {
						down++
					}
				}
				raised, improved = append(raised, up), append(improved, down)
			}
			days := float64(c.series * (p.Days - firstLook) * max(1, c.files))
			for _, what := range []struct {
				name string
				perFile
			}{{"alarms", raised}, {"improvements", improved}} {
				t.Lower(fmt.Sprintf("drift, nothing changed, AR %g, %d series: false %s (%d in %.0f series-days, at most %.3f with 95%% confidence)",
					rho, c.series, what.name, what.sum(), days, 1000*what.atMost()/days), 1000*float64(what.sum())/days, "per 1000 series and day", 0.13)
			}
		}
	}
	return nil
}

// perFile contains one count per file. The series of a file share a level, so their alarms can come together.
type perFile []int

func (n perFile) sum() (total int) {
	for _, v := range n {
		total += v
	}
	return total
}

// atMost returns the upper bound of a one-sided 95% interval of the sum. It is the larger of two bounds: for
// independent counts, and for counts that cluster in files.
func (n perFile) atMost() float64 {
	values := make([]float64, len(n))
	for i, v := range n {
		values[i] = float64(v)
	}
	bound := atMost(n.sum())
	if len(n) > 1 {
		bound = max(bound, float64(n.sum())+1.645*math.Sqrt(float64(len(n)))*stat.StdDev(values, nil))
	}
	return bound
}

// dips adds figures for a dip of two weeks (holidays), in one file of all series and in one file per series.
func dips(t *Table, seed uint64, _ int) error {
	for _, together := range []bool{true, false} {
		for _, depth := range []float64{0.1, 0.3} {
			for _, rho := range []float64{0, 0.5} {
				lines, improved := 0, 0
				for n := range dailySeries {
					p := dailyBase(0.03, rho)
					p.Days, p.Dip = 154, PlantedDip{70, 14, depth}
					if !together {
						p.Series = 1
					} else if n > 0 {
						break
					}
					result, err := p.Replay(seed+2, uint64(n))
					if err != nil {
						return err
					}
					for _, d := range result.Drifts {
						switch {
						case d.Began < p.Dip.At-7: // chance
						case d.Change > 0:
							lines++
						default:
							improved++
						}
					}
				}
				name := fmt.Sprintf("drift, two weeks of -%.0f%% in %d series, AR %g, one file: %v", 100*depth, dailySeries, rho, together)
				t.Lower(name+": increases told", float64(lines), "lines", 1)
				t.Lower(name+": improvements told", float64(improved), "lines", None)
			}
		}
	}
	return nil
}

// stepDates adds the errors of the reported dates of a step, of the larger of two steps ten days apart, and
// of a step after a dip.
func stepDates(t *Table, seed uint64, files int) error {
	for _, c := range []struct {
		name  string
		steps []PlantedStep
		dip   PlantedDip
		goal  float64
		want  int
	}{
		{"+10%", []PlantedStep{{30, 77, 0.10}}, PlantedDip{}, 90, 77},
		{"+4%, then +12% ten days later", []PlantedStep{{20, 77, 0.04}, {20, 87, 0.12}}, PlantedDip{}, 90, 87},
		{"+12%, then +4% ten days later", []PlantedStep{{20, 77, 0.12}, {20, 87, 0.04}}, PlantedDip{}, 90, 77},
		{"+4%, then +12% three weeks later", []PlantedStep{{20, 70, 0.04}, {20, 91, 0.12}}, PlantedDip{}, 90, 91},
		{"+10% after a dip of two weeks", []PlantedStep{{20, 84, 0.10}}, PlantedDip{70, 14, 0.2}, 90, 84},
	} {
		right, found, all := 0, 0, 0
		for f := range files {
			p := dailyBase(0.015, 0.5)
			p.Steps, p.Dip = c.steps, c.dip
			if p.Steps[0].Series > 20 {
				p.Steps[0].Series = 20
			}
			result, err := p.Replay(seed+3, uint64(f))
			if err != nil {
				return err
			}
			all += 20
			dated := map[int]bool{}
			seen := map[int]bool{}
			for i := range result.Drifts {
				d := &result.Drifts[i]
				if n := numberOf(d.Method); n >= 0 && n < 20 && d.Change > 0 {
					seen[n] = true
					if math.Abs(float64(d.Began-c.want)) <= 2 {
						dated[n] = true
					}
				}
			}
			found += len(seen)
			right += len(dated)
		}
		t.Higher(fmt.Sprintf("drift, %s: found (%d of %d)", c.name, found, all), 100*float64(found)/float64(all), "%", None)
		t.Higher(fmt.Sprintf("drift, %s: the largest dated within 2 days (%d of %d)", c.name, right, found), 100*float64(right)/float64(max(1, found)), "% of those found", c.goal)
	}
	return nil
}

// directions adds figures for decreases and for series with values near 0.
func directions(t *Table, seed uint64, files int) error {
	improved, all, linear, refused := 0, 0, 0, 0
	for f := range files {
		p := dailyBase(0.02, 0.5)
		p.Steps = []PlantedStep{{15, 77, -0.10}}
		result, err := p.Replay(seed+5, uint64(f))
		if err != nil {
			return err
		}
		all += 15
		for n := range told(result, -1) {
			if n >= 0 && n < 15 {
				improved++
			}
		}
		p.Linear, p.Steps = true, []PlantedStep{{15, 77, 0.10}}
		if result, err = p.Replay(seed+5, uint64(f)); err != nil {
			refused++
			continue
		}
		for n := range told(result, 1) {
			if n >= 0 && n < 15 {
				linear++
			}
		}
	}
	t.Higher(fmt.Sprintf("drift, -10%% in 15 of 60 series: told as improved (%d of %d)", improved, all), 100*float64(improved)/float64(all), "%", 90)
	t.Higher(fmt.Sprintf("drift, series around 0, a step of five times the noise: found (%d of %d)", linear, all), 100*float64(linear)/float64(all), "%", 90)
	t.Lower("drift, files of values at or below 0 refused", float64(refused), "files", 0)
	return nil
}

// shortSeries adds figures for histories of five weeks.
func shortSeries(t *Table, seed uint64, files int) error {
	found, judged, all, false0 := 0, 0, 0, 0
	for f := range files {
		p := dailyBase(0.02, 0.5)
		p.Days, p.Steps = 35, []PlantedStep{{15, 15, 0.15}}
		result, err := p.Replay(seed+6, uint64(f))
		if err != nil {
			return err
		}
		all += dailySeries
		for _, m := range result.Methods {
			if m.Judged {
				judged++
			}
		}
		for n := range told(result, 1) {
			switch {
			case n >= 15:
				false0++
			case n >= 0:
				found++
			}
		}
	}
	t.Higher("drift, series of 35 days: judged", 100*float64(judged)/float64(all), "%", 100)
	t.Higher(fmt.Sprintf("drift, series of 35 days, +15%%: found (%d)", found), 100*float64(found)/float64(15*files), "%", None)
	t.Lower(fmt.Sprintf("drift, series of 35 days: unchanged ones told (%d)", false0), 100*float64(false0)/float64(45*files), "%", None)
	return nil
}

// fewRecords adds figures for 1,000 methods with few records a day and a skewed cost, five of them changed.
func fewRecords(t *Table, seed uint64, files int) error {
	for _, c := range []struct{ records, effect float64 }{{24, 1}, {96, 0.5}} {
		wrong, right := 0, 0
		for f := range files {
			result, err := drift.Replay(fewRecordHistory(c.records, c.effect, seed+7, uint64(f)))
			if err != nil {
				return err
			}
			for n := range told(result, 1) {
				switch {
				case n >= 5:
					wrong++
				case n >= 0:
					right++
				}
			}
		}
		name := fmt.Sprintf("drift, 90 days of 1,000 methods with %.0f records a day, 5 of them %+.0f%%", c.records, 100*c.effect)
		t.Lower(fmt.Sprintf("%s: false (%d in %d services)", name, wrong, files), float64(wrong)/float64(files), "per service", 0.5)
		t.Higher(fmt.Sprintf("%s: found (%d of %d)", name, right, 5*files), 100*float64(right)/float64(5*files), "%", None)
	}
	return nil
}

func fewRecordHistory(records, effect float64, seed, run uint64) *drift.History {
	h := &drift.History{Callers: []string{""}, Days: 90}
	for n := range 1000 {
		r := source(seed, run, fmt.Sprint("few records ", n))
		h.Methods = append(h.Methods, fmt.Sprintf("s%d", n))
		scale := 0.8 + 1.2*r.Float64() // standard deviation of the logarithm of one call
		limit := math.Exp(2.576 * scale)
		level := arNoise(r, h.Days, 0.02, 0.7)
		for d := range h.Days {
			day := drift.Day{Method: int32(n), Day: int32(d), Records: float64(poisson(r, records))}
			day.Weight = day.Records
			for range int(day.Records) {
				x := scale * r.NormFloat64()
				if r.IntN(50) == 0 {
					x += 3
				}
				day.Capped += min(limit, math.Exp(x))
				day.Log += x
			}
			if n < 5 && d >= 45 {
				level[d] += math.Log1p(effect)
			}
			day.Capped *= math.Exp(level[d])
			day.Log += day.Weight * level[d]
			h.Rows = append(h.Rows, day)
		}
	}
	return h
}
