//go:build !race

package families

import (
	"slices"
	"testing"
	"time"

	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/test/deploygen"
)

// announced counts how often the announced data were enough, and collects the ratios of announced and needed data.
type announced struct {
	enough Share
	ratios []float64
}

func (a *announced) add(promised, needed float64) {
	a.enough.count(promised >= needed)
	a.ratios = append(a.ratios, promised/needed)
}

func (a *announced) median() float64 {
	if len(a.ratios) == 0 {
		return 0
	}
	slices.Sort(a.ratios)
	return a.ratios[len(a.ratios)/2]
}

// The minutes that a verdict announces are enough in 80% of the deployments, and not more than four times the needed ones in
// the median.
func TestNeeded_MinutesAreEnough(t *testing.T) {
	deployments := 3
	if !testing.Short() {
		deployments = 30
	}
	const every = 10 // minutes
	var all announced
	for _, of := range []struct {
		factor              float64
		base, head, records int
	}{{1.5, 3, 3, 300}, {1.5, 8, 8, 150}, {1.2, 8, 8, 400}, {1.2, 36, 4, 400}, {2.28, 1, 1, 400}} {
		scene := chain(deploygen.Change{Where: deploygen.Leaf, Factor: of.factor}, of.base, of.head)
		scene.Duration, scene.Records = 2*time.Hour, of.records
		var of announced
		for i := range deployments {
			spreads, err := spreads(scene, seed+uint64(i), i%2 == 1)
			if err != nil {
				t.Fatal(err)
			}
			drawn := deploygen.Draw(scene, seed+uint64(i))
			leaf := slices.IndexFunc(drawn.Methods, func(m deploygen.Method) bool { return !m.Unchanged })
			d, memory, promised := Deployment(drawn), evidence.Memory{}, map[int]float64{}
			d.Spreads = spreads
			found := 0
			for d.Buckets = 1; d.Buckets <= drawn.Minutes() && found == 0; d.Buckets++ {
				r, next, err := evidence.Evaluate(d, evidence.Defaults(), memory)
				if err != nil {
					t.Fatal(err)
				}
				memory = next
				switch v := &r.Methods[leaf]; {
				case v.State == evidence.Regressed:
					found = d.Buckets
				case d.Buckets%every == 0 && (v.State == evidence.NotProven || v.State == evidence.Undecided) && v.Needed != nil && v.Needed.Minutes > 0:
					promised[d.Buckets] = v.Needed.Minutes
				}
			}
			for at, minutes := range promised {
				switch {
				case found > 0:
					of.add(minutes, float64(found-at))
				case float64(at)+minutes < float64(drawn.Minutes()): // not found in time
					of.enough.count(false)
				}
			}
		}
		t.Logf("%s: %+v enough, median ratio %.2f", scene.Name(), of.enough, of.median())
		all.enough.Are, all.enough.Of = all.enough.Are+of.enough.Are, all.enough.Of+of.enough.Of
		all.ratios = append(all.ratios, of.ratios...)
	}
	t.Logf("%+v enough, median ratio %.2f", all.enough, all.median())
	if all.enough.Of < 5*deployments || all.enough.Percent() < 80 || all.median() > 4 {
		t.Errorf("%+v enough, median ratio %.2f", all.enough, all.median())
	}
}

// The processes that a verdict announces are enough in 80% of the deployments, and not more than four times the needed ones in
// the median.
func TestNeeded_ProcessesAreEnough(t *testing.T) {
	deployments := 20
	if !testing.Short() {
		deployments = 60
	}
	var all announced
	for _, scene := range []deploygen.Scene{
		chain(deploygen.Change{Where: deploygen.Leaf, Factor: 1.5}, 1, 1), chain(deploygen.Change{Where: deploygen.Leaf, Factor: 1.3}, 3, 1),
		chain(deploygen.Change{Where: deploygen.Leaf, Factor: 1.2}, 3, 3),
	} {
		scene.HostSD = 0.1
		scene.Structure = deploygen.Chain(2) // too few methods to know the hosts by
		for i := range deployments {
			found := func(base, head int) (*evidence.Verdict, error) {
				s := scene
				s.Base, s.Head = base, head
				j, err := draw(s, seed+uint64(i), i%2 == 1)
				if err != nil {
					return nil, err
				}
				leaf := slices.IndexFunc(j.Methods, func(o Outcome) bool { return !o.Truth.Unchanged })
				return &j.Methods[leaf].Verdict, nil
			}
			now, err := found(scene.Base, scene.Head)
			if err != nil {
				t.Fatal(err)
			}
			if now.Needed == nil || now.Needed.Processes == 0 {
				continue
			}
			needed := 0
			for _, n := range []int{2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96} {
				v, err := found(max(scene.Base, n), max(scene.Head, n))
				if err != nil {
					t.Fatal(err)
				}
				if v.State == evidence.Regressed {
					needed = n
					break
				}
			}
			if needed > 0 {
				all.add(float64(now.Needed.Processes), float64(needed))
			} else {
				all.enough.count(false)
			}
		}
	}
	t.Logf("%+v enough, median ratio %.2f", all.enough, all.median())
	if all.enough.Of < deployments || all.enough.Percent() < 80 || all.median() > 4 {
		t.Errorf("%+v enough, median ratio %.2f", all.enough, all.median())
	}
}

// With many processes and few records a verdict names records and minutes; with two processes and many records, processes.
func TestNeeded_NamesTheLimit(t *testing.T) {
	of := func(base, head, records, methods int, factor float64) *evidence.Verdict {
		s := chain(deploygen.Change{Where: deploygen.Leaf, Factor: factor}, base, head)
		s.Structure, s.Records, s.HostSD = deploygen.Chain(methods), records, 0.1
		j, err := draw(s, seed, false)
		if err != nil {
			t.Fatal(err)
		}
		leaf := slices.IndexFunc(j.Methods, func(o Outcome) bool { return !o.Truth.Unchanged })
		return &j.Methods[leaf].Verdict
	}
	if v := of(50, 50, 2, 5, 1.5); v.Needed == nil || v.Needed.Minutes <= 0 || v.Needed.Records <= v.HeadRecords || v.Needed.Processes > 0 && v.Needed.Processes < 100 {
		t.Errorf("50+50 processes, %d records: %s, %+v", v.HeadRecords, v.State, v.Needed)
	}
	if v := of(2, 2, 4000, 1, 1.5); v.Needed == nil || v.Needed.Minutes > 0 || v.Needed.Processes < 2 {
		t.Errorf("2+2 processes, %d records: %s, %+v", v.HeadRecords, v.State, v.Needed)
	}
	if v := of(3, 3, 5, 5, 1.5); v.State != evidence.FewRecords || v.Needed.Records != 30 || v.Needed.Minutes < 20 || v.Needed.Minutes > 90 {
		t.Errorf("%d records in 30 minutes: %s, %+v", v.HeadRecords, v.State, v.Needed)
	}
}
