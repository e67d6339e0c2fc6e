package table

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
)

// storedOnce checks that the rows of the items are stored, each once.
func storedOnce(t *testing.T, root string, ids ...string) {
	t.Helper()
	got := map[string]int{}
	for _, r := range stored(t, root) {
		got[r.BatchID]++
	}
	for _, id := range ids {
		if got[id] != 1 {
			t.Errorf("%d rows of %s are stored, want 1", got[id], id)
		}
		delete(got, id)
	}
	if len(got) > 0 {
		t.Errorf("rows of %v are stored, too", got)
	}
}

// The lock file of a writer is removed, and a second writer starts. The first one writes nothing until the
// second one is closed.
func TestWriter_LockRemoved(t *testing.T) {
	root := t.TempDir()
	first := openWriter(t, root, Options{})
	write(t, first, item("a-1", noon, 1))
	if err := os.Remove(filepath.Join(root, writerLock)); err != nil {
		t.Fatal(err)
	}
	second := openWriter(t, root, Options{})
	for _, id := range []string{"b-1", "b-2", "b-3"} {
		write(t, second, item(id, noon, 1))
		_, err := first.Write(context.Background(), []methodspan.Item{item("a-2", noon, 1)})
		if !errors.Is(err, warehouse.ErrLocked) || !strings.Contains(err.Error(), "removed while this process held it") {
			t.Fatalf("the first writer: %v", err)
		}
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, first, item("a-2", noon, 1), item("b-1", noon, 1))
	storedOnce(t, root, "a-1", "a-2", "b-1", "b-2", "b-3")
}

// The second writer starts, recovers the file of the first one and writes while the first one commits.
func TestWriter_LockRemovedDuringCommit(t *testing.T) {
	for _, op := range []string{"create", "rename"} { // before the file has its name, and after
		t.Run(op, func(t *testing.T) {
			root := t.TempDir()
			armed := false
			first := openWriter(t, root, Options{}.Inject(func(o, path string, after bool) error {
				if !armed || o != op || !strings.Contains(path, ".parquet") || !after {
					return nil
				}
				armed = false
				if err := os.Remove(filepath.Join(root, writerLock)); err != nil {
					t.Fatal(err)
				}
				second := openWriter(t, root, Options{})
				write(t, second, item("b-1", noon, 1))
				return second.Close()
			}))
			write(t, first, item("a-1", noon, 1))
			armed = true
			if _, err := first.Write(context.Background(), []methodspan.Item{item("a-2", noon, 1)}); err == nil {
				t.Fatal("the first writer commits without its lock")
			}
			write(t, first, item("a-2", noon, 1))
			write(t, first, item("a-3", noon, 1))
			storedOnce(t, root, "a-1", "a-2", "a-3", "b-1")
		})
	}
}
