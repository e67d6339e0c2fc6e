package main

import (
	"fmt"

	"github.com/corehour/corehour/test/sim"
)

// drifts are the changes to find. goal is the share to find, in percent.
var drifts = []struct {
	name   string
	months sim.Months
	goal   float64
}{
	{"+5% over 60 days, 20,000 records a day", sim.Months{Records: 20_000, Effect: 0.05, Over: 60}, 98},
	{"+10% over 60 days, 20,000 records a day", sim.Months{Records: 20_000, Effect: 0.10, Over: 60}, 100},
	{"step of +3%, 20,000 records a day", sim.Months{Records: 20_000, Effect: 0.03}, 95},
	{"+5% over 60 days, 2,000 records a day", sim.Months{Records: 2_000, Effect: 0.05, Over: 60}, 96},
}

// drift counts false alarms in a year without changes, and found changes in a year with a tenth of the
// methods changed.
func (s *simulation) drift() error {
	for _, records := range []float64{20_000, 2_000} {
		null := sim.Months{Methods: methods, Days: 365, Records: records}
		h := sim.DrawMonths(null, s.seed, 1)
		ours, err := sim.WatchDrift(h, null)
		if err != nil {
			return err
		}
		weeks := sim.WatchWeeks(h, null)
		name := fmt.Sprintf("drift, %.0f records a day, false alarms", records)
		s.table.Lower(fmt.Sprintf("%s (%d in a year, at most %.4f with 95%% confidence)", name, ours.False, ours.AtMostPer1000Days()), ours.FalsePer1000Days(), "per 1000 methods and day", 0.13)
		s.table.Lower(name+", week over four weeks > 5%", weeks.FalsePer1000Days(), "per 1000 methods and day", sim.None)
		fmt.Fprintf(s.progress, "drift: a year with %.0f records a day\n", records)
	}
	for i, d := range drifts {
		p := d.months
		p.Methods, p.Days, p.Changed, p.Begin = methods, 154, 0.1, 70
		h := sim.DrawMonths(p, s.seed, uint64(i)+2)
		ours, err := sim.WatchDrift(h, p)
		if err != nil {
			return err
		}
		weeks := sim.WatchWeeks(h, p)
		s.table.Higher(fmt.Sprintf("drift, %s, found (%d of %d)", d.name, ours.Found, ours.Methods), ours.FoundShare(), "%", d.goal)
		s.table.Lower("drift, "+d.name+", median of those found", ours.MedianDay(), "days", sim.None)
		s.table.Higher("drift, "+d.name+", found by week over four weeks > 5%", weeks.FoundShare(), "%", sim.None)
		fmt.Fprintf(s.progress, "drift: %s\n", d.name)
	}
	return nil
}

// dailyFiles is the number of files drawn for each scene of daily.
const dailyFiles = 10

// weekdayFiles is the same for weekdays. Each file is evaluated at least 21 times.
const weekdayFiles = 3

// daily adds the figures of drift on independent series.
func (s *simulation) daily() error {
	return s.table.DailyGoals(s.seed, dailyFiles, func(line string) { fmt.Fprintln(s.progress, line) })
}

// weekdays measures how much the reports depend on the first and last day of a history.
func (s *simulation) weekdays() error {
	return s.table.WeekdayGoals(s.seed, weekdayFiles, func(line string) { fmt.Fprintln(s.progress, line) })
}
