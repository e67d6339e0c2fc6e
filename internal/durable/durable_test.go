package durable_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/corehour/corehour/internal/durable"
)

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "CURRENT")
	for _, text := range []string{"a longer text", "b", ""} {
		if err := durable.Replace(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%q %v, want %q", got, err, text)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left over: %v %v", entries, err)
	}
	if err := durable.Replace(filepath.Join(dir, "none", "x"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	// What can't take the place leaves what is there as it is.
	if err := os.MkdirAll(filepath.Join(dir, "taken", "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := durable.Replace(filepath.Join(dir, "taken"), []byte("x")); err == nil {
		t.Error("a file took the place of a directory")
	}
}

// steps is a file one of whose steps fails.
type steps struct {
	fail string
	done []string
}

func (s *steps) step(name string) error {
	s.done = append(s.done, name)
	if name == s.fail {
		return errors.New(name)
	}
	return nil
}

func (s *steps) Write(p []byte) (int, error) { return len(p), s.step("write") }
func (s *steps) Sync() error                 { return s.step("sync") }
func (s *steps) Close() error                { return s.step("close") }

// A file is closed whatever fails, and never said to be durable when it may not be.
func TestWriteFailsAtAnyStep(t *testing.T) {
	for fail, want := range map[string][]string{
		"": {"write", "sync", "close"}, "write": {"write", "close"}, "sync": {"write", "sync", "close"}, "close": {"write", "sync", "close"},
	} {
		s := &steps{fail: fail}
		if err := durable.Write(s, []byte("x")); (err == nil) != (fail == "") || !slices.Equal(s.done, want) {
			t.Errorf("%q: %v, %v", fail, err, s.done)
		}
	}
}
