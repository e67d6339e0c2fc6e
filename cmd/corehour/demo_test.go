package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// demo refuses a directory with files of others and does not change it. It empties and reuses a directory
// of an earlier demo.
func TestDemo_RejectsForeignDirectory(t *testing.T) {
	binaries, dir := t.TempDir(), t.TempDir()
	for _, name := range []string{"corehour", "corehour-collector", "corehour-shop"} { // must exist, but are never started
		if err := os.WriteFile(filepath.Join(binaries, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	theirs := filepath.Join(dir, "warehouse")
	if err := os.Mkdir(theirs, 0o755); err != nil {
		t.Fatal(err)
	}
	args := []string{"demo", "--bin", binaries, "--dir", dir}
	for _, name := range []string{"http", "grpc", "rates", "health", "metrics"} {
		args = append(args, "--"+name, "127.0.0.1:0")
	}
	r := corehour(args...)
	if want := `with "warehouse" in it: name another one, or remove it`; r.code != exitFailed || !strings.Contains(r.stderr, want) {
		t.Errorf("no %q in %+v", want, r)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the directory was changed: %v, %v", entries, err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".corehour-demo"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r = corehour(args...); r.code != exitFailed || strings.Contains(r.stderr, "--dir") { // fails later, because the collector is an empty file
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(theirs); !os.IsNotExist(err) {
		t.Errorf("what the earlier demo left is still there: %v", err)
	}
}
