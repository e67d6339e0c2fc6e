package integration

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/corehour/corehour/integration/harness"
)

// plantedChanges are the services of command scenarios: what version 2 changed, and
// what is to be said about it.
var plantedChanges = []struct {
	scenario string
	raised   []string           // kind and method of the alerts
	states   map[string]string  // of methods that are not healthy
	changes  map[string]float64 // of methods in percent, as planted
	mix      map[string]float64
	args     []string
}{
	{scenario: "steady"},
	{
		scenario: "slower", raised: []string{"regression price"},
		states:  map[string]string{"price": "regressed", "order": "explained", "look": "explained"},
		changes: map[string]float64{"price": 50},
	},
	{scenario: "mix", mix: map[string]float64{"price": 50}},
	{
		scenario: "moved", states: map[string]string{"print": "moved"},
		changes: map[string]float64{"print": 600, "stock": -86},
	},
	{
		scenario: "oftener", raised: []string{"more_calls stock"},
		states:  map[string]string{"order": "explained"},
		changes: map[string]float64{"order": 53},
	},
	{scenario: "rates"},
	{scenario: "whole", raised: []string{"whole_service "}},
	{scenario: "cold", args: []string{"--warm-up", "3s"}},
}

// manyPrograms have many rows to be written at once.
const manyPrograms = `
exporters:
  warehouse:
    sending_queue: {queue_size: 1000000, batch: {min_size: 50000, flush_timeout: 1s}}
`

// TestVerdictsOnPlantedChanges proves the verdicts by evidence on real executions:
// services that run in two versions at the same time, with one known change between
// them or none. What changed is raised as what it is, and nothing else is. It has the
// machine to itself.
func TestVerdictsOnPlantedChanges(t *testing.T) {
	const instances = 3 // of each version
	p := startPipeline(t, manyPrograms)
	env := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + p.Endpoint()}
	running := map[string][]*harness.Process{} // by scenario
	for i := range instances {
		for _, planted := range plantedChanges {
			for _, version := range []string{"1", "2"} {
				instance := fmt.Sprintf("%s-%s-%d", planted.scenario, version, i)
				running[planted.scenario] = append(running[planted.scenario], startProgramWith(t, env, instance, programs.scenarios,
					"--scenario", planted.scenario, "--version", version, "--instance", instance))
			}
		}
	}
	for _, processes := range running {
		for _, process := range processes {
			waitFor(t, process)
		}
	}
	p.stop(t)

	for _, planted := range plantedChanges {
		t.Run(planted.scenario, func(t *testing.T) {
			requireCPUTimes(t, running[planted.scenario])
			args := []string{"--service", planted.scenario, "--base", "1", "--head", "2", "--metric", "cpu", "--slot", "1s", "--warm-up", "0s"}
			found, err := p.command.Regress(t.Context(), append(args, planted.args...)...)
			if err != nil {
				t.Fatal(err)
			}
			raised := []string{}
			for _, a := range found.Alerts {
				raised = append(raised, a.Kind+" "+a.Method)
				t.Logf("alert: %s %s %+.1f%%", a.Kind, a.Method, a.ChangePercent)
			}
			if !slices.Equal(raised, planted.raised) {
				t.Errorf("raised are %q, want %q", raised, planted.raised)
			}
			if len(found.Comparisons) != 1 || len(found.Comparisons[0].Methods) != 8 {
				t.Fatalf("8 methods of one service are to be compared: %s", found.Output)
			}
			for _, m := range found.Comparisons[0].Methods {
				if m.ChangePercent == nil || m.MixPercent == nil {
					t.Errorf("%s was not judged: %s, %s", m.Method, m.State, m.Reason)
					continue
				}
				t.Logf("%-6s %-10s %+6.1f%%, mix %+.1f%%, %d and %d records: %s",
					m.Method, m.State, *m.ChangePercent, *m.MixPercent, m.BaseRecords, m.HeadRecords, m.Reason)
				want, unhealthy := planted.states[m.Method]
				if !unhealthy {
					want = "not_proven"
				}
				if m.State != want {
					t.Errorf("%s is %s, want %s", m.Method, m.State, want)
				}
				if percent, ok := planted.changes[m.Method]; ok && math.Abs(math.Log((100+*m.ChangePercent)/(100+percent))) > 0.12 {
					t.Errorf("%s changed by %+.1f%%, planted were %+.0f%%", m.Method, *m.ChangePercent, percent)
				}
				if percent := planted.mix[m.Method]; math.Abs(*m.MixPercent-percent) > 12 {
					t.Errorf("%+.1f%% of the change of %s are because of who calls, planted were %+.0f%%", *m.MixPercent, m.Method, percent)
				}
			}
		})
	}
}

// requireCPUTimes skips where a machine stood still for so long that the SDK gave up
// timing the CPU of a method.
func requireCPUTimes(t *testing.T, processes []*harness.Process) {
	t.Helper()
	for _, process := range processes {
		log, err := os.ReadFile(process.Log)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(log), "timed by the wall only") {
			t.Skipf("the machine is too busy: %s", process.LastLines(3))
		}
	}
}
