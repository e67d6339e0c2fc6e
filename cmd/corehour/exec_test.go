package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExec_WrongArguments checks that mistakes are reported before any program starts, and that the first argument
// that is not a flag ends the flags.
func TestExec_WrongArguments(t *testing.T) {
	binaries := t.TempDir()
	if err := os.WriteFile(filepath.Join(binaries, "corehour-collector"), nil, 0o600); err != nil { // found, but never started
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"", exitFailed, "corehour exec: want a program to run, found none"},
		{"--", exitFailed, "corehour exec: want a program to run, found none"},
		{"--rate 2 -- true", exitFailed, "corehour exec: --rate: want 0 to 1, found 2"},
		{"--bin /nowhere -- true", exitFailed, "corehour exec: corehour-collector is not in /nowhere: build it with `make build`, or set its directory with --bin"},
		{"--warehouse gs://b -- true", exitFailed, `corehour exec: --warehouse: want a local directory, found "gs://b"`},
		{"--warehouse " + binaries + " -- true", exitFailed, "corehour exec: --warehouse: want a warehouse, or a new or empty directory"},
		{"--output /nowhere/file -- true", exitFailed, "corehour exec: --output: open /nowhere/file: "},
		{"--prices /nowhere -- true", exitFailed, "corehour exec: `--prices` \"/nowhere\" must exist"},
		{"--by caller --percentiles -- true", exitFailed, "corehour exec: --percentiles: want single methods"},
		{"--by owner -- true", exitFailed, "corehour exec: --by owner: no file of owners is read here: give --warehouse DIRECTORY, then run"},
		{"--json --wide -- true", exitFailed, "corehour exec: --wide: has an effect on text only"},
		{"--rate 1 -- no-such-program -rate x", 127, "corehour exec: no-such-program was not found"},
		{"no-such-program --rate x -v", 127, "corehour exec: no-such-program was not found"},
		{binaries, 126, "cannot be executed"},
	} {
		r := corehour(append([]string{"exec", "--bin", binaries}, strings.Fields(c.args)...)...)
		if r.code != c.code || r.stdout != "" || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%q: no %q in %+v", c.args, c.want, r)
		}
	}
}
