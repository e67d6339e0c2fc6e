package table

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/rowtest"
)

func openMaintainer(t testing.TB, root string, o Options) *Maintainer {
	t.Helper()
	if o.Now == nil {
		o.Now = (&clock{noon}).now
	}
	if o.disk == nil {
		o.disk = lazyDisk{}
	}
	m, err := NewMaintainer(root, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// mergeDate merges all files of a date into one.
func mergeDate(m *Maintainer, date int) (parquet.File, error) {
	dates, err := m.Dates()
	if err != nil {
		return parquet.File{}, err
	}
	d := dates[date]
	return m.Merge(context.Background(), d.Date, d.Files, Output{Kind: KindMerge})
}

// A writer and a Maintainer alternate on one directory. Neither loses or duplicates rows, or forgets item IDs.
func TestMaintainer_NextToWriter(t *testing.T) {
	root := t.TempDir()
	w := openWriter(t, root, Options{})
	var all []methodspan.Item
	put := func(n int) {
		more := items(n, 3)
		all = append(all, more...)
		write(t, w, more...)
	}
	for n := range 5 {
		put(n)
	}
	m := openMaintainer(t, root, Options{})
	for n := 5; n < 15; n++ {
		before, err := Open(root)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := mergeDate(m, 0); err != nil {
			t.Fatal(err)
		}
		for _, f := range before.Files {
			if _, err := parquet.ReadRows(f.Path); err != nil {
				t.Errorf("a reader lost its file: %v", err)
			}
		}
		put(n)
		wantStored(t, "alongside", root, all...)
	}
	write(t, w, all...) // repeats
	wantStored(t, "repeated", root, all...)
	w.Close()
	m.Close()
	w = openWriter(t, root, Options{})
	if res := write(t, w, all...); res.Rows != 0 || res.DuplicateItems != len(all) {
		t.Errorf("ids were forgotten: %+v", res)
	}
	wantStored(t, "after a start", root, all...)
}

// Merging several files of random rows produces one file with all of them.
func TestMaintainer_MergeRandomRows(t *testing.T) {
	for seed := range uint64(4) {
		root := t.TempDir()
		w := openWriter(t, root, Options{})
		all := rowtest.RandomItems(rand.New(rand.NewPCG(seed, 3)), 6, 50, seed%2 == 0)
		for _, it := range all {
			write(t, w, it)
		}
		w.Close()
		merged, err := mergeDate(openMaintainer(t, root, Options{}), 0)
		if err != nil || merged.Rows != int64(len(all)*50) {
			t.Errorf("seed %d: %+v: %v", seed, merged, err)
		}
		wantStored(t, fmt.Sprint("seed ", seed), root, all...)
	}
}

// The first maintenance after the grace period deletes removed files.
func TestRemovedFiles_DeletedAfterGrace(t *testing.T) {
	root := t.TempDir()
	now := &clock{noon}
	w := openWriter(t, root, Options{Now: now.now})
	write(t, w, items(1, 3)...)
	write(t, w, items(2, 3)...)
	m := openMaintainer(t, root, Options{Now: now.now})
	if _, err := mergeDate(m, 0); err != nil {
		t.Fatal(err)
	}
	m.Close()
	files := func() int {
		paths, err := filepath.Glob(filepath.Join(root, "date=*", "*.parquet"))
		if err != nil {
			t.Fatal(err)
		}
		return len(paths)
	}
	now.t = now.t.Add(DefaultGrace - time.Second)
	m = openMaintainer(t, root, Options{Now: now.now})
	if counting, doomed, err := m.Size(); err != nil || counting == 0 || doomed == 0 || files() != 3 || m.Removed() != 0 {
		t.Errorf("%d bytes count, %d are doomed, %d files, %d removed, %v", counting, doomed, files(), m.Removed(), err)
	}
	m.Close()
	now.t = now.t.Add(time.Second)
	m = openMaintainer(t, root, Options{Now: now.now})
	if _, doomed, err := m.Size(); err != nil || doomed != 0 || files() != 1 || m.Removed() != 2 {
		t.Errorf("%d bytes are doomed, %d files, %d removed, %v", doomed, files(), m.Removed(), err)
	}
	m.Close()
	w.Close()
	openWriter(t, root, Options{Now: now.now})
	wantStored(t, "afterwards", root, append(items(1, 3), items(2, 3)...)...)
}

// If the clock was ahead when files were removed, they are deleted one grace period after it was corrected.
func TestRemovedFiles_ClockWasAhead(t *testing.T) {
	root := t.TempDir()
	now := &clock{noon}
	w := openWriter(t, root, Options{Now: now.now})
	write(t, w, items(1, 3)...)
	write(t, w, items(2, 3)...)
	now.t = noon.Add(300 * 24 * time.Hour)
	m := openMaintainer(t, root, Options{Now: now.now})
	if _, err := mergeDate(m, 0); err != nil {
		t.Fatal(err)
	}
	m.Close()
	for _, step := range []struct {
		at      time.Time
		removed int
	}{{noon, 0}, {noon.Add(DefaultGrace - time.Second), 0}, {noon.Add(DefaultGrace), 2}} {
		now.t = step.at
		m = openMaintainer(t, root, Options{Now: now.now})
		_, doomed, err := m.Size()
		if err != nil || m.Removed() != step.removed || (doomed == 0) != (step.removed > 0) {
			t.Errorf("at %s: %d removed, %d bytes are doomed, %v", step.at, m.Removed(), doomed, err)
		}
		m.Close()
	}
	wantStored(t, "afterwards", root, append(items(1, 3), items(2, 3)...)...)
}

// A clock that is behind for some hours does not shorten the readers' grace period.
func TestRemovedFiles_ClockWasBehind(t *testing.T) {
	root := t.TempDir()
	now := &clock{noon}
	w := openWriter(t, root, Options{Now: now.now})
	write(t, w, items(1, 3)...)
	write(t, w, items(2, 3)...)
	var before *Snapshot
	for _, at := range []time.Time{noon, noon.Add(-12 * time.Hour), noon.Add(DefaultGrace - time.Second)} {
		now.t = at
		m := openMaintainer(t, root, Options{Now: now.now})
		if before == nil {
			var err error
			if before, err = Open(root); err != nil {
				t.Fatal(err)
			}
			if _, err := mergeDate(m, 0); err != nil {
				t.Fatal(err)
			}
		}
		m.Close()
		for _, f := range before.Files {
			if _, err := os.Stat(f.Path); err != nil {
				t.Errorf("at %s: %v", at, err)
			}
		}
	}
}

// The writer refuses rows of a dropped date, whether it learns of the drop before or during the write.
func TestWriter_RefusesRowsOfDroppedDates(t *testing.T) {
	root := t.TempDir()
	w := openWriter(t, root, Options{})
	old := noon.Add(-48 * time.Hour)
	write(t, w, item("old-1", old, 3))
	write(t, w, item("new-1", noon, 2))
	m := openMaintainer(t, root, Options{})
	dates, err := m.Dates()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Drop(dates[:1]); err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		late := item([]string{"old-2", "old-3"}[n], old.Add(-24*time.Hour), 4)
		late.Rows = append(late.Rows, item(late.ID, noon, 1).Rows...)
		late.Rows[4].RowSeq = 4
		res, err := w.Write(context.Background(), []methodspan.Item{late})
		refused, failure := warehouse.RowErrors(err)
		if failure != nil || res.Refused[warehouse.Expired] != 4 || res.Rows != 1 || len(refused) != 1 || !strings.Contains(err.Error(), "2026-11-20") {
			t.Errorf("%+v %v", res, err)
		}
	}
	if got := len(stored(t, root)); got != 4 {
		t.Errorf("%d rows", got)
	}
}

func TestNewMaintainer_DirectoryLocked(t *testing.T) {
	root := t.TempDir()
	if _, err := NewMaintainer(root, Options{}); !errors.Is(err, warehouse.ErrMissing) {
		t.Errorf("%v", err)
	}
	w := openWriter(t, root, Options{})
	if _, err := NewMaintainer(root, Options{}); !errors.Is(err, warehouse.ErrEmpty) {
		t.Errorf("%v", err)
	}
	write(t, w, items(1, 1)...)
	m := openMaintainer(t, root, Options{})
	if _, err := NewMaintainer(root, Options{}); !errors.Is(err, warehouse.ErrLocked) || !strings.Contains(err.Error(), "wait for it to end") {
		t.Errorf("%v", err)
	}
	m.Close()
	openMaintainer(t, root, Options{})
}

// Maintenance reports a damaged file by name and writes nothing from it.
func TestMaintainer_RefusesDamagedFiles(t *testing.T) {
	root := t.TempDir()
	w := openWriter(t, root, Options{})
	write(t, w, items(1, 50)...)
	write(t, w, items(2, 50)...)
	s, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	path := s.Files[0].Path
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m := openMaintainer(t, root, Options{})
	for name, damage := range map[string][]byte{
		"a flipped bit": append(append(slices.Clone(data[:40]), data[40]^1), data[41:]...), "cut": data[:len(data)-7], "empty": {}, "gone": nil,
	} {
		if damage == nil {
			err = os.Remove(path)
		} else {
			err = os.WriteFile(path, damage, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		var typed *warehouse.Error
		if _, err := mergeDate(m, 0); !errors.Is(err, warehouse.ErrCorrupt) || !errors.As(err, &typed) || typed.Path != path {
			t.Errorf("%s: %v", name, err)
		}
		if err := s.Files[0].Verify(context.Background()); !errors.Is(err, warehouse.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Files[0].Verify(context.Background()); err != nil {
		t.Error(err)
	}
	wantStored(t, "mended", root, append(items(1, 50), items(2, 50)...)...)
	wantTidy(t, "mended", root)
}

// At its limits a writer stores nothing and returns an error. It continues once there is space.
func TestWriter_RefusesAtLimits(t *testing.T) {
	root := t.TempDir()
	w := openWriter(t, root, Options{MaxBytes: 1000})
	old := item("old-1", noon.Add(-48*time.Hour), 30)
	write(t, w, old)
	_, err := w.Write(context.Background(), items(1, 1))
	if !errors.Is(err, warehouse.ErrFull) || !strings.Contains(err.Error(), "its limit is 1000") {
		t.Fatalf("%v", err)
	}
	m := openMaintainer(t, root, Options{})
	dates, err := m.Dates()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Drop(dates); err != nil {
		t.Fatal(err)
	}
	write(t, w, items(1, 1)...)
	w.opts.MaxBytes, w.opts.MinFree = 0, 1<<62
	if _, err = w.Write(context.Background(), items(2, 1)); !errors.Is(err, warehouse.ErrFull) || !strings.Contains(err.Error(), "must stay free") {
		t.Errorf("%v", err)
	}
}

// A crash at any step of a merge, drop or deletion leaves all rows stored, before or after the replacement.
// Rollups have only listed source files. The next maintenance completes the work and removes leftovers.
func TestMaintainer_CrashAtEveryStep(t *testing.T) {
	first, second, gone := item("p-1", noon, 3), item("p-2", noon, 4), item("old-1", noon.Add(-48*time.Hour), 2)
	setUp := func() (string, *clock) {
		root := t.TempDir()
		w := openWriter(t, root, Options{})
		write(t, w, gone)
		write(t, w, first)
		write(t, w, second)
		w.Close()
		return root, &clock{noon}
	}
	work := func(root string, now *clock, disk disk) error {
		for range 2 {
			m, err := NewMaintainer(root, Options{disk: disk, Now: now.now})
			if err != nil {
				return err
			}
			dates, err := m.Dates()
			if err == nil && dates[0].Date == "2026-11-19" {
				_, err = m.Drop(dates[:1])
				dates = dates[1:]
			}
			if err == nil && len(dates[0].Files) > 1 {
				for n := range dates[0].Files {
					if err == nil {
						_, err = keepSums(m, dates[0].Date, dates[0].Files[:n+1])
					}
				}
				if err == nil {
					err = m.WithoutSums(dates[0].Date, dates[0].Files)
				}
				if err == nil {
					_, err = keepSums(m, dates[0].Date, dates[0].Files)
				}
				if err == nil {
					err = m.DropSums(dates[:1])
				}
				if err == nil {
					_, err = mergeDate(m, 0)
				}
				if err == nil {
					dates, err = m.Dates()
				}
			}
			if err == nil && dates[0].Sums == nil {
				_, err = keepSums(m, dates[0].Date, dates[0].Files)
			}
			if err := errors.Join(err, m.Close()); err != nil {
				return err
			}
			now.t = now.t.Add(2 * time.Hour)
		}
		return nil
	}
	root, now := setUp()
	counted := &flakyDisk{}
	if err := work(root, now, counted); err != nil {
		t.Fatal(err)
	}
	if counted.steps < 30 {
		t.Fatalf("only %d steps", counted.steps)
	}
	for at := 1; at <= counted.steps; at += everyStep(11) {
		for _, mode := range []struct{ after, crash bool }{{false, true}, {true, false}} {
			root, now := setUp()
			disk := &flakyDisk{at: at, after: mode.after, crash: mode.crash}
			err := work(root, now, disk)
			what := "step " + disk.trace[min(at, len(disk.trace))-1]
			if s, oerr := Open(root); oerr != nil {
				t.Fatalf("%s: %v", what, oerr)
			} else if n := s.Rows(); n != 9 && n != 7 {
				t.Fatalf("%s: %d rows", what, n)
			}
			wantSums(t, what, root)
			if err := work(root, now, lazyDisk{}); err != nil {
				t.Fatalf("%s: again: %v", what, err)
			}
			_ = err // can be nil: errors of cleanup steps are ignored
			wantStored(t, what, root, first, second)
			wantTidy(t, what, root)
			paths, err := filepath.Glob(filepath.Join(root, "date=*", "*"))
			if err != nil || len(paths) != 2 || wantSums(t, what, root) != 1 {
				t.Errorf("%s: left over: %v %v, want a file and its sums", what, paths, err)
			}
			w := openWriter(t, root, Options{})
			if res := write(t, w, first, second); res.Rows != 0 {
				t.Errorf("%s: ids were forgotten", what)
			}
			w.Close()
		}
	}
}

// NewWriter refuses a directory with merged files but without CURRENT. If it treated the directory as new, it
// would delete these files as orphans.
func TestNewWriter_CurrentLost(t *testing.T) {
	root := t.TempDir()
	w := openWriter(t, root, Options{})
	write(t, w, items(1, 3)...)
	all := items(1, 3)
	w.Close()
	current := filepath.Join(root, currentName)
	if err := os.Remove(current); err != nil {
		t.Fatal(err)
	}
	w = openWriter(t, root, Options{}) // with raw files only, the start recovers all rows
	wantStored(t, "after one commit", root, all...)
	all = append(all, items(2, 3)...)
	write(t, w, items(2, 3)...)
	w.Close()
	m := openMaintainer(t, root, Options{})
	if _, err := mergeDate(m, 0); err != nil {
		t.Fatal(err)
	}
	m.Close()
	saved, err := os.ReadFile(current)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(current); err != nil {
		t.Fatal(err)
	}
	if _, err := NewWriter(root, Options{}); !errors.Is(err, warehouse.ErrCorrupt) || !strings.Contains(err.Error(), "backup") {
		t.Errorf("a writer begins with %v", err)
	}
	if err := os.WriteFile(current, saved, 0o600); err != nil {
		t.Fatal(err)
	}
	openWriter(t, root, Options{})
	wantStored(t, "restored", root, all...)
}

// Drop returns the dates that it dropped. It keeps a date that got its first files after Dates was called. Such a
// date does not make Drop report failure if the commit that drops the others took effect.
func TestMaintainerDrop_SkipsDatesWithNewRows(t *testing.T) {
	root := t.TempDir()
	w := openWriter(t, root, Options{})
	early := item("early-1", noon.Add(-48*time.Hour), 2)
	today := item("today-1", noon, 2)
	write(t, w, early, item("old-1", noon.Add(-24*time.Hour), 3), today)
	failures := 0
	m := openMaintainer(t, root, Options{}.Inject(func(op, path string, after bool) error {
		if op == "rename" && after && filepath.Base(path) == currentName && failures == 0 {
			failures++
			return errInjected // after it took effect
		}
		return nil
	}))
	dates, err := m.Dates()
	if err != nil || len(dates) != 3 {
		t.Fatal(dates, err)
	}
	dates[0].Files = nil // as before its rows were written
	gone, err := m.Drop(dates[:2])
	if err != nil || len(gone) != 1 || gone[0].Date != dates[1].Date || failures != 1 {
		t.Errorf("%v went, %v, with %d failures", gone, err, failures)
	}
	wantStored(t, "dropped", root, early, today)
	if gone, err = m.Drop(dates[:1]); err != nil || len(gone) > 0 {
		t.Errorf("%v went, %v", gone, err)
	}
}

// Drop returns the files that the dates had when dropped, including those merged or written after Dates was
// called.
func TestMaintainerDrop_ReturnsDroppedDates(t *testing.T) {
	root := t.TempDir()
	w := openWriter(t, root, Options{})
	write(t, w, item("a-1", noon, 3))
	write(t, w, item("b-1", noon, 4))
	m := openMaintainer(t, root, Options{})
	dates, err := m.Dates()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mergeDate(m, 0); err != nil {
		t.Fatal(err)
	}
	write(t, w, item("c-1", noon, 50))
	now, err := m.Dates()
	if err != nil {
		t.Fatal(err)
	}
	gone, err := m.Drop(dates)
	if err != nil || len(gone) != 1 || len(gone[0].Files) != 2 || !reflect.DeepEqual(gone, now) {
		t.Errorf("%+v went, %v, want %+v", gone, err, now)
	}
}

// A maintenance command, which does not know the writer's options, keeps as many item IDs as the writer's
// RememberMax.
func TestMaintainer_KeepsItemWindowOfWriter(t *testing.T) {
	root := t.TempDir()
	now := &clock{noon}
	o := Options{RememberMax: 10_000, Now: now.now}
	w := openWriter(t, root, o)
	var all []methodspan.Item
	for n := range 6 {
		var some []methodspan.Item
		for i := range 50 {
			some = append(some, item(fmt.Sprintf("%d-%d-x", n, i), noon, 1))
		}
		write(t, w, some...)
		all = append(all, some...)
		now.t = now.t.Add(time.Hour)
	}
	m := openMaintainer(t, root, Options{RememberMax: 48, Now: now.now})
	if _, err := mergeDate(m, 0); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if res := write(t, openWriter(t, root, o), all...); res.DuplicateItems != len(all) {
		t.Errorf("%d of %d items are known", res.DuplicateItems, len(all))
	}
}
