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

// The calibrated costs are of the order of what a timed call costs; in the end that
// of CPU, which reads two more clocks, is the higher one.
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

// What the probe adds to an empty call's time is what it says that it adds, whether the
// call's CPU is timed or not, and no reading of the thread's clock is in it. A host may give
// its processors to others meanwhile: then another round has to show it.
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

// The time of a short method is the same whether it is timed often or seldom, with the
// probe's part taken off, on an idle host and next to others that use its processors:
// between two timed calls the caches forget the probe. It is of rounds in turn, since
// the machine's speed changes, and the median of tries. Next to others it takes some of their
// turns, in which every call may follow one of theirs; then a round with others has to show it.
func TestTimes_IndependentOfRate(t *testing.T) {
	if raceEnabled {
		return // its part of the probe is cold, too, and many times as large
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

// dependence says how the time of a method depends on its rate, "" if it does not.
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
