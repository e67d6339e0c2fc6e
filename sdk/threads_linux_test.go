package corehour

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The number of locked threads is bounded, however a program ends its calls and however long they wait: Go
// ends a program that exceeds its thread limit.
func TestThreads_LockedBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads")
	if out, err := exec.Command("go", "build", "-o", path, "./testdata/threads").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, run := range []struct{ what, says string }{
		{"200 elsewhere", "lost="},
		{"200 waiting", "held=0"},
		{"40 waiting", "CPU is not timed: the program may have 40 threads (debug.SetMaxThreads)"},
	} {
		program := exec.Command(path, strings.Fields(run.what)...)
		program.Env = append(os.Environ(), "GOTRACEBACK=none", "COREHOUR_CPU=")
		out, err := program.CombinedOutput()
		if err != nil || !strings.Contains(string(out), run.says) {
			t.Errorf("%s: %v, want %q:\n%s", run.what, err, run.says, out)
		}
	}
}
