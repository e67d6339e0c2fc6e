package table

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
)

// A warehouse copied while in use, in the documented order, has files of several commits that its manifest does
// not list. The copy recovers them and keeps them beyond the grace period of manifests, even if their date gets
// no more rows.
func TestWriter_CopiedWhileInUse(t *testing.T) {
	root, backup := t.TempDir(), t.TempDir()
	c := &clock{noon}
	w := openWriter(t, root, Options{Now: c.now})
	var all []methodspan.Item
	put := func() {
		it := item(fmt.Sprintf("item-%d", len(all)), c.t, 2)
		write(t, w, it)
		all = append(all, it)
		c.t = c.t.Add(time.Second)
	}
	put()
	current, err := os.ReadFile(filepath.Join(root, currentName))
	if err != nil {
		t.Fatal(err)
	}
	put()
	if err := os.CopyFS(filepath.Join(backup, manifestDir), os.DirFS(filepath.Join(root, manifestDir))); err != nil {
		t.Fatal(err)
	}
	put()
	date := warehouse.DatePrefix + noon.Format(warehouse.DateLayout)
	if err := os.CopyFS(filepath.Join(backup, date), os.DirFS(filepath.Join(root, date))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(backup, currentName), current, 0o600); err != nil {
		t.Fatal(err)
	}
	w.Close()

	c.t = noon.Add(13 * time.Hour)
	w = openWriter(t, backup, Options{Now: c.now})
	if n := w.Recovered().FilesAdopted; n != 2 {
		t.Fatalf("%d files were adopted, want 2", n)
	}
	for range 12 {
		put()
		wantStored(t, c.t.Format(time.TimeOnly), backup, all...)
		c.t = c.t.Add(time.Minute)
	}
	w.Close()
	w = openWriter(t, backup, Options{Now: c.now})
	for i, it := range all {
		if res := write(t, w, it); res.DuplicateItems != 1 {
			t.Errorf("item %d was forgotten", i)
		}
	}
}

// A start recovers more files of one date than the date's manifest lists itself, outside of its parts.
func TestRecovery_FillsSeveralParts(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	root := t.TempDir()
	disk := &stuckDisk{works: true}
	c := &clock{noon}
	w := openWriter(t, root, Options{disk: disk, Now: c.now})
	all := []methodspan.Item{item("before-1", noon, 2)}
	write(t, w, all...)
	disk.works = false
	for i := range 2*filesPerPart + 8 {
		it := item(fmt.Sprintf("%d-1", i), noon, 1)
		fail(t, w, it)
		all = append(all, it)
	}
	w.Close()
	w = openWriter(t, root, Options{Now: c.now})
	wantStored(t, "adopted", root, all...)
	c.t = noon.Add(time.Hour)
	it := item("after-1", c.t, 1)
	write(t, w, it)
	w.Close()
	openWriter(t, root, Options{Now: c.now})
	wantStored(t, "started again", root, append(all, it)...)
}

// A start that recovers files of several dates fails, or the machine crashes, before and after each file system
// step. The next start stores every row once, also beyond the grace period.
func TestRecovery_StoppedAtEveryStep(t *testing.T) {
	before := t.TempDir()
	disk := &stuckDisk{works: true}
	w := openWriter(t, before, Options{disk: disk})
	all := []methodspan.Item{item("before-1", noon, 2)}
	write(t, w, all...)
	disk.works = false
	for i := range 4 {
		it := item(fmt.Sprintf("%d-1", i), noon, 2)
		if i%2 == 1 { // spans two dates
			it.Rows = slices.Concat(it.Rows, item(it.ID, noon.AddDate(0, 0, -1), 2).Rows)
			for j := range it.Rows {
				it.Rows[j].RowSeq = int32(j)
			}
		}
		fail(t, w, it)
		all = append(all, it)
	}
	more := item("more-1", noon, 1)
	fail(t, w, all[2], more) // repeats all[2], which an earlier file contains
	all = append(all, more)
	w.Close()

	stop := func(at int, dies, after bool) (steps int) {
		what := fmt.Sprintf("step %d, dies %v, after it %v", at, dies, after)
		root := t.TempDir()
		if err := os.CopyFS(root, os.DirFS(before)); err != nil {
			t.Fatal(err)
		}
		dead := false
		c := &clock{noon}
		w, err := NewWriter(root, Options{Now: c.now, disk: lazyDisk{}}.Inject(func(_, _ string, done bool) error {
			if !done {
				steps++
			}
			if dead || steps == at && done == after {
				dead = dies
				return errInjected
			}
			return nil
		}))
		if err == nil {
			w.Close()
		}
		w = openWriter(t, root, Options{Now: c.now})
		wantStored(t, what, root, all...)
		want := all[:len(all):len(all)]
		for i, later := range []time.Duration{12 * time.Hour, 11 * time.Minute} { // into the next date, then beyond the grace period
			c.t = c.t.Add(later)
			it := item(fmt.Sprintf("next-%d", i), c.t, 1)
			write(t, w, it)
			want = append(want, it)
			wantStored(t, what, root, want...)
		}
		for _, it := range want {
			if res := write(t, w, it); res.DuplicateItems != 1 {
				t.Errorf("%s: %s was forgotten", what, it.ID)
			}
		}
		w.Close()
		return steps
	}
	steps := stop(0, false, false)
	if steps < 10 {
		t.Fatalf("a start does %d things", steps)
	}
	for at := 1; at <= steps; at += everyStep(7) {
		for _, dies := range []bool{false, true} {
			for _, after := range []bool{false, true} {
				stop(at, dies, after)
			}
		}
	}
}
