package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/test/deploygen"
	"github.com/corehour/corehour/test/sim"
	"github.com/corehour/corehour/test/sim/families"
)

// families scores verdicts on the deployments of an independent generator (docs/background/simulation.md): small
// services, and scenes that break the assumptions of the model.
func (s *simulation) families() error {
	for _, family := range []struct {
		name string
		all  []deploygen.Scene
		each int // multiplies the number of deployments of the other tables
	}{
		{"small services", deploygen.SmallServices(), 120},
		{"independent", deploygen.Independent(), 160},
	} {
		n := family.each * s.deployments
		score, err := families.Count(deploygen.Pick(family.all, n, seed), seed, s.told(family.name, n))
		if err != nil {
			return err
		}
		s.family(family.name, score)
	}
	if err := s.found(); err != nil {
		return err
	}
	if err := s.early(); err != nil {
		return err
	}
	return s.delays()
}

func (s *simulation) family(name string, score families.Score) {
	t, f := &s.table, score.False
	t.Lower(fmt.Sprintf("%s: false (%d of %d unchanged methods, 95%% bound %.2f)", name, f.Are, f.Of, f.Upper()), 10*f.Percent(), "per 1000 methods and deployment", 0.3)
	t.Lower(fmt.Sprintf("%s: wrong sign (%d of %d changed methods)", name, score.WrongSign.Are, score.WrongSign.Of), score.WrongSign.Percent(), "%", 0.5)
	if score.Covered.Of > 0 {
		t.Higher(name+": intervals that cover, as the model assumes", score.Covered.Percent(), "%", 93)
	}
	t.Higher(name+": intervals that cover, where a scene breaks the model", score.CoveredBroken.Percent(), "%", 90)
	t.Higher(name+": intervals of measured changes that cover", score.Measured.Percent(), "%", 90)
	for _, disturbance := range slices.Sorted(maps.Keys(score.Under)) {
		u := score.Under[disturbance]
		t.Higher(fmt.Sprintf("%s, %s: intervals that cover (of %d; %d of %d unchanged methods false)", name, disturbance, u.Covered.Of, u.False.Are, u.False.Of), u.Covered.Percent(), "%", 90)
	}
	if score.Common.Of > 0 {
		t.Higher(fmt.Sprintf("%s: more than a third changed: remaining change not identified (of %d)", name, score.NotIdentified.Of), score.NotIdentified.Percent(), "%", 95)
		t.Higher(fmt.Sprintf("%s: more than a third changed, as much as hosts differ by: not identified (of %d)", name, score.LikeHosts.Of), score.LikeHosts.Percent(), "%", sim.None)
		t.Higher(name+": more than a third changed: exit status is not 0", score.Common.Percent(), "%", sim.None)
	}
}

// found measures how often a change is found with learned spreads.
func (s *simulation) found() error {
	chain := deploygen.Scene{Family: deploygen.FamilySmallServices, Structure: deploygen.Chain(5), HostSD: 0.06, InstanceSD: 0.015}
	leaf := func(percent float64, base, head int) deploygen.Scene {
		c := chain
		c.Change, c.Base, c.Head = deploygen.Change{Where: deploygen.Leaf, Factor: 1 + percent/100}, base, head
		return c
	}
	rare := func(p, factor float64) deploygen.Scene { // 3,000 head records
		c := leaf(0, 3, 3)
		c.Change = deploygen.Change{Where: deploygen.Nothing, Factor: 1}
		c.Records, c.Disturbance.Rare = 1000, deploygen.Rare{P: p, Factor: factor}
		return c
	}
	all := func(factor float64, base, head int) deploygen.Scene {
		c := leaf(0, base, head)
		c.Change = deploygen.Change{Where: deploygen.All, Factor: factor}
		return c
	}
	service := func(j *families.Judged) bool { return j.Service.State == evidence.Regressed }
	for _, c := range []struct {
		name  string
		scene deploygen.Scene
		goal  float64
		is    func(*families.Judged) bool
	}{
		{"leaf of a chain of 5 +128%, 1+1", leaf(128, 1, 1), 80, families.Raised},
		{"leaf of a chain of 5 +50%, 3+3", leaf(50, 3, 3), 90, families.Raised},
		{"leaf of a chain of 5 +20%, 36+4", leaf(20, 36, 4), 85, families.Raised},
		{"1% of calls x100, 3+3, 3,000 records", rare(0.01, 100), 90, families.Raised},
		{"0.3% of calls x400, 3+3, 3,000 records", rare(0.003, 400), sim.None, families.Raised},
		{"all methods +20%, 36+4, whole service", all(1.2, 36, 4), sim.None, service},
		{"all methods x10, 1+1, whole service", all(10, 1, 1), sim.None, service},
		{"all methods x10, 3+3, an alert", all(10, 3, 3), 100, func(j *families.Judged) bool { return len(j.Alerts) > 0 }},
		{"all methods x10, 1+1, exit status is not 0", all(10, 1, 1), 100, func(j *families.Judged) bool { return !j.Silent() }},
	} {
		found, err := families.Found(c.scene, seed, 8*s.deployments, c.is)
		if err != nil {
			return err
		}
		s.table.Higher(fmt.Sprintf("%s (%d of %d)", c.name, found.Are, found.Of), found.Percent(), "% found", c.goal)
	}
	return nil
}

