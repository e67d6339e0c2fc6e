package main

import (
	"fmt"

	"github.com/corehour/corehour/test/sim"
)

// trials is the number of samples per cell of the coverage table. ownError is twice the standard error of such a
// share, in percentage points. A goal can be missed by that much by chance.
const (
	trials   = 1500
	ownError = 1.5
)

// coverage measures how often intervals contain the true value.
func (s *simulation) coverage() error {
	costs := sim.Costs()
	for i, row := range sim.Cover(costs, sim.Sizes, trials, seed) {
		for j, c := range row {
			name := fmt.Sprintf("coverage of 95%%, %s, n=%d", costs[i].Name, sim.Sizes[j])
			s.table.Higher(name+", Hall", c.Hall, "%", costs[i].Goals[j]-ownError)
			s.table.Higher(name+", symmetric", c.Normal, "%", sim.None)
		}
	}
	return nil
}

// gateTrials is the number of samples per cell of the table of printed intervals.
const gateTrials = 600

// gate measures how often an interval is printed, and how often a printed interval contains the true value.
func (s *simulation) gate() error {
	s.table.GateGoals(seed, gateTrials)
	return nil
}

// speed measures the duration of one evaluation of a whole deployment and of one of a year.
func (s *simulation) speed() error {
	d := sim.Draw(sim.Plan{Methods: methods}, seed, 0, nil)
	seconds, err := sim.JudgeSeconds(d)
	if err != nil {
		return err
	}
	s.table.Lower(fmt.Sprintf("one look at %d methods, %d cells", methods, len(d.Cells)), seconds, "s", 2)
	h := sim.DrawMonths(sim.Months{Methods: 2 * methods, Days: 365, Records: 20_000}, seed, 0)
	if seconds, err = sim.DriftSeconds(h); err != nil {
		return err
	}
	s.table.Lower(fmt.Sprintf("one look for drift at a year of %d methods", 2*methods), seconds, "s", 10)
	return nil
}
