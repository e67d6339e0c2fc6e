package integration

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/integration/harness"
)

// stage runs programs of scenarios at the same time.
type stage struct {
	env      []string
	begin    time.Time
	incident time.Time                     // the same for all scenarios
	running  map[string][]*harness.Process // by scenario
}

func newStage(endpoint string) *stage {
	now := time.Now()
	return &stage{
		env:   []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + endpoint},
		begin: now, incident: now.Add(5 * time.Second),
		running: map[string][]*harness.Process{},
	}
}

// start starts all instances of a version of some scenarios: the first of each, then the second of
// each.
func (s *stage) start(t *testing.T, version string, all ...planted) {
	t.Helper()
	for instance := range mostInstances {
		for _, c := range all {
			if instance >= c.count() {
				continue
			}
			name := fmt.Sprintf("%s-%s-%d", c.scenario, version, instance)
			args := []string{"--scenario", c.scenario, "--version", version, "--instance", name, "--incident", s.incident.UTC().Format(time.RFC3339Nano)}
			if c.run != nil {
				args = append(args, c.run(version, instance)...)
			}
			s.running[c.scenario] = append(s.running[c.scenario], startProgramWith(t, s.env, name, programs.scenarios, args...))
		}
	}
}

func (s *stage) wait(t *testing.T) {
	t.Helper()
	n, cpu := 0, time.Duration(0)
	for _, processes := range s.running {
		for _, process := range processes {
			waitFor(t, process)
			n, cpu = n+1, cpu+process.CPU()
		}
	}
	t.Logf("%d programs took %s of CPU in %s", n, cpu.Round(time.Millisecond), time.Since(s.begin).Round(time.Millisecond))
}

func (s *stage) judge(t *testing.T, f faults, p *pipeline, all []planted) {
	for _, c := range all {
		if s.hasCPUTimes(t, f, c) {
			c.judge(t, f, p)
		}
	}
}

// hasCPUTimes reports whether the CPU of a scenario's programs was timed to the end. Where the
// machine stands still for long, the SDK stops timing the CPU of a method.
func (s *stage) hasCPUTimes(t *testing.T, f faults, c planted) bool {
	t.Helper()
	for _, process := range s.running[c.scenario] {
		log, err := os.ReadFile(process.Log)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(log), "timed by the wall only") {
			f.addf(c.scenario, "the SDK gave up timing CPU: %s", process.LastLines(3))
			return false
		}
	}
	return true
}
