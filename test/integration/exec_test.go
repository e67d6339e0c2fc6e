//go:build unix

package integration

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/corehour/corehour/test/integration/harness"
)

// execution is a `corehour exec` with a directory of its own for temporary files.
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
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's Ctrl-C is none of its business
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

// line reads what the program prints.
func (e *execution) line(t *testing.T, want string) {
	t.Helper()
	if line, err := e.stdout.ReadString('\n'); line != want+"\n" {
		t.Fatalf("the program printed %q (%v), want %q; standard error:\n%s", line, err, want, &e.stderr)
	}
}

// finish returns the rest of what the program prints.
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

// requireCalls reads the line of the one method from a table in text.
func requireCalls(t *testing.T, table string, want int) {
	t.Helper()
	if !regexp.MustCompile(fmt.Sprintf(`(?m)^measured +work\.Call .* %d( .*)?$`, want)).MatchString(table) || strings.Contains(table, "counts pending") {
		t.Errorf("no line of %d calls in\n%s", want, table)
	}
}

// Input, output and exit code are the program's; the table has every call, also of one that ends
// before its first minute.
func TestExecLeavesTheProgramAlone(t *testing.T) {
	t.Parallel()
	e := startExec(t, "--", programs.measured, "12345")
	if _, err := io.WriteString(e.stdin, "as it is\n"); err != nil {
		t.Fatal(err)
	}
	if err := e.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if got := e.finish(t, 3, "measured 12345: exit code 3 after ", "1% of calls timed", "of it probes and sending "); got != "as it is\n" {
		t.Errorf("standard output: %q", got)
	}
	requireCalls(t, e.stderr.String(), 12345)
}

// The program has every signal, and the table is printed after the last.
func TestExecPassesSignals(t *testing.T) {
	t.Parallel()
	table := filepath.Join(t.TempDir(), "table")
	e := startExec(t, "--rate", "1", "--output", table, "--", programs.measured, "100", "3")
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

// The tests of two packages are two processes. The warehouse is kept where it is to be.
func TestExecOfGoTest(t *testing.T) {
	t.Parallel()
	warehouse, file := filepath.Join(t.TempDir(), "warehouse"), filepath.Join(t.TempDir(), "costs.json")
	e := startExec(t, "--warehouse", warehouse, "--json", "--output", file, "go", "test", "-count=1", "./measured/...")
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
	if c, err := (harness.Command{Binary: programs.command, Warehouse: warehouse}).Check(t.Context()); err != nil || !c.Balanced {
		t.Errorf("%+v, %v", c, err)
	}
}

// A program that sends nothing, and one that a signal ends.
func TestExecOfNothing(t *testing.T) {
	t.Parallel()
	e := startExec(t, "--", "sh", "-c", "kill -TERM $$")
	if got := e.finish(t, 128+int(syscall.SIGTERM), "sent no method spans", "corehour.Start", "WithEndpoint"); got != "" {
		t.Errorf("standard output: %q", got)
	}
}

// The program goes on without the collector.
func TestExecWithoutItsCollector(t *testing.T) {
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
