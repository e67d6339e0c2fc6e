package corehour

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// inAndOut are the uses of a coroutine for which Go ends a program if the call has its thread locked. Each
// needs a program of its own: the SDK's tests must not contain iter.Pull, or no CPU would be timed in them.
var inAndOut = []string{"pulling in", "pulling after", "pulling deeper", "yielding in"}

// The SDK never ends the program it watches: if it contains iter.Pull, no thread is locked in any mode,
// and records are marked so.
func TestCoroutines_ProgramSurvives(t *testing.T) {
	program := buildCoroutines(t)
	var all []string
	for _, way := range append(inAndOut, "pulling within", "plainly") {
		for _, method := range []string{"sampled", "stacked", "tailed", "aggregated", "blocking", "waiting", "rare"} {
			all = append(all, way+":"+method)
		}
	}
	for name, options := range map[string][]string{
		"as it is":       nil,
		"COREHOUR_CPU":   {"COREHOUR_CPU=off"},
		"WithCPU(false)": {"COREHOUR_CPU=on", "WithCPU(false)"},
	} {
		out := program(t, options, all...)
		if !out.ended {
			t.Fatalf("%s: the program died:\n%s", name, out)
		}
		for _, method := range []string{"sampled", "stacked", "tailed"} {
			calls := out.cpuOf(method)
			if len(calls) < 5 || slices.ContainsFunc(calls, func(cpu string) bool { return cpu != "unavailable" }) {
				t.Errorf("%s: the CPU of %s calls is %s", name, method, calls)
			}
		}
		if !strings.Contains(out.text, "method=aggregated.Method") || regexp.MustCompile(`cpu_measured=[^0]`).MatchString(out.text) {
			t.Errorf("%s: the sums have CPU times, or there are none:\n%s", name, out)
		}
		said := strings.Contains(out.said, "CPU is not timed: the program contains iter.Pull") && strings.Contains(out.said, "COREHOUR_CPU=on")
		if asked := options != nil; said == asked {
			t.Errorf("%s: said\n%s", name, out.said)
		}
	}
}

// repeats is the number of equal calls of which one must have its CPU timed: next to a call in flight not
// all do, and readings are untrusted where a host takes the processor away.
const repeats = 30

// The reason for the rule: with locked threads the program dies in each of these ways, except in Blocking
// methods, or if the coroutine is made and used within one call.
func TestCoroutines_CPUOnRequest(t *testing.T) {
	program := buildCoroutines(t)
	for _, way := range inAndOut {
		for _, method := range []string{"sampled", "aggregated"} {
			out := program(t, []string{"COREHOUR_CPU=on"}, slices.Repeat([]string{way + ":" + method}, repeats)...)
			if out.ended || !strings.Contains(out.said, "OS thread locking must match") {
				t.Errorf("%s:%s: Go no longer ends the program:\n%s", way, method, out)
			}
		}
	}
	safe := slices.Repeat([]string{"plainly:sampled", "pulling within:sampled"}, repeats)
	for _, way := range inAndOut {
		safe = append(safe, way+":blocking", way+":waiting", way+":rare")
	}
	for _, options := range [][]string{{"COREHOUR_CPU=On"}, {"WithCPU(true)"}, {"COREHOUR_CPU=off", "WithCPU(true)"}} {
		out := program(t, options, safe...)
		if !out.ended || out.said != "" {
			t.Fatalf("%s: the program died, or has something to say:\n%s", options, out)
		}
		if calls := out.cpuOf("sampled"); len(calls) != 2*repeats || !out.exact("sampled") {
			t.Errorf("%s: the CPU of calls is %s", options, calls)
		}
		if calls := strings.Join(out.cpuOf("blocking"), " "); calls != "not_sampled"+strings.Repeat(" not_sampled", len(inAndOut)) {
			t.Errorf("%s: the CPU of blocking calls is %s", options, calls)
		}
	}
}

// A program without iter.Pull has its CPU timed by default. Stripping its symbols does not change that,
// nor the answer for one with iter.Pull.
func TestCoroutines_AbsentTimesCPU(t *testing.T) {
	for _, flags := range [][]string{nil, {"-ldflags=-s -w"}} {
		program := buildCoroutines(t, append(flags, "-tags=nopull")...)
		plainly := slices.Repeat([]string{"plainly:sampled"}, repeats)
		out := program(t, nil, plainly...)
		if !out.ended || out.said != "" || !out.exact("sampled") {
			t.Errorf("%s: the CPU of its call is %s:\n%s", flags, out.cpuOf("sampled"), out)
		}
		out = program(t, []string{"COREHOUR_CPU=off"}, plainly...)
		if !slices.Equal(out.cpuOf("sampled"), slices.Repeat([]string{"unavailable"}, repeats)) || out.said != "" {
			t.Errorf("%s, off: the CPU of its call is %s:\n%s", flags, out.cpuOf("sampled"), out)
		}
	}
	out := buildCoroutines(t, "-ldflags=-s -w")(t, nil, "pulling in:sampled")
	if !out.ended || strings.Join(out.cpuOf("sampled"), "") != "unavailable" {
		t.Errorf("without symbols, with iter.Pull:\n%s", out)
	}
}

// output is the output of the program of testdata/coroutines.
type output struct {
	ended      bool // it ended normally
	text, said string
}

func (o output) String() string { return o.text + o.said }

// cpuOf summarises the CPU states of a method's records.
func (o output) cpuOf(method string) (cpu []string) {
	for _, found := range regexp.MustCompile(`corehour call .* method=`+method+`\.Method .* cpu=(\S+)`).FindAllStringSubmatch(o.text, -1) {
		cpu = append(cpu, found[1])
	}
	return cpu
}

// exact reports whether at least one call of the method has a CPU time.
func (o output) exact(method string) bool {
	return regexp.MustCompile(`method=` + method + `\.Method .* cpu=\d`).MatchString(o.text)
}

// buildCoroutines builds that program and returns a function that runs it with variables, options and a
// task.
func buildCoroutines(t *testing.T, flags ...string) func(t *testing.T, options []string, do ...string) output {
	t.Helper()
	path := filepath.Join(t.TempDir(), "coroutines")
	if raceEnabled {
		flags = append(flags, "-race")
	}
	args := append([]string{"build", "-o", path}, flags...)
	if out, err := exec.Command("go", append(args, "./testdata/coroutines")...).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return func(t *testing.T, options []string, do ...string) output {
		t.Helper()
		program := exec.Command(path, do...)
		program.Env = append(os.Environ(), "GOTRACEBACK=none", "COREHOUR_CPU=")
		for _, option := range options {
			if strings.HasPrefix(option, "COREHOUR_") {
				program.Env = append(program.Env, option)
			} else {
				program.Args = append(program.Args, option)
			}
		}
		var text, said strings.Builder
		program.Stdout, program.Stderr = &text, &said
		err := program.Run()
		return output{ended: err == nil, text: text.String(), said: said.String()}
	}
}
