//go:build !race

package families

import (
	"testing"

	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/test/deploygen"
)

// healthy are the scenes of docs/background/simulation.md in which no method became more expensive, and something
// else changed.
func healthy() map[string]deploygen.Scene {
	scene := func(base, head, records int, d deploygen.Disturbance) deploygen.Scene {
		return deploygen.Scene{
			Family: deploygen.FamilyIndependent, Structure: deploygen.Tree(12), Change: deploygen.Change{Where: deploygen.Nothing, Factor: 1},
			Base: base, Head: head, HostSD: 0.06, InstanceSD: 0.015, Records: records, Disturbance: d,
		}
	}
	heavy := deploygen.Rare{P: 0.002, Factor: 1000, Both: true}
	lighter := heavy
	lighter.HeadFactor = 50
	return map[string]deploygen.Scene{
		"heavy calls":           scene(1, 1, 1300, deploygen.Disturbance{Rare: heavy}),
		"heavy calls, 3+3":      scene(3, 3, 450, deploygen.Disturbance{Rare: heavy}),
		"heavy part moved down": scene(1, 1, 1300, deploygen.Disturbance{Rare: lighter}),
		"heavy part down, 3+3":  scene(3, 3, 450, deploygen.Disturbance{Rare: lighter}),
		"cold half":             scene(3, 3, 400, deploygen.Disturbance{ColdHalf: true}),
		"cold half, many calls": scene(3, 3, 2000, deploygen.Disturbance{ColdHalf: true}),
		"lock, load x1.5":       scene(3, 3, 400, deploygen.Disturbance{Lock: true, HeadLoad: 1.5}),
		"crash loop":            scene(3, 3, 400, deploygen.Disturbance{CrashLoop: true, ColdCache: true}),
		"busy host":             scene(3, 1, 400, deploygen.Disturbance{BusyHost: true}),
		"busy host, felt":       scene(3, 1, 2000, deploygen.Disturbance{BusyHost: true, Neighbor: true}),
	}
}

// No method that did not become more expensive is raised, and no significant change has the wrong sign. Where nothing is
// significant, the interval may be above 0 although the mean fell, but not more often than its 95% allow.
func TestHealthy_NothingRaised(t *testing.T) {
	deployments := 12
	if !testing.Short() {
		deployments = 500
	}
	for name, s := range healthy() {
		var raised, wrong, missed, silent, service int
		methods := 0
		if err := each(deployments, func(i int) (*Judged, error) {
			return draw(s, seed+uint64(i), i%2 == 1)
		}, func(j *Judged) {
			for _, o := range j.Methods {
				methods++
				if o.Verdict.State == evidence.Regressed {
					raised++
				}
				if o.Truth.Own < 0 && o.Verdict.State.Judged() && o.Verdict.Basis == evidence.Own && o.Verdict.Interval[0] > 0 {
					if missed++; o.Verdict.State != evidence.NotProven {
						wrong++
					}
				}
			}
			if j.Service.State == evidence.Regressed {
				service++
			}
			if j.Silent() {
				silent++
			}
		}, nil); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d of %d methods raised, %d services, %d wrong signs, %d intervals above the truth, %d of %d deployments silent",
			name, raised, methods, service, wrong, missed, silent, deployments)
		if 1000*raised > methods || 1000*service > deployments || 1000*wrong > methods || 40*missed > methods {
			t.Errorf("%s: more than 1 of 1,000", name)
		}
	}
}
