package durable_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/corehour/corehour/internal/durable"
)

func TestReplace(t *testing.T) {
	for name, replace := range map[string]func(string, []byte, os.FileMode) error{"one process": durable.Replace, "several": durable.ReplaceShared} {
		dir := t.TempDir()
		path := filepath.Join(dir, "CURRENT")
		for _, text := range []string{"a longer text", "b", ""} {
			if err := replace(path, []byte(text), 0o600); err != nil {
				t.Fatal(name, err)
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != text {
				t.Errorf("%s: %q %v, want %q", name, got, err, text)
			}
			if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
				t.Errorf("%s: %v %v", name, info, err)
			}
		}
		if err := replace(filepath.Join(dir, "none", "x"), nil, 0o600); !errors.Is(err, os.ErrNotExist) {
			t.Error(name, err)
		}
		// A failed replacement keeps the existing file and leaves no other behind.
		if err := os.MkdirAll(filepath.Join(dir, "taken", "x"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := replace(filepath.Join(dir, "taken"), []byte("x"), 0o600); err == nil {
			t.Errorf("%s: a file took the place of a directory", name)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
			t.Errorf("%s: left over: %v %v", name, entries, err)
		}
	}
}

// Concurrent replacements leave the complete contents of one of them.
func TestReplaceShared_Concurrent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if err := durable.ReplaceShared(path, bytes.Repeat([]byte{byte('a' + i)}, 1<<16), 0o644); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	got, err := os.ReadFile(path)
	if err != nil || len(got) != 1<<16 || !bytes.Equal(got, bytes.Repeat(got[:1], 1<<16)) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// steps is a file that fails at one of its steps.
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

// Write closes the file and returns an error whichever step fails.
func TestWrite_StepFails(t *testing.T) {
	for fail, want := range map[string][]string{
		"": {"write", "sync", "close"}, "write": {"write", "close"}, "sync": {"write", "sync", "close"}, "close": {"write", "sync", "close"},
	} {
		s := &steps{fail: fail}
		if err := durable.Write(s, []byte("x")); (err == nil) != (fail == "") || !slices.Equal(s.done, want) {
			t.Errorf("%q: %v, %v", fail, err, s.done)
		}
	}
}
