//go:build !race

package families

import (
	"testing"

	"github.com/corehour/corehour/test/deploygen"
)

// minutes are the scenes that are evaluated after every minute.
func minutes(change deploygen.Change, d deploygen.Disturbance) (list []deploygen.Scene) {
	for _, structure := range []deploygen.Structure{deploygen.Chain(5), deploygen.Tree(12)} {
		for _, processes := range [][2]int{{3, 3}, {8, 8}, {6, 2}} {
			list = append(list, deploygen.Scene{
				Family: deploygen.FamilyIndependent, Structure: structure, Change: change, Base: processes[0], Head: processes[1],
				HostSD: 0.06, InstanceSD: 0.015, Disturbance: d,
			})
		}
	}
	return list
}

// watchMinutes watches deployments of the scenes: a few of them with -short, else at least 500.
func watchMinutes(t *testing.T, list []deploygen.Scene) Early {
	t.Helper()
	deployments := 12
	if !testing.Short() {
		deployments = 504
	}
	e, err := CountEarly(deploygen.Pick(list, deployments, seed), seed, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", e)
	return e
}

// Without a change neither a method nor the whole service is raised by any of 30 evaluations.
func TestMinutes_NothingRaised(t *testing.T) {
	for name, d := range map[string]deploygen.Disturbance{"undisturbed": {}, "autocorrelated": {AR: 0.7}, "dips": {Dips: true}} {
		if e := watchMinutes(t, minutes(deploygen.Change{Where: deploygen.Nothing, Factor: 1}, d)); 1000*e.Service.Are > e.Service.Of || 1000*e.Reported.Are > e.Reported.Of {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// A raised method stays raised, because its change stays.
func TestMinutes_AlertsStay(t *testing.T) {
	for _, change := range []deploygen.Change{{Where: deploygen.Leaf, Factor: 1.2}, {Where: deploygen.Two, Factor: 1.5}} {
		if e := watchMinutes(t, minutes(change, deploygen.Disturbance{})); e.Lost.Of < 6 || 50*e.Lost.Are > e.Lost.Of {
			t.Errorf("%v: %+v", change, e)
		}
	}
}
