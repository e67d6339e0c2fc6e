package main

import (
	"fmt"

	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/test/sim"
)

// ended counts false alarms and found changes of roll-outs that end early. Their last evaluation can be the
// only one.
func (s *simulation) ended() error {
	n := s.deployments
	nothing := sim.CountEnded(sim.Plan{Methods: methods}, seed+6, n, evidence.Defaults(), s.told("over early, nothing changed", n))
	e := sim.CountEnded(sim.Plan{Methods: methods, Changed: 0.1, Effects: effects}, seed+7, n, evidence.Defaults(), s.told("over early, a tenth changed", n))
	for _, c := range []struct {
		name string
		sim.Ended
	}{{"over early", nothing}, {"over early, with changed methods", e}} {
		score := sim.Score{Name: c.name, False: c.False, Unchanged: c.Unchanged}
		s.table.FalseAlarms([]sim.Score{score}, 0.3)
	}
	s.table.Higher(fmt.Sprintf("over early, +50%% found, from 300 records (%d of %d)", e.Found, e.Clear), share(e.Found, max(1, e.Clear)), "%", 95)
	s.table.Higher(fmt.Sprintf("over early, +50%% reported by the last evaluation alone (%d of %d)", e.OneLook, e.Clear), share(e.OneLook, max(1, e.Clear)), "%", sim.None)
	return nil
}
