//go:build !race

package families

import (
	"math"
	"reflect"
	"testing"

	"github.com/corehour/corehour/test/deploygen"
)

const seed = 7

// A short form of the tables of make sim: no unchanged method is reported, no sign is wrong and intervals cover.
func TestFamilies_MeetGoals(t *testing.T) {
	for name, family := range map[string][]deploygen.Scene{"small services": deploygen.SmallServices(), "independent": deploygen.Independent()} {
		s, err := Count(deploygen.Pick(family, 40, seed), seed, nil)
		if err != nil {
			t.Fatal(err)
		}
		if s.False.Of < 100 || s.False.Are > 0 || s.WrongSign.Are > 0 {
			t.Errorf("%s: false %+v, wrong sign %+v", name, s.False, s.WrongSign)
		}
		if s.CoveredBroken.Of < 50 || s.CoveredBroken.Percent() < 90 || s.Measured.Percent() < 90 || s.Covered.Of > 0 && s.Covered.Percent() < 90 {
			t.Errorf("%s: covered %+v, where the model is broken %+v, measured %+v", name, s.Covered, s.CoveredBroken, s.Measured)
		}
	}
}

func chain(change deploygen.Change, base, head int) deploygen.Scene {
	return deploygen.Scene{
		Family: deploygen.FamilySmallServices, Structure: deploygen.Chain(5), Change: change, Base: base, Head: head, HostSD: 0.06, InstanceSD: 0.015,
	}
}

func TestFamilies_FindChanges(t *testing.T) {
	rare := chain(deploygen.Change{Where: deploygen.Nothing, Factor: 1}, 3, 3)
	rare.Records, rare.Disturbance.Rare = 1000, deploygen.Rare{P: 0.01, Factor: 100}
	for name, c := range map[string]struct {
		scene deploygen.Scene
		is    func(*Judged) bool
		least int // minimum out of 12
	}{
		"leaf +128%, 1+1":           {chain(deploygen.Change{Where: deploygen.Leaf, Factor: 2.28}, 1, 1), Raised, 9},
		"leaf +50%, 3+3":            {chain(deploygen.Change{Where: deploygen.Leaf, Factor: 1.5}, 3, 3), Raised, 10},
		"1% of calls x100":          {rare, Raised, 8},
		"all x10, 3+3":              {chain(deploygen.Change{Where: deploygen.All, Factor: 10}, 3, 3), func(j *Judged) bool { return len(j.Alerts) > 0 }, 12},
		"all x10, 1+1, not silent":  {chain(deploygen.Change{Where: deploygen.All, Factor: 10}, 1, 1), func(j *Judged) bool { return !j.Silent() }, 12},
		"nothing changed is silent": {chain(deploygen.Change{Where: deploygen.Nothing, Factor: 1}, 3, 3), (*Judged).Silent, 12},
	} {
		found, err := Found(c.scene, seed, 12, c.is)
		if err != nil {
			t.Fatal(err)
		}
		if found.Are < c.least {
			t.Errorf("%s: %d of 12, want %d", name, found.Are, c.least)
		}
	}
}

// With an evaluation after every minute, +50% is reported within 5 minutes of the 300th record in the median.
// Nothing else is reported.
func TestFamilies_EvaluatedEveryMinute(t *testing.T) {
	for name, disturbance := range map[string]deploygen.Disturbance{"undisturbed": {}, "cold cache": {ColdCache: true}} {
		leaf := chain(deploygen.Change{Where: deploygen.Leaf, Factor: 1.5}, 3, 3)
		leaf.Disturbance = disturbance
		delays, err := Delays(leaf, seed, 5, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(delays) < 5 || delays[len(delays)/2] > 5 {
			t.Errorf("%s: reported after %v minutes", name, delays)
		}
		nothing := leaf
		nothing.Change = deploygen.Change{Where: deploygen.Nothing, Factor: 1}
		early, err := CountEarly([]deploygen.Scene{nothing, leaf}, seed, nil)
		if err != nil {
			t.Fatal(err)
		}
		if early.False != (Share{Of: 9}) || early.Service != (Share{Of: 1}) || early.Calls != (Share{Of: 2}) {
			t.Errorf("%s: %+v", name, early)
		}
	}
}

// A change without a report has an infinite delay. A change with too few records has no delay.
func TestDelay_ChangeNotReported(t *testing.T) {
	s := chain(deploygen.Change{Where: deploygen.Leaf, Factor: 1.03}, 3, 3)
	delays, err := Delays(s, seed, 1, nil)
	if err != nil || len(delays) != 1 || !math.IsInf(delays[0], 1) {
		t.Errorf("+3%%: %v, %v", delays, err)
	}
	s.Records = 50
	if delays, err = Delays(s, seed, 1, nil); err != nil || len(delays) != 0 {
		t.Errorf("150 records: %v, %v", delays, err)
	}
}

// The same deployments give the same counts on any number of processors.
func TestFamilies_RepeatableOnAnyProcessors(t *testing.T) {
	list := deploygen.Pick(deploygen.SmallServices(), 6, seed)
	a, err := Count(list, seed, nil)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := Count(list, seed, nil); err != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("%+v and %+v, %v", a, b, err)
	}
}

func TestShare_UpperBound(t *testing.T) {
	if got := (Share{Of: 1000}).Upper(); got < 2.9 || got > 3.1 { // the rule of three
		t.Errorf("0 of 1000: at most %v per 1,000", got)
	}
}
