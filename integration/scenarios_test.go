package integration

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/corehour/corehour/integration/harness"
)

// planted is a service of program/scenarios: the change of its version 2, where and when the
// versions run, and the expected verdicts.
type planted struct {
	scenario  string
	raised    []string           // kind and method of the alerts
	states    map[string]string  // states of the methods that are not healthy
	changes   map[string]float64 // planted change of a method's own cost, in percent
	inclusive map[string]float64 // planted change including all callees, in percent
	mix       map[string]float64
	args      []string // further flags of regress
	instances int      // number of instances of each version; 0 is the default
	run       func(version string, instance int) []string
}

const (
	usualInstances = 3
	mostInstances  = 6
)

func (c *planted) count() int { return cmp.Or(c.instances, usualInstances) }

var plantedChanges = []planted{
	{scenario: "steady"},
	{
		scenario: "slower", raised: []string{"regression price"},
		states:  map[string]string{"price": "regressed", "order": "explained", "look": "explained"},
		changes: map[string]float64{"price": 50},
	},
	{
		// Callers become 4% slower, which can be significant or not.
		scenario: "slightly", raised: []string{"regression price"}, instances: mostInstances,
		states:  map[string]string{"price": "regressed", "order": "explained or not_proven", "look": "explained or not_proven"},
		changes: map[string]float64{"price": 10},
	},
	{scenario: "mix", mix: map[string]float64{"price": 50}},
	{
		scenario: "moved", states: map[string]string{"print": "moved"},
		changes: map[string]float64{"print": 600, "stock": -86},
	},
	{
		scenario: "oftener", raised: []string{"more_calls stock"},
		states:    map[string]string{"order": "explained"},
		inclusive: map[string]float64{"order": 53},
	},
	{scenario: "rates"},
	{scenario: "whole", raised: []string{"whole_service "}, states: everyMethod("with_whole_service")},
	{scenario: "cold", args: []string{"--warm-up", "3s"}},
	{
		scenario: "host", // one of the hosts of version 2 is slow
		run: func(version string, instance int) []string {
			if version == "2" && instance == 0 {
				return []string{"--slow", "1.5"}
			}
			return nil
		},
	},
	{
		// Both versions have the incident. It is a larger part of the time for which version 2 ran.
		scenario: "incident", changes: map[string]float64{"price": 0},
		run: func(version string, _ int) []string {
			return []string{"--duration", map[string]string{"1": "16s", "2": "8s"}[version]}
		},
	},
}

func everyMethod(state string) map[string]string {
	states := map[string]string{}
	for _, m := range []string{"order", "look", "price", "stock", "print", "pay", "search", "render"} {
		states[m] = state
	}
	return states
}

// manyPrograms allows many rows to be written at once.
const manyPrograms = `
exporters:
  warehouse:
    sending_queue: {queue_size: 1000000, batch: {min_size: 50000, flush_timeout: 1s}}
`

// TestRegress_PlantedChanges proves verdicts by evidence on real processes: services that run in
// two versions at the same time, with one known change between them or none. The change is raised
// with the right kind and nothing else is raised; a rollback resolves the alert. It runs alone.
// Services with a wrong verdict run again, with their own warehouse.
func TestRegress_PlantedChanges(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	half := len(plantedChanges) / 2
	first, second := plantedChanges[:half], plantedChanges[half:]
	rollBack := true
	withRetries(t, func() faults {
		f := playScenarios(t, first, second, rollBack)
		wrong := func(all []planted) (left []planted) {
			for _, c := range all {
				if f[c.scenario] != nil {
					left = append(left, c)
				}
			}
			return left
		}
		first, second, rollBack = wrong(first), wrong(second), f[rolledBack.scenario] != nil
		return f
	})
}

