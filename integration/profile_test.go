package integration

import (
	"bufio"
	"bytes"
	"math"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// profilePeriod is the time that one sample of the runtime's CPU profile stands
// for, at its 100 samples per second of CPU.
const profilePeriod = 10 * time.Millisecond

// TestCPUAgreesWithTheRuntimesProfile proves that the CPU time which corehour
// estimates from sampled calls is the one that the runtime's own profiler finds
// in the same process and the same seconds, method by method, within what both
// say of their uncertainty.
func TestCPUAgreesWithTheRuntimesProfile(t *testing.T) {
	p := startPipeline(t, quickWarehouse)
	profile := filepath.Join(t.TempDir(), "cpu.pprof")
	shop := startProgramWith(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + p.Endpoint()}, "shop", programs.shop,
		"--rate", "4000", "--workers", "6", "--duration", "12s", "--cpu-profile", profile)
	waitFor(t, shop)
	p.stop(t)

	profiled, total := profiledCPU(t, programs.shop, profile)
	// On a busy machine the kernel's timers fire late and the profile misses some
	// of the time, wherever it is spent: the process's own CPU time tells how much.
	scale := float64(shop.CPU()) / float64(total)
	t.Logf("the process took %s of CPU, the profile has %s of it", shop.CPU(), total)
	costs, err := p.command.Cost(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, m := range costs.Methods {
		if m.InclusiveCoreHours == nil || m.SelfCoreHoursSE == nil {
			continue // Charge waits and has no CPU time
		}
		name := m.Class + "." + m.Method
		samples, ok := profiled[name]
		if !ok {
			t.Errorf("the profile has no %s", name)
			continue
		}
		theirs := time.Duration(scale * float64(samples))
		ours := time.Duration(*m.InclusiveCoreHours * float64(time.Hour))
		// A sample falls into the method or not: its number varies like a
		// Poisson number at most. What does not shrink with more samples is the
		// reading of the clock, which a short method has inside.
		ourError := *m.SelfCoreHoursSE * float64(time.Hour)
		theirError := scale * math.Sqrt(float64(samples)*float64(profilePeriod))
		margin := 3*math.Hypot(ourError, theirError) + 0.05*float64(theirs)
		difference := float64(ours - theirs)
		t.Logf("%-28s corehour %8.3fs ± %.3f, profile %8.3fs ± %.3f: %+.1f%%", name, ours.Seconds(), ourError/1e9,
			theirs.Seconds(), theirError/1e9, 100*difference/float64(theirs))
		if samples < 50*profilePeriod {
			continue // a handful of samples proves nothing
		}
		compared++
		if math.Abs(difference) > margin {
			t.Errorf("%s: corehour says %s, the profile %s, which is more than %s apart", name, ours, theirs, time.Duration(margin))
		}
	}
	if compared < 4 {
		t.Errorf("only %d methods have enough samples to be compared", compared)
	}
}

// profiledCPU is the CPU time of each method with all that it calls, and of all.
func profiledCPU(t *testing.T, binary, profile string) (found map[string]time.Duration, total time.Duration) {
	t.Helper()
	out, err := exec.Command("go", "tool", "pprof", "-top", "-cum", "-nodefraction=0", "-nodecount=100000", "-unit=ms", binary, profile).Output()
	if err != nil {
		t.Fatalf("go tool pprof: %v", err)
	}
	head := profileTotal.FindSubmatch(out)
	if head == nil {
		t.Fatalf("go tool pprof says no total: %.200s", out)
	}
	milliseconds := func(text string) time.Duration {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return time.Duration(n * float64(time.Millisecond))
	}
	found = map[string]time.Duration{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		match := profileLine.FindStringSubmatch(lines.Text())
		if match == nil {
			continue
		}
		name := receiver.Replace(strings.TrimSuffix(match[2], " (inline)"))
		found[name] = milliseconds(match[1])
	}
	return found, milliseconds(string(head[1]))
}

// receiver makes corehour's class.method of the runtime's class.(*Type).Method.
var receiver = strings.NewReplacer("(*", "", ")", "")

var profileTotal = regexp.MustCompile(`Total samples = ([0-9.]+)ms`)

// profileLine is flat, flat%, sum%, cum, cum%, name.
var profileLine = regexp.MustCompile(`^\s*\S+\s+\S+%\s+\S+%\s+([0-9.]+)(?:ms)?\s+\S+%\s+(.+)$`)