// early scores the verdicts of evaluations after every minute, while records still arrive.
func (s *simulation) early() error {
	independent := deploygen.Independent()
	with := func(is func(*deploygen.Scene) bool) []deploygen.Scene {
		return slices.DeleteFunc(slices.Clone(independent), func(s deploygen.Scene) bool { return !is(&s) })
	}
	for _, c := range []struct {
		name string
		list []deploygen.Scene
		each int
	}{
		{"small services", deploygen.SmallServices(), 6},
		{"independent", independent, 6},
		{"cold tie", with(func(s *deploygen.Scene) bool { return s.Disturbance.ColdCache && s.Disturbance.Tie }), 2},
		{"cold cache", with(func(s *deploygen.Scene) bool { return s.Disturbance.ColdCache && !s.Disturbance.Tie }), 2},
		{"neighbor", with(func(s *deploygen.Scene) bool { return s.Disturbance.Neighbor }), 2},
		{"canary", with(func(s *deploygen.Scene) bool { return s.Head == 1 }), 2},
	} {
		n := c.each * s.deployments
		e, err := families.CountEarly(deploygen.Pick(c.list, n, seed), seed, s.told("every minute, "+c.name, n))
		if err != nil {
			return err
		}
		name := "every minute, " + c.name
		for _, f := range []struct {
			what  string
			share families.Share
			goal  float64
		}{{"reported", e.Reported, 0.3}, {"false in any evaluation", e.False, sim.None}} {
			s.table.Lower(fmt.Sprintf("%s: %s (%d of %d unchanged methods, 95%% bound %.2f)", name, f.what, f.share.Are, f.share.Of, f.share.Upper()), 10*f.share.Percent(), "per 1000 methods and deployment", f.goal)
		}
		s.table.Lower(fmt.Sprintf("%s: nothing changed, whole service reported (%d of %d)", name, e.Service.Are, e.Service.Of), e.Service.Percent(), "% of deployments", sim.None)
		s.table.Lower(fmt.Sprintf("%s: more calls reported (%d of %d)", name, e.Calls.Are, e.Calls.Of), e.Calls.Percent(), "% of deployments", sim.None)
		s.table.Lower(fmt.Sprintf("%s: reported, and not by a later evaluation (%d of %d changed methods)", name, e.Lost.Are, e.Lost.Of), e.Lost.Percent(), "%", sim.None)
	}
	return nil
}

// delays measures the delay until a change is reported.
func (s *simulation) delays() error {
	n := (s.deployments + 1) / 2
	for _, structure := range []deploygen.Structure{deploygen.Chain(5), deploygen.Tree(12)} {
		for _, processes := range []int{3, 8} {
			for _, disturbance := range []deploygen.Disturbance{{}, {ColdCache: true}} {
				var delays []float64
				for _, records := range []int{400, 2000} {
					found, err := families.Delays(deploygen.Scene{
						Family: deploygen.FamilyIndependent, Structure: structure, Change: deploygen.Change{Where: deploygen.Leaf, Factor: 1.5},
						Base: processes, Head: processes, HostSD: 0.06, InstanceSD: 0.015, Disturbance: disturbance, Records: records,
					}, seed, n, s.told("+50%, every minute", n))
					if err != nil {
						return err
					}
					delays = append(delays, found...)
				}
				slices.Sort(delays)
				name := fmt.Sprintf("leaf of %v +50%%, %d+%d, %v, from 300 records after warm-up", structure, processes, processes, disturbance)
				soon, _ := slices.BinarySearch(delays, 5)
				s.table.Lower(name+": median", delays[len(delays)/2], "minutes", 5)
				s.table.Higher(fmt.Sprintf("%s: within 5 minutes (%d of %d)", name, soon, len(delays)), share(soon, len(delays)), "%", 50)
			}
		}
	}
	return nil
}
