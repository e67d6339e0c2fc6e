//go:build unix

package integration

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/corehour/corehour/integration/harness"
	"github.com/corehour/corehour/integration/program/exectarget/calls"
)

// execution is a running `corehour exec` with its own directory for temporary files.
type execution struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr bytes.Buffer
}

func startExec(t *testing.T, args ...string) *execution {
	t.Helper()
	temporary := t.TempDir()
	e := &execution{cmd: exec.CommandContext(t.Context(), programs.command, append([]string{"exec"}, args...)...)}
	e.cmd.Env = append(harness.CleanEnvironment(), "TMPDIR="+temporary)
	e.cmd.Stderr = &e.stderr
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C in a terminal must not reach it
	var err error
	if e.stdin, err = e.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := e.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	e.stdout = bufio.NewReader(stdout)
	if err := e.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if entries, err := os.ReadDir(temporary); err != nil || len(entries) > 0 {
			t.Errorf("left behind: %v, %v", entries, err)
		}
	})
	return e
}

// line reads one line of the program's standard output.
func (e *execution) line(t *testing.T, want string) {
	t.Helper()
	if line, err := e.stdout.ReadString('\n'); line != want+"\n" {
		t.Fatalf("the program printed %q (%v), want %q; standard error:\n%s", line, err, want, &e.stderr)
	}
}

// finish waits for the program and returns the rest of its standard output.
func (e *execution) finish(t *testing.T, wantCode int, wantError ...string) (stdout string) {
	t.Helper()
	rest, err := io.ReadAll(e.stdout)
	if err != nil {
		t.Error(err)
	}
	var ended *exec.ExitError
	if err := e.cmd.Wait(); err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	if code := e.cmd.ProcessState.ExitCode(); code != wantCode {
		t.Errorf("exit code %d, want %d", code, wantCode)
	}
	for _, want := range wantError {
		if !strings.Contains(e.stderr.String(), want) {
			t.Errorf("standard error lacks %q", want)
		}
	}
	if t.Failed() {
		t.Logf("standard error:\n%s", &e.stderr)
	}
	return string(rest)
}

// requireCalls finds the line of work.Call in a printed table.
func requireCalls(t *testing.T, table string, want int) {
	t.Helper()
	if !regexp.MustCompile(fmt.Sprintf(`(?m)^exectarget +work\.Call .* %d( .*)?$`, want)).MatchString(table) || strings.Contains(table, "counts pending") {
		t.Errorf("no line of %d calls in\n%s", want, table)
	}
}

// Input, output and exit code are the program's own. The table has every call, also for a program
// that ends within its first minute.
func TestExec_KeepsInputOutputAndExitCode(t *testing.T) {
	t.Parallel()
	e := startExec(t, "--", programs.exectarget, "12345")
	if _, err := io.WriteString(e.stdin, "as it is\n"); err != nil {
		t.Fatal(err)
	}
	if err := e.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if got := e.finish(t, 3, "exectarget 12345: exit code 3 after ", "1% of calls timed", "of it probes and sending "); got != "as it is\n" {
		t.Errorf("standard output: %q", got)
	}
	requireCalls(t, e.stderr.String(), 12345)
}

// The program receives every signal. The table is printed after the last one.
func TestExec_ForwardsSignals(t *testing.T) {
	t.Parallel()
	table := filepath.Join(t.TempDir(), "table")
	e := startExec(t, "--rate", "1", "--output", table, "--", programs.exectarget, "100", "3")
	e.line(t, "ready")
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGINT, syscall.SIGTERM} {
		if err := e.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		e.line(t, sig.String())
	}
	e.finish(t, 7)
	text, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	requireCalls(t, string(text), 400)
}

