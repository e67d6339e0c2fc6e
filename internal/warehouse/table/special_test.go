//go:build unix

package table

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A pipe or a device takes the place of a file. Readers and a starting writer return an error instead of
// waiting for ever.
func TestSpecialFiles_Refused(t *testing.T) {
	places := map[string]func(path string) error{
		"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"device": func(path string) error { return os.Symlink("/dev/zero", path) },
	}
	for kind, place := range places {
		for _, pattern := range []string{currentName, manifestDir + "/*.json"} {
			t.Run(kind+" "+pattern, func(t *testing.T) {
				root := t.TempDir()
				w := openWriter(t, root, Options{})
				write(t, w, item("a-1", noon, 1))
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				paths, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
				if err != nil || len(paths) == 0 {
					t.Fatal(paths, err)
				}
				for _, path := range paths {
					if err := os.Remove(path); err != nil {
						t.Fatal(err)
					}
					if err := place(path); err != nil {
						t.Fatal(err)
					}
				}
				errs := make(chan error, 2)
				go func() {
					_, err := OpenReadable(root)
					errs <- err
					_, err = NewWriter(root, Options{})
					errs <- err
				}()
				for range cap(errs) {
					select {
					case err := <-errs:
						if err == nil || !strings.Contains(err.Error(), "want a regular file, found a "+kind) {
							t.Errorf("%v", err)
						}
					case <-time.After(30 * time.Second):
						t.Fatal("it waits for ever")
					}
				}
			})
		}
	}
}
