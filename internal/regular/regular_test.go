//go:build unix

package regular

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestReadFile_RefusesOthers(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := syscall.Mkfifo(path("pipe"), 0o600); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink("/dev/zero", path("device")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path("large"), make([]byte, 11), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path("small"), make([]byte, 10), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"pipe": "found a pipe", "device": "found a device", ".": "found a directory", "large": "want at most 10 bytes"} {
		if _, err := ReadFile(path(name), 10); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if data, err := ReadFile(path("small"), 10); err != nil || len(data) != 10 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}
