package table

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
)

// doubtfulDisk completes the rename of a commit while away, but fails every later sync. So the outcome of the
// commit stays unknown until the disk is back.
type doubtfulDisk struct {
	lazyDisk
	away, commits bool
}

func (d *doubtfulDisk) rename(from, to string) error {
	d.commits = d.commits || d.away && filepath.Base(to) == currentName
	return d.lazyDisk.rename(from, to)
}

func (d *doubtfulDisk) syncDir(path string) error {
	if d.away && d.commits {
		return errInjected
	}
	return d.lazyDisk.syncDir(path)
}

// While the outcome of a write is unknown, ErrUnknown applies to its items only. Once the outcome is known, a
// later write returns other errors as they are.
func TestWriter_UnknownOutcomeOnlyOfFailedWrite(t *testing.T) {
	root, disk := t.TempDir(), &doubtfulDisk{}
	w := openWriter(t, root, Options{disk: disk})
	a, b := item("a-1", noon, 3), item("b-1", noon.Add(-time.Hour), 2)
	write(t, w, item("c-1", noon, 1))
	disk.away = true
	if _, err := w.Write(t.Context(), []methodspan.Item{a}); !errors.Is(err, warehouse.ErrUnknown) || !warehouse.Unsettled(err)("a-1") {
		t.Fatal(err)
	}
	for range 2 {
		_, err := w.Write(t.Context(), []methodspan.Item{b, a})
		if in := warehouse.Unsettled(err); !errors.Is(err, warehouse.ErrUnknown) || !in("a-1") || in("b-1") {
			t.Errorf("%v", err)
		}
	}
	disk.away = false
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Write(ctx, []methodspan.Item{a}); !errors.Is(err, context.Canceled) || errors.Is(err, warehouse.ErrUnknown) || !w.Committed("a-1") {
		t.Errorf("%v, and the item is committed: %v", err, w.Committed("a-1"))
	}
	if err := w.Settle(); err != nil {
		t.Error(err)
	}
	if res := write(t, w, a, b); res.DuplicateRows != 3 || res.Rows != 2 {
		t.Errorf("%+v", res)
	}
	wantStored(t, "in doubt for a while", root, item("c-1", noon, 1), a, b)
}