// playScenarios runs the first and then the second scenarios. The service that is rolled back runs
// during both.
func playScenarios(t *testing.T, first, second []planted, rollBack bool) faults {
	f := faults{}
	p := startPipeline(t, manyPrograms)
	var h *hook
	if rollBack {
		h = newHook(t)
	}
	if rollBack || len(first) > 0 {
		s := newStage(p.Endpoint())
		if rollBack {
			s.start(t, "1", rolledBack)
		}
		s.start(t, "1", first...)
		s.start(t, "2", first...)
		if rollBack {
			s.start(t, "2", rolledBack)
		}
		s.wait(t)
		p.stop(t)
		s.judge(t, f, p, first)
		if rollBack {
			s.evaluateRollback(t, f, p, h, "1", "2", slowdownFiring)
		}
		p.start(t)
	}
	if rollBack || len(second) > 0 {
		s := newStage(p.Endpoint())
		if rollBack {
			s.start(t, "1", rolledBack)
		}
		s.start(t, "1", second...)
		s.start(t, "2", second...)
		s.wait(t)
		p.stop(t)
		s.judge(t, f, p, second)
		if rollBack {
			s.evaluateRollback(t, f, p, h, "2", "1", slowdownFiring, rollBackResolved)
		}
	}
	return f
}

// judge compares the verdict on a scenario with the planted change.
func (c *planted) judge(t *testing.T, f faults, p *pipeline) {
	args := []string{"--service", c.scenario, "--base", "1", "--head", "2", "--metric", "cpu", "--slot", "1s", "--warm-up", "0s"}
	found, err := p.command.Regress(t.Context(), append(args, c.args...)...)
	if err != nil {
		t.Fatal(err)
	}
	raised := []string{}
	for _, a := range found.Alerts {
		raised = append(raised, a.Kind+" "+a.Method)
		t.Logf("%s: alert: %s %s %+.1f%%", c.scenario, a.Kind, a.Method, a.ChangePercent)
	}
	if !slices.Equal(raised, c.raised) {
		f.addf(c.scenario, "raised are %q, want %q", raised, c.raised)
	}
	if len(found.Comparisons) != 1 || len(found.Comparisons[0].Methods) != 8 {
		f.addf(c.scenario, "8 methods of one service are to be compared: %s", found.Output)
		return
	}
	if clusters, want := found.Comparisons[0].Clusters, fmt.Sprintf("%d and %d processes", c.count(), c.count()); !strings.Contains(clusters, want) {
		f.addf(c.scenario, "compared are %s, want %s; %q", clusters, want, found.Comparisons[0].Warnings)
	}
	for _, m := range found.Comparisons[0].Methods {
		c.judgeMethod(t, f, m)
	}
}

// differsFromPlanted reports whether a change is not the planted one; both are in percent.
func differsFromPlanted(percent, planted float64) bool {
	return math.Abs(math.Log((100+percent)/(100+planted))) > 0.12
}

func (c *planted) judgeMethod(t *testing.T, f faults, m harness.Verdict) {
	if m.ChangePercent == nil || m.MixPercent == nil {
		f.addf(c.scenario, "%s was not judged: %s, %s", m.Method, m.State, m.Reason)
		return
	}
	t.Logf("%s: %-6s %-10s %+6.1f%%, mix %+.1f%%, %d and %d records: %s",
		c.scenario, m.Method, m.State, *m.ChangePercent, *m.MixPercent, m.BaseRecords, m.HeadRecords, m.Reason)
	want := "not_proven"
	if state, unhealthy := c.states[m.Method]; unhealthy {
		want = state
	}
	if !slices.Contains(strings.Split(want, " or "), m.State) {
		f.addf(c.scenario, "%s is %s, want %s", m.Method, m.State, want)
	}
	if percent, ok := c.changes[m.Method]; ok && differsFromPlanted(*m.ChangePercent, percent) {
		f.addf(c.scenario, "%s changed by %+.1f%%, planted were %+.0f%%", m.Method, *m.ChangePercent, percent)
	}
	if percent, ok := c.inclusive[m.Method]; ok && m.Inclusive == nil {
		f.addf(c.scenario, "%s with all it calls has no change, planted were %+.0f%%", m.Method, percent)
	} else if ok && differsFromPlanted(m.Inclusive.Percent, percent) {
		f.addf(c.scenario, "%s with all it calls changed by %+.1f%%, planted were %+.0f%%", m.Method, m.Inclusive.Percent, percent)
	}
	if percent := c.mix[m.Method]; math.Abs(*m.MixPercent-percent) > 12 {
		f.addf(c.scenario, "%+.1f%% of the change of %s are because of who calls, planted were %+.0f%%", *m.MixPercent, m.Method, percent)
	}
}
