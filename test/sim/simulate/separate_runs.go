package main

import (
	"fmt"

	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/test/sim"
)

// separateRuns adds the same figures for versions that do not overlap: all instances are replaced at once.
func (s *simulation) separateRuns() error {
	n := max(1, s.deployments/5)
	for i, overlap := range []evidence.Overlap{evidence.PreviousDays, evidence.Sequential} {
		plan := sim.Plan{Methods: methods, Changed: 0.1, Effects: effects, Overlap: overlap}
		score := sim.Count(plan, seed+4+uint64(i), n, []sim.Kind{sim.Pipeline(evidence.Defaults())}, s.told(plan.Name(), n))[0]
		score.Name = plan.Name()
		s.table.FalseAlarms([]sim.Score{score}, 0.3)
		for _, effect := range effects {
			var all sim.Power // at least 300 records
			for b, p := range score.Power[effect] {
				if b > 0 {
					all.Methods, all.Found = all.Methods+p.Methods, all.Found+p.Found
				}
			}
			name := fmt.Sprintf("%s, %+.0f%% found, from 300 records (%d of %d)", plan.Name(), 100*effect, all.Found, all.Methods)
			s.table.Higher(name, share(all.Found, max(1, all.Methods)), "%", sim.None)
		}
	}
	return nil
}