// The tests of two packages are two processes. --warehouse keeps the warehouse.
func TestExec_GoTestKeepsWarehouse(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	t.Parallel()
	warehouse, file := filepath.Join(t.TempDir(), "warehouse"), filepath.Join(t.TempDir(), "costs.json")
	for range 2 { // the second run adds to the warehouse and prints its own figures
		e := startExec(t, "--warehouse", warehouse, "--json", "--output", file, "go", "test", "-count=1", "./program/exectarget/...")
		if got := e.finish(t, 0, "corehour cost --warehouse "+warehouse); strings.Count(got, "ok  \t") != 2 {
			t.Errorf("standard output: %q", got)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var costs struct {
			Instances int
			Methods   []struct {
				Service, Method string
				Calls           float64
			}
		}
		if err := json.Unmarshal(data, &costs); err != nil {
			t.Fatal(err)
		}
		if len(costs.Methods) != 1 || costs.Methods[0].Calls != 800 || costs.Methods[0].Service != "go" || costs.Instances != 2 {
			t.Errorf("%+v", costs)
		}
	}
	if c, err := (harness.Command{Binary: programs.command, Warehouse: warehouse}).Check(t.Context()); err != nil || !c.Balanced || len(c.Processes) != 4 {
		t.Errorf("%+v, %v", c, err)
	}
}

// The cost of a call does not include its waits: the cost of giving up the processor in a timed
// call is subtracted, and rows keep the number of waits.
func TestExec_WaitsAreSubtracted(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	const times = 1000
	withRetries(t, func() faults {
		warehouse := filepath.Join(t.TempDir(), "warehouse")
		e := startExec(t, "--rate", "1", "--warehouse", warehouse, "--output", os.DevNull, "--", programs.exectarget, "0", "0", strconv.Itoa(times))
		e.finish(t, 0)
		command := harness.Command{Binary: programs.command, Warehouse: warehouse}
		costs, err := command.Cost(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		const us = 1e6 * 3600 // of a core-hour
		type method struct{ cost, resolution, measured, waits float64 }
		methods := map[string]*method{}
		for _, m := range costs.Methods {
			if m.SelfCoreHours != nil {
				methods[m.Method] = &method{cost: *m.SelfCoreHours * us / times, resolution: m.ResolutionNS / 1e3}
			}
		}
		works, waits := methods["Works"], methods["Waits"]
		if works == nil || waits == nil {
			t.Fatalf("%+v", costs.Methods)
		}
		var rows []struct {
			Method          string
			Measured, Waits float64
		}
		if err := command.SQL(t.Context(), &rows, `SELECT method, SUM(cpu_ns) / SUM(cpu_measured) / 1e3 AS measured, COALESCE(SUM(cpu_waits), 0) / SUM(cpu_measured) AS waits
			FROM method_calls WHERE cpu_measured > 0 AND kind <> 'process' GROUP BY method`); err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			methods[row.Method].measured, methods[row.Method].waits = row.Measured, row.Waits
		}
		t.Logf("us a call: working %+v, waiting, too %+v", *works, *waits)
		f := faults{}
		if waits.waits < calls.Pauses-0.5 || waits.waits > calls.Pauses+1 || works.waits > 0.5 {
			f.addf("number of waits", "%.2f of %d, and %.2f of none", waits.waits, calls.Pauses, works.waits)
		}
		if waits.measured < works.measured+calls.Pauses {
			f.addf("cost of waits", "%.1f us measured with waits, %.1f without", waits.measured, works.measured)
		}
		if off := math.Abs(waits.cost - works.cost); off > waits.resolution+works.resolution || off > 2./3*(waits.measured-works.measured) {
			f.addf("cost of the work", "%.1f±%.1f us with waits, %.1f±%.1f without", waits.cost, waits.resolution, works.cost, works.resolution)
		}
		return f
	})
}

// One program makes no calls, and a signal ends it.
func TestExec_NoCalls(t *testing.T) {
	t.Parallel()
	e := startExec(t, "--", "sh", "-c", "kill -TERM $$")
	if got := e.finish(t, 128+int(syscall.SIGTERM), "sent no method spans", "corehour.Start", "WithEndpoint"); got != "" {
		t.Errorf("standard output: %q", got)
	}
}

// A warehouse that received nothing accepts the next run. A warehouse that another run writes to
// refuses it with a reason of one line.
func TestExec_ExistingWarehouse(t *testing.T) {
	t.Parallel()
	warehouse := filepath.Join(t.TempDir(), "runs")
	into := []string{"--warehouse", warehouse, "--"}
	startExec(t, append(into, "true")...).finish(t, 0, "the warehouse is kept")
	e := startExec(t, append(into, programs.exectarget, "100")...)
	if _, err := io.WriteString(e.stdin, "it runs\n"); err != nil {
		t.Fatal(err)
	}
	e.line(t, "it runs")
	other := startExec(t, append(into, "true")...)
	other.finish(t, 2, "another process writes to it")
	if reason := other.stderr.String(); strings.Count(reason, "\n") != 1 || strings.Contains(reason, "collector.log") {
		t.Errorf("reason: %s", reason)
	}
	if err := e.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	e.finish(t, 3)
	requireCalls(t, e.stderr.String(), 100)
}

// The program continues when its collector is gone.
func TestExec_CollectorIsGone(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\necho $$ > %s/pid\nexec %s \"$@\"\n", bin, programs.collector)
	if err := os.WriteFile(filepath.Join(bin, harness.CollectorBinary), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	e := startExec(t, "--bin", bin, "--", "sh", "-c", "echo ready; read line; echo $line; exit 5")
	e.line(t, "ready")
	text, err := os.ReadFile(filepath.Join(bin, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(e.stdin, "further\n"); err != nil {
		t.Fatal(err)
	}
	e.line(t, "further")
	e.finish(t, 5, "what the program sent may be missing below: collector ", "(signal: killed)")
}
