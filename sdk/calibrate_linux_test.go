package corehour

import (
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/corehour/corehour/sdk/internal/cpuslots"
)

// The calibrated costs have the order of magnitude of a timed call; the cost with CPU, which reads two
// more clocks, ends up higher.
func TestCalibration(t *testing.T) {
	e := &engine{config: defaultConfig(), threadClock: true, slots: cpuslots.Of(cpuslots.Most)}
	e.probe.prepare(e)
	for range 20 {
		e.calibrate()
		wall, cpu := e.probe.wall.inLoop.Load(), e.probe.cpu.inLoop.Load()
		if wall > 100 && wall < cpu && cpu < 100_000 {
			return
		}
	}
	t.Errorf("a call timed by the wall costs %d ns, one whose CPU is timed %d ns", e.probe.wall.inLoop.Load(), e.probe.cpu.inLoop.Load())
}

// The reported cost inside an empty call equals its measured time, with and without timed CPU, and
// contains no reading of the thread's clock. A host can give its processors to others during a round;
// then another round must pass.
func TestCalibration_EmptyCallMatchesProbe(t *testing.T) {
	e, _ := startWith(t, func(*config) {})
	median := func(s settings) (cpu, wall int64) {
		force(e, truth, s)
		var cpus, walls []int64
		for range 3001 {
			truth.Begin().End()
			r := e.ring.Dequeue(nil, 1)
			if len(r) != 1 || r[0].cpu > r[0].wall {
				t.Fatalf("records %+v", r)
			}
			cpus, walls = append(cpus, r[0].cpu), append(walls, r[0].wall)
		}
		slices.Sort(cpus)
		slices.Sort(walls)
		return cpus[len(cpus)/2], walls[len(walls)/2]
	}
	var found []string
	for range 10 {
		e.probe.inside = costSamples{}
		cpu, wall := median(settings{rate: 1, cpuRate: 1})
		_, plain := median(settings{rate: 1})
		inside, spread, enough := e.probe.inside.stats()
		cost, _ := e.probe.cpu.stats(inside)
		if !enough {
			t.Fatal("no probe was measured in place")
		}
		if inside > 5 && cpu <= wall && max(wall, plain) < 2*inside+10 && 2*max(wall, plain)+10 > inside && cost > 4*inside {
			return
		}
		found = append(found, fmt.Sprintf("%d ns of CPU, %d ns of wall time with CPU timed, %d ns without; the probe says %d±%d ns, and %d in all", cpu, wall, plain, inside, spread, cost))
	}
	t.Errorf("an empty call takes\n%s", strings.Join(found, "\n"))
}

// The time of a short method, less the probe's part, does not depend on its rate, on an idle host and
// next to busy programs: between two timed calls the caches lose the probe. Rounds alternate, because the
// speed of the machine changes, and the median of several tries counts. Next to busy programs every call
// of a round can follow one of theirs; then another round must pass.
func TestTimes_IndependentOfRate(t *testing.T) {
	if raceEnabled {
		return // the probe's part is cold, too, and many times larger
	}
	t.Run("idle", func(t *testing.T) {
		e, _ := startWith(t, func(*config) {})
		if found := dependence(t, e); found != "" {
			t.Error(found)
		}
	})
	t.Run("busy", func(t *testing.T) {
		e, _ := startWith(t, func(*config) {})
		var found string
		for range 5 {
			if found = dependenceNextToOthers(t, e); found == "" {
				return
			}
			t.Log(found)
		}
		t.Error("so it was next to others five times")
	})
}

func dependenceNextToOthers(t *testing.T, e *engine) string {
	for range runtime.NumCPU() + 1 {
		neighbour := exec.Command("sh", "-c", "while :; do :; done")
		if err := neighbour.Start(); err != nil {
			t.Fatal(err)
		}
		defer neighbour.Wait()
		defer neighbour.Process.Kill()
	}
	return dependence(t, e)
}

// dependence describes how the time of a method depends on its rate, or returns "".
func dependence(t *testing.T, e *engine) string {
	const iterations = 1000
	x := uint64(1)
	call := func() {
		c := truth.Begin()
		for range iterations {
			x = x*6364136223846793005 + 1442695040888963407
		}
		c.End()
	}
	median := func(values []int64) float64 {
		slices.Sort(values)
		return float64(values[len(values)/2])
	}
	var found []string
	var ratios []float64
	for range 7 {
		var times [2][]int64
		for round := range 200 {
			for i, gap := range [2]int{20, 2000} {
				force(e, truth, settings{})
				for range gap {
					call()
				}
				force(e, truth, settings{rate: 1, cpuRate: 1})
				call()
				for _, r := range e.ring.Dequeue(nil, 1) {
					if round > 0 && r.state == cpuExact {
						times[i] = append(times[i], r.cpu)
					}
				}
			}
		}
		inside, _, _ := e.probe.inside.stats()
		often, seldom := median(times[0])-float64(inside), median(times[1])-float64(inside)
		ratios = append(ratios, seldom/often)
		found = append(found, fmt.Sprintf("%.0f ns often, %.0f ns seldom", often, seldom))
	}
	runtime.KeepAlive(x)
	slices.Sort(ratios)
	middle := ratios[len(ratios)/2]
	t.Logf("seldom timed a method takes %.3f of what it takes often timed", middle)
	if middle < 0.95 || middle > 1.05 {
		return fmt.Sprintf("goal: 0.95 to 1.05; tries:\n%s", strings.Join(found, "\n"))
	}
	return ""
}
