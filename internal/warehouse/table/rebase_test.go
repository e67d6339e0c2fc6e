package table

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
)

// shared creates a warehouse and a copy of it, like a local directory and its bucket. It returns the last sequence
// number of both.
func shared(t *testing.T, items ...methodspan.Item) (ours, other string, sequence int64) {
	t.Helper()
	ours, other = t.TempDir(), t.TempDir()
	w := openWriter(t, ours, Options{})
	for _, it := range items {
		write(t, w, it)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(other, os.DirFS(ours)); err != nil {
		t.Fatal(err)
	}
	return ours, other, w.sequence
}

func treeOf(t testing.TB, root string) *Tree {
	t.Helper()
	tree, err := CurrentTree(root)
	if err != nil || tree == nil {
		t.Fatal(tree, err)
	}
	return tree
}

// bringFiles copies missing files of the warehouse in to from the directory from, as a download would.
func bringFiles(t testing.TB, from, to string) {
	t.Helper()
	for _, o := range treeOf(t, to).Objects {
		path := filepath.Join(to, o.Path)
		if _, err := os.Stat(path); err == nil {
			continue
		}
		data, err := os.ReadFile(filepath.Join(from, o.Path))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Maintenance has merged a copy while this directory got more writes. If any step of Rebase fails or the machine
// crashes there, the rows of both are kept, and the next Rebase succeeds.
func TestRebase_FaultAtEveryStep(t *testing.T) {
	yesterday := noon.AddDate(0, 0, -1)
	var common []methodspan.Item
	for i := range 4 {
		common = append(common, item(fmt.Sprint("common-", i), noon.AddDate(0, 0, -i%2), 3))
	}
	later := []methodspan.Item{item("later-1", noon, 3), item("later-2", yesterday, 3), item("later-3", noon.AddDate(0, 0, 1).Add(-time.Hour), 2)}
	all := slices.Concat(common, later)
	try := func(t *testing.T, at int, crash, after bool) (steps int) {
		what := fmt.Sprintf("step %d, crash %v, after %v", at, crash, after)
		ours, other, sequence := shared(t, common...)
		m := openMaintainer(t, other, Options{})
		for date := range 2 {
			if _, err := mergeDate(m, date); err != nil {
				t.Fatal(err)
			}
		}
		failed, dead := false, false
		inject := func(_, _ string, then bool) error {
			if dead {
				return errInjected
			}
			if !then {
				steps++
			}
			if steps == at && then == after {
				failed, dead = true, crash
				return errInjected
			}
			return nil
		}
		w := openWriter(t, ours, Options{})
		for _, it := range later {
			write(t, w, it)
		}
		w.opts = w.opts.Inject(inject)
		err := w.Rebase(other, treeOf(t, other), sequence)
		if failed != (err != nil) {
			t.Errorf("%s: %v", what, err)
		}
		wantStored(t, what+", as readers see it", whole(t, other, ours), all...)
		w.opts.disk = lazyDisk{}
		if crash {
			w.Close()
			w = openWriter(t, ours, Options{})
		}
		if err := w.Rebase(other, treeOf(t, other), sequence); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if g := treeOf(t, ours).Generation; g <= treeOf(t, other).Generation {
			t.Errorf("%s: generation %d", what, g)
		}
		for _, it := range all {
			if res := write(t, w, it); res.DuplicateItems != 1 {
				t.Errorf("%s: %s is not remembered", what, it.ID)
			}
		}
		last := item("last", noon, 1)
		write(t, w, last)
		w.Close()
		wantStored(t, what, whole(t, other, ours), append(all[:len(all):len(all)], last)...)
		if failed {
			return steps
		}
		merged := openMaintainer(t, whole(t, other, ours), Options{})
		for date := range 3 {
			if _, err := mergeDate(merged, date); err != nil {
				t.Fatal(err)
			}
		}
		wantStored(t, what, merged.root, append(all[:len(all):len(all)], last)...)
		return steps
	}
	steps := try(t, 1<<30, false, false)
	if steps < 20 {
		t.Fatalf("%d steps", steps)
	}
	for at := 1; at <= steps; at += everyStep(5) {
		try(t, at, false, false)
		try(t, at, false, true)
		try(t, at, true, false)
	}
}

// whole returns a copy of ours in which all listed files exist; files missing there come from other.
func whole(t testing.TB, other, ours string) string {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS(ours)); err != nil {
		t.Fatal(err)
	}
	bringFiles(t, other, root)
	return root
}

// Another writer has written raw files with the same names. Without new rows of its own the directory takes them
// over; otherwise Rebase returns ErrApart and changes nothing.
func TestRebase_AnotherWriter(t *testing.T) {
	a, b, c, d := item("a", noon, 2), item("b", noon, 2), item("c", noon, 2), item("d", noon, 2)
	ours, other, sequence := shared(t, a)
	theirs := openWriter(t, other, Options{})
	write(t, theirs, b)
	theirs.Close()
	w := openWriter(t, ours, Options{})
	if err := w.Rebase(other, treeOf(t, other), sequence); err != nil {
		t.Fatal(err)
	}
	if res := write(t, w, b, c); res.DuplicateItems != 1 {
		t.Errorf("b is not remembered: %+v", res)
	}
	wantStored(t, "taken over", whole(t, other, ours), a, b, c)

	before := treeOf(t, ours)
	theirs = openWriter(t, other, Options{})
	write(t, theirs, d)
	if err := w.Rebase(other, treeOf(t, other), sequence); !errors.Is(err, ErrApart) {
		t.Errorf("%v", err)
	}
	if after := treeOf(t, ours); after.Checksum != before.Checksum {
		t.Errorf("generation %d became %d", before.Generation, after.Generation)
	}
	write(t, w, d)
	wantStored(t, "apart", whole(t, other, ours), a, b, c, d)
}

// Rebase handles dates whose files are listed in parts. It returns ErrApart if this directory has rows of a date
// that the other has dropped.
func TestRebase_ManyFiles(t *testing.T) {
	var common []methodspan.Item
	for i := range filesPerPart + 3 {
		common = append(common, item(fmt.Sprint("common-", i), noon, 1))
	}
	ours, other, sequence := shared(t, common...)
	w := openWriter(t, ours, Options{Grace: time.Nanosecond})
	later := item("later", noon, 1)
	write(t, w, later)
	if err := w.Rebase(other, treeOf(t, other), sequence); err != nil {
		t.Fatal(err)
	}
	write(t, w, item("last", noon, 1))
	wantStored(t, "many files", whole(t, other, ours), append(common, later, item("last", noon, 1))...)

	m := openMaintainer(t, other, Options{})
	if _, err := mergeDate(m, 0); err != nil {
		t.Fatal(err)
	}
	tree := treeOf(t, other)
	if _, err := m.Drop([]Date{{Date: tree.Dates[0], Files: tree.Files}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Rebase(other, treeOf(t, other), sequence); !errors.Is(err, ErrApart) {
		t.Errorf("rows of a date that the other has dropped: %v", err)
	}
	w.Close()
	if err := w.Rebase(other, treeOf(t, other), sequence); !errors.Is(err, warehouse.ErrClosed) {
		t.Error(err)
	}
}
