package integration

import (
	"bufio"
	"bytes"
	"context"
	"math"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/integration/harness"
)

// profilePeriod is the CPU time of one sample of the runtime's profile, at 100 samples per second
// of CPU.
const profilePeriod = 10 * time.Millisecond

// profiledFor is the CPU time that is profiled, however long that takes.
const profiledFor = 6 * time.Second

// twoBuckets is longer than two of the 10 s buckets of time whose differences give corehour's
// uncertainty.
const twoSlots = 12 * time.Second

// leastSamples is the number of samples of a method below which a difference proves nothing.
const leastSamples = 30

// TestEstimatedCPU_AgreesWithRuntimeProfile compares the CPU time that corehour estimates from
// sampled calls with the runtime's own profile of the same process in the same seconds, method by
// method, within the uncertainty of both. A method is wrong if every try is off in the same
// direction.
func TestEstimatedCPU_AgreesWithRuntimeProfile(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	withRetries(t, func() faults { return compareWithProfile(t) })
}

func compareWithProfile(t *testing.T) faults {
	p := startPipeline(t, quickWarehouse)
	profile := filepath.Join(t.TempDir(), "cpu.pprof")
	shop := startProgramWith(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + p.Endpoint()}, "shop", programs.shop,
		"--rate", "4000", "--workers", "6", "--cpu-profile", profile)
	begin := time.Now()
	await(t, "the shop to have used some CPU", func(context.Context) (bool, error) {
		used, err := harness.CPUOf(shop.Pid())
		return used >= profiledFor && time.Since(begin) > twoSlots, err
	})
	if err := shop.Terminate(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, shop)
	p.stop(t)

	profiled, total := profiledCPU(t, programs.shop, profile)
	// On a busy machine the kernel's timers fire late and the profile misses some of the time. The
	// process's own CPU time shows how much, but not where it was spent. Assume that each method
	// missed the same share; the bound allows for all of a method's time and for none.
	scale := float64(shop.CPU()) / float64(total)
	probe := probeCost(t, p)
	t.Logf("the process took %s of CPU, the profile has %s of it; a timed call costs %s", shop.CPU(), total, probe)
	costs, err := p.command.Cost(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	counted := callsOf(t, p)
	f := faults{}
	compared := 0
	for _, m := range costs.Methods {
		if m.InclusiveCoreHours == nil || m.SelfCoreHoursSE == nil {
			continue // Charge waits and has no CPU time
		}
		name := m.Class + "." + m.Method
		samples, ok := profiled[name]
		if !ok {
			f.addf(name+" without a profile", "the profile has no such method")
			continue
		}
		theirs := scale * float64(samples)
		ours := *m.InclusiveCoreHours * float64(time.Hour)
		// A sample falls into the method or not, so the variance of their number is at most that of
		// a Poisson number.
		ourError := *m.SelfCoreHoursSE * float64(time.Hour)
		theirError := scale * math.Sqrt(float64(samples)*float64(profilePeriod))
		chance := 3*math.Hypot(ourError, theirError) + 0.05*theirs
		// The profile counts the probe of a timed call as time of its method, corehour's estimate
		// does not. Only the lower bound of the cost of reading the clock is subtracted here, which
		// is less than a reading takes in a program that does real work. Therefore a method as
		// short as Lookup is always estimated a tenth too expensive.
		calls := counted[name]
		low := min(1, scale)*float64(samples) - chance - float64(calls.Timed)*float64(probe)
		high := max(1, scale)*float64(samples) + chance + calls.Made*float64(probe)/4
		t.Logf("%-28s corehour %8.3fs ± %.3f, profile %8.3fs ± %.3f: %+.1f%%; %.0f calls, %d timed; from %.3fs to %.3fs", name, ours/1e9, ourError/1e9,
			theirs/1e9, theirError/1e9, 100*(ours/theirs-1), calls.Made, calls.Timed, low/1e9, high/1e9)
		if samples < leastSamples*profilePeriod {
			continue
		}
		compared++
		switch {
		case ours > high:
			f.addf(name+" too expensive", "corehour says %.3f s, the profile %.3f s, at most %.3f s", ours/1e9, theirs/1e9, high/1e9)
		case ours < low:
			f.addf(name+" too cheap", "corehour says %.3f s, the profile %.3f s, at least %.3f s", ours/1e9, theirs/1e9, low/1e9)
		}
	}
	if compared < 4 {
		f.addf("what can be compared", "only %d methods have enough samples", compared)
	}
	return f
}

// probeCost returns the CPU cost of one timed call as calibrated and reported by the SDK.
func probeCost(t *testing.T, p *pipeline) time.Duration {
	t.Helper()
	rows := query[struct {
		Cost float64 `json:"cost"`
	}](t, p, `SELECT MIN(s.value) AS cost FROM method_calls, unnest(sdk_stats) AS u(s) WHERE s.name = 'probe.cpu.cost_ns'`)
	if len(rows) != 1 || rows[0].Cost <= 0 {
		t.Fatalf("the SDK tells no cost of a timed call: %v", rows)
	}
	return time.Duration(rows[0].Cost)
}

// methodCalls are a method's number of calls and of timed calls.
type methodCalls struct {
	Name  string  `json:"name"`
	Made  float64 `json:"made"`
	Timed int64   `json:"timed"`
}

func callsOf(t *testing.T, p *pipeline) map[string]methodCalls {
	t.Helper()
	found := map[string]methodCalls{}
	for _, c := range query[methodCalls](t, p, `SELECT class || '.' || method AS name, SUM(calls) AS made, CAST(SUM(measured) AS BIGINT) AS timed
		FROM method_calls WHERE kind <> 'process' GROUP BY ALL`) {
		found[c.Name] = c
	}
	return found
}

// profiledCPU returns the CPU time of each method including its callees, and the total.
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

// receiver turns the runtime's class.(*Type).Method into corehour's class.method.
var receiver = strings.NewReplacer("(*", "", ")", "")

var profileTotal = regexp.MustCompile(`Total samples = ([0-9.]+)ms`)

// profileLine matches flat, flat%, sum%, cum, cum%, name.
var profileLine = regexp.MustCompile(`^\s*\S+\s+\S+%\s+\S+%\s+([0-9.]+)(?:ms)?\s+\S+%\s+(.+)$`)
