package table

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
)

// stuckDisk can neither commit nor remove files unless works is set, so every write leaves its files behind.
type stuckDisk struct {
	lazyDisk
	works bool
}

func (d *stuckDisk) create(path string) (diskFile, error) {
	if !d.works && strings.HasPrefix(filepath.Base(path), currentName) {
		return nil, errInjected
	}
	return d.lazyDisk.create(path)
}

func (d *stuckDisk) remove(path string) error {
	if !d.works {
		return errInjected
	}
	return d.lazyDisk.remove(path)
}

// fail writes items, expects an error, and leaves their files behind.
func fail(t *testing.T, w *Writer, items ...methodspan.Item) {
	t.Helper()
	if _, err := w.Write(context.Background(), items); err == nil {
		t.Fatal("the write did not fail")
	}
}

// A start recovers overlapping files of failed writes. Repeated items count once, from the last attempt. Items that
// were folded into an overflow aggregate count only there.
func TestRecovery_RepeatedWrites(t *testing.T) {
	root := t.TempDir()
	disk := &stuckDisk{works: true}
	w := openWriter(t, root, Options{disk: disk})
	before := item("before-1", noon, 2)
	write(t, w, before)
	disk.works = false
	a, b, c := item("a-1", noon, 3), item("b-1", noon.Add(-24*time.Hour), 2), item("c-1", noon, 4)
	fold := item("fold-1", noon, 1)
	fold.Folds = []string{"c-1", "x-1"}
	fail(t, w, a, b)
	fail(t, w, a)
	fail(t, w, b, c)
	fail(t, w, fold)
	// An unreadable file, and a file whose write group lacks another file.
	garbage := filepath.Join(root, "date=2026-11-21", "raw-000000000099.parquet")
	if err := os.WriteFile(garbage, []byte("PAR1 garbage PAR1"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := item("d-1", noon.Add(-24*time.Hour), 1)
	d.Rows = append(d.Rows, item("d-1", noon, 1).Rows...)
	fail(t, w, d)
	half, err := filepath.Glob(filepath.Join(root, "date=2026-11-20", "raw-*.parquet"))
	if err != nil || len(half) == 0 {
		t.Fatal(half, err)
	}
	if err := os.Remove(half[len(half)-1]); err != nil {
		t.Fatal(err)
	}
	w.Close()

	w = openWriter(t, root, Options{})
	wantStored(t, "adopted", root, before, a, b, fold)
	wantTidy(t, "adopted", root)
	r := w.Recovered()
	if r.FilesAdopted != 3 || r.RowsAdopted != int64(len(a.Rows)+len(b.Rows)+len(fold.Rows)) || r.FilesRemoved != 6 {
		t.Errorf("%+v", r)
	}
	for _, id := range []string{"a-1", "b-1", "c-1", "x-1", "fold-1", "before-1"} {
		if !w.Committed(id) {
			t.Errorf("%s is not known", id)
		}
	}
	if w.Committed("d-1") {
		t.Error("half a write was adopted")
	}
	if runs, dropped := w.Remembered(); runs != 6 || dropped != 0 {
		t.Errorf("%d runs, %d dropped", runs, dropped)
	}
	write(t, w, a, b, c, d)
	wantStored(t, "written again", root, before, a, b, fold, d)
	w.Close()
	w = openWriter(t, root, Options{})
	if w.Recovered() != (Recovery{}) {
		t.Errorf("a second start recovers %+v", w.Recovered())
	}
	write(t, w, a, b, c, d)
	wantStored(t, "and again", root, before, a, b, fold, d)
}

// The file of a failed write is never counted if a repeat succeeded. The next start deletes it.
func TestRecovery_IgnoresRepeatedWrite(t *testing.T) {
	root := t.TempDir()
	disk := &stuckDisk{}
	w := openWriter(t, root, Options{disk: disk})
	a := item("a-1", noon, 3)
	fail(t, w, a)
	disk.works = true
	write(t, w, a)
	w.Close()
	files := func() int {
		paths, err := filepath.Glob(filepath.Join(root, "date=*", "raw-*.parquet"))
		if err != nil {
			t.Fatal(err)
		}
		return len(paths)
	}
	w = openWriter(t, root, Options{})
	wantStored(t, "started again", root, a)
	if n := files(); n != 1 || w.Recovered().FilesRemoved != 1 {
		t.Errorf("%d files, %+v, want the dead one gone", n, w.Recovered())
	}
}

// busyDisk calls do once, before the first raw file is created.
type busyDisk struct {
	lazyDisk
	do func()
}

func (d *busyDisk) create(path string) (diskFile, error) {
	if do := d.do; do != nil && strings.HasPrefix(filepath.Base(path), KindRaw) {
		d.do = nil
		do()
	}
	return d.lazyDisk.create(path)
}

// Maintenance can drop a date while a start recovers files of this date and others. The start then retries and
// recovers the others.
func TestRecovery_DateDroppedMeanwhile(t *testing.T) {
	root := t.TempDir()
	disk := &stuckDisk{works: true}
	w := openWriter(t, root, Options{disk: disk})
	old := item("old-1", noon.Add(-24*time.Hour), 2)
	write(t, w, old)
	disk.works = false
	a, b := item("a-1", noon, 3), item("b-1", noon.Add(-24*time.Hour), 2)
	fail(t, w, a, b)
	fail(t, w, a) // supersedes a of the first attempt, so that only b is left there to recover
	w.Close()

	dropped := false
	w = openWriter(t, root, Options{disk: &busyDisk{do: func() {
		m := openMaintainer(t, root, Options{})
		defer m.Close()
		dates, err := m.Dates()
		if err == nil {
			_, err = m.Drop(dates)
		}
		if err != nil {
			t.Error(err)
		}
		dropped = true
	}}})
	if !dropped {
		t.Fatal("nothing was dropped meanwhile")
	}
	wantStored(t, "adopted", root, a)
	if r := w.Recovered(); r != (Recovery{FilesAdopted: 1, RowsAdopted: 3, FilesRemoved: 2}) {
		t.Errorf("%+v", r)
	}
	if !w.Committed("a-1") {
		t.Error("what was adopted is not known")
	}
}

// A file whose name looks like one of the writer's does not affect the numbers of other files, whatever its number.
// No commit replaces an existing file.
func TestRecovery_StrayNames(t *testing.T) {
	for _, name := range []string{
		"raw-9223372036854775807.parquet", "raw-9223372036854775806.parquet", "raw-1000000000000001.parquet", "raw-999999999999999.parquet",
		"raw-2.parquet", "raw-0000000000002.parquet", "raw-+00000000002.parquet", "raw-000000000002.parquet", "raw-000000000003.parquet",
	} {
		root := t.TempDir()
		w := openWriter(t, root, Options{})
		all := []methodspan.Item{item("before-1", noon, 2)}
		write(t, w, all...)
		stray := filepath.Join(root, "date=2026-11-21", name)
		if err := os.WriteFile(stray, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		for i, id := range []string{"b-1", "c-1", "d-1"} {
			if i != 1 { // once without a restart, which would scan the directory
				w.Close()
				w = openWriter(t, root, Options{})
			}
			all = append(all, item(id, noon, 2))
			write(t, w, all[len(all)-1])
			wantStored(t, name+" and "+id, root, all...)
			if w.state.Sequence != int64(len(all)) {
				t.Errorf("%s: file %d is the last of %d", name, w.state.Sequence, len(all))
			}
		}
	}
}

// If the next file name is taken by something that cannot be deleted, the writer uses the next free name.
func TestWriter_FileNameTaken(t *testing.T) {
	root := t.TempDir()
	w := openWriter(t, root, Options{})
	a, b := item("a-1", noon, 2), item("b-1", noon, 3)
	write(t, w, a)
	for _, n := range []int64{2, 3} {
		if err := os.Mkdir(filepath.Join(root, "date=2026-11-21", rawName(n)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, w, b)
	wantStored(t, "with taken names", root, a, b)
	if w.state.Sequence != 4 {
		t.Errorf("the last file is %d", w.state.Sequence)
	}
}
