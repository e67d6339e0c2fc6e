package table

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
)

// keepSums adds a rollup with one row, made from the given files of a date.
func keepSums(m *Maintainer, date string, of []parquet.File) (parquet.File, error) {
	return m.AddPreaggregated(context.Background(), date, of, Output{Level: methodspan.LevelHour, NoIDs: true}, func(add func(*methodspan.Row) error) error {
		sum := methodspan.Row{Resource: shop, Kind: methodspan.KindAggregate, Level: methodspan.LevelHour, Class: "c", Method: "m", P: 1}
		for _, f := range of {
			rows, err := parquet.ReadRows(f.Path)
			if err != nil {
				return err
			}
			for i := range rows {
				if r := &rows[i]; sum.Measured == 0 || r.StartNS < sum.StartNS {
					sum.StartNS, sum.EndNS = r.StartNS, r.EndNS
				}
				sum.Measured += rows[i].Measured
			}
		}
		return add(&sum)
	})
}

// wantSums checks that all rollups of the newest snapshot agree with their source files. It returns the number of
// source files.
func wantSums(t *testing.T, what, root string) (of int) {
	t.Helper()
	s, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, sums := range s.Sums {
		var want int64
		for _, path := range sums.Of {
			i := slices.IndexFunc(s.Files, func(f parquet.File) bool { return f.Path == path && f.Date == sums.Date })
			if i < 0 {
				t.Fatalf("%s: %s is of %s, which does not count", what, sums.Path, path)
			}
			want += s.Files[i].Rows // each row has one measurement
		}
		if slices.ContainsFunc(s.Files, func(f parquet.File) bool { return f.Path == sums.Path || f.Kind == KindPreaggregated }) {
			t.Fatalf("%s: the sums count", what)
		}
		if name := filepath.Base(sums.Path); sums.Kind != KindPreaggregated || !strings.HasPrefix(name, "beside-") {
			t.Fatalf("%s: the sums are called %s, of kind %s", what, name, sums.Kind)
		}
		if err := sums.Verify(t.Context()); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		rows, err := parquet.ReadRows(sums.Path)
		if err != nil || len(rows) != 1 || int64(len(rows)) != sums.Rows || rows[0].Measured != want || sums.Level != methodspan.LevelHour {
			t.Fatalf("%s: %+v of level %s, %v, want %d measurements", what, rows, sums.Level, err, want)
		}
		of += len(sums.Of)
	}
	return of
}

// dateFiles returns the names of all files in the directories of dates.
func dateFiles(t *testing.T, root string) (names []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "date=*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		names = append(names, filepath.Base(p))
	}
	return names
}

func onlyDate(t *testing.T, m *Maintainer) Date {
	t.Helper()
	dates, err := m.Dates()
	if err != nil || len(dates) != 1 {
		t.Fatal(dates, err)
	}
	return dates[0]
}

// The rollup of a date stays while all its source files are listed, even if files are added. It is deleted once one
// of them is removed, or another rollup replaces it.
func TestRollup_KeptWithItsFiles(t *testing.T) {
	root, now := t.TempDir(), &clock{noon}
	w := openWriter(t, root, Options{Now: now.now})
	var all []methodspan.Item
	put := func() {
		more := items(len(all), 3)
		all = append(all, more...)
		write(t, w, more...)
	}
	put()
	put()
	m := openMaintainer(t, root, Options{Now: now.now})
	want := func(what string, of, files int) {
		t.Helper()
		m.Close()
		m = openMaintainer(t, root, Options{Now: now.now}) // deletes files that no manifest lists
		wantStored(t, what, root, all...)
		if got := wantSums(t, what, root); got != of {
			t.Fatalf("%s: sums of %d files, want %d", what, got, of)
		}
		if got := dateFiles(t, root); len(got) != files {
			t.Fatalf("%s: %v on the disk, want %d files", what, got, files)
		}
		d := onlyDate(t, m)
		if (d.Sums != nil) != (of > 0) || of > 0 && len(d.Sums.Of) != of {
			t.Fatalf("%s: maintenance knows of %+v", what, d.Sums)
		}
		size := int64(0)
		for _, f := range d.Files {
			size += f.Bytes
		}
		if d.Sums != nil {
			size += d.Sums.Bytes
		}
		if counting, _, err := m.Size(); err != nil || counting != size {
			t.Fatalf("%s: %d bytes, %v, want %d with the sums", what, counting, err, size)
		}
	}
	keep := func(files ...int) {
		t.Helper()
		d := onlyDate(t, m)
		var of []parquet.File
		for _, i := range files {
			of = append(of, d.Files[i])
		}
		made, err := keepSums(m, d.Date, of)
		if err != nil {
			t.Fatal(err)
		}
		if got := onlyDate(t, m).Sums; got.Path != made.Path || got.Bytes != made.Bytes || got.Committed != now.t {
			t.Fatalf("%+v became %+v", made, got)
		}
	}
	// later advances the clock to the end of the readers' grace period.
	later := func() { now.t = now.t.Add(DefaultGrace) }
	want("at first", 0, 2)
	keep(0, 1)
	want("kept", 2, 3)
	put()
	want("a late row", 2, 4)
	w.Close()
	w = openWriter(t, root, Options{Now: now.now})
	put()
	later()
	want("a restart of both", 2, 5)
	d := onlyDate(t, m)
	if _, err := m.Merge(t.Context(), d.Date, d.Files[2:], Output{Kind: KindMerge}); err != nil {
		t.Fatal(err)
	}
	want("others merged", 2, 6)
	later()
	want("others gone", 2, 4)
	keep(0, 2)
	want("other sums", 2, 5)
	before := onlyDate(t, m).Sums
	later()
	want("the former sums gone", 2, 4)
	if _, err := os.Stat(before.Path); err != nil {
		t.Error(err)
	}
	d = onlyDate(t, m)
	if _, err := m.Merge(t.Context(), d.Date, d.Files[:2], Output{Kind: KindMerge}); err != nil {
		t.Fatal(err)
	}
	want("one of theirs merged", 0, 5)
	if _, err := parquet.ReadRows(before.Path); err != nil {
		t.Errorf("a reader lost its sums: %v", err)
	}
	later()
	want("the sums gone", 0, 2)
	keep(0, 1)
	if _, err := m.Replace(t.Context(), d.Date, onlyDate(t, m).Files, Output{Kind: KindMerge}, func(func(*methodspan.Row) error) error { return nil }); err != nil {
		t.Fatal(err)
	}
	later()
	m.Close()
	openMaintainer(t, root, Options{Now: now.now})
	if got := dateFiles(t, root); len(got) > 0 {
		t.Errorf("left are %v", got)
	}
}

// The rollup of a date is dropped with it, and is part of the dates that Drop returns.
func TestRollup_DroppedWithDate(t *testing.T) {
	root, now := t.TempDir(), &clock{noon}
	w := openWriter(t, root, Options{Now: now.now})
	write(t, w, item("a", noon, 3))
	m := openMaintainer(t, root, Options{Now: now.now})
	d := onlyDate(t, m)
	if _, err := keepSums(m, d.Date, d.Files); err != nil {
		t.Fatal(err)
	}
	d = onlyDate(t, m)
	gone, err := m.Drop([]Date{d})
	if err != nil || !reflect.DeepEqual(gone, []Date{d}) || gone[0].Sums == nil {
		t.Errorf("%+v went, %v", gone, err)
	}
	for _, left := range []int{2, 0} { // during the readers' grace period, then after it
		m.Close()
		m = openMaintainer(t, root, Options{Now: now.now})
		if got := dateFiles(t, root); len(got) != left {
			t.Errorf("left are %v, want %d files", got, left)
		}
		now.t = now.t.Add(DefaultGrace)
	}
}

// AddPreaggregated adds no rollup and leaves no file if a source file was removed, no source file is given, or no
// row is added.
func TestAddPreaggregated_NothingToAdd(t *testing.T) {
	root := t.TempDir()
	w := openWriter(t, root, Options{})
	write(t, w, items(1, 3)...)
	write(t, w, items(2, 3)...)
	m := openMaintainer(t, root, Options{})
	before := onlyDate(t, m)
	if _, err := m.Merge(t.Context(), before.Date, before.Files[1:], Output{Kind: KindMerge}); err != nil {
		t.Fatal(err)
	}
	files := dateFiles(t, root)
	if _, err := keepSums(m, before.Date, before.Files); !errors.Is(err, errGone) {
		t.Errorf("%v", err)
	}
	if _, err := keepSums(m, before.Date, nil); err == nil {
		t.Error("sums of nothing")
	}
	made, err := m.AddPreaggregated(t.Context(), before.Date, before.Files[:1], Output{}, func(func(*methodspan.Row) error) error { return nil })
	if err != nil || made != (parquet.File{}) {
		t.Errorf("%+v %v", made, err)
	}
	if got := dateFiles(t, root); !slices.Equal(got, files) {
		t.Errorf("left are %v, want %v", got, files)
	}
	if of := wantSums(t, "none", root); of != 0 {
		t.Errorf("sums of %d files", of)
	}
}

// If committing a rollup fails before or after it takes effect, the rollup and its file are both absent or both
// present.
func TestRollup_UnknownOutcome(t *testing.T) {
	for _, after := range []bool{false, true} {
		root := t.TempDir()
		w := openWriter(t, root, Options{})
		write(t, w, items(1, 3)...)
		failures := 0
		m := openMaintainer(t, root, Options{}.Inject(func(op, path string, then bool) error {
			if op == "rename" && then == after && filepath.Base(path) == currentName && failures == 0 {
				failures++
				return errInjected
			}
			return nil
		}))
		d := onlyDate(t, m)
		_, err := keepSums(m, d.Date, d.Files)
		if (err == nil) != after || failures != 1 {
			t.Fatalf("after %v: %v with %d failures", after, err, failures)
		}
		if of := wantSums(t, "then", root); (of == 1) != after {
			t.Errorf("after %v: sums of %d files", after, of)
		}
		if got := dateFiles(t, root); (len(got) == 2) != after {
			t.Errorf("after %v: left are %v", after, got)
		}
	}
}

// rewriteDate edits the manifest of the only date, as another program could.
func rewriteDate(t *testing.T, m *Maintainer, change func(map[string]any)) {
	t.Helper()
	err := m.publish(noon, func(c *commit, next *state) error {
		before, err := next.load(m.root, next.Dates[0].Date)
		if err != nil {
			return err
		}
		data, err := json.Marshal(before.manifest)
		if err != nil {
			return err
		}
		fields, after := map[string]any{}, &dateManifest{}
		if err := json.Unmarshal(data, &fields); err != nil {
			return err
		}
		change(fields)
		if data, err = json.Marshal(fields); err != nil {
			return err
		}
		if err := json.Unmarshal(data, after); err != nil {
			return err
		}
		return c.setDate(next, before, before.ref, after)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A rollup file that the manifest does not list is not read. The next maintenance deletes it and does not count
// its bytes.
func TestRollup_NotNamedByManifest(t *testing.T) {
	root := t.TempDir()
	w := openWriter(t, root, Options{})
	first, second := item("a", noon, 3), item("b", noon, 2)
	write(t, w, first)
	write(t, w, second)
	m := openMaintainer(t, root, Options{})
	d := onlyDate(t, m)
	if _, err := keepSums(m, d.Date, d.Files); err != nil {
		t.Fatal(err)
	}
	rewriteDate(t, m, func(fields map[string]any) {
		if fields["sums"] == nil {
			t.Error("the manifest has no sums")
		}
		delete(fields, "sums")
	})
	wantStored(t, "forgotten", root, first, second)
	if of := wantSums(t, "forgotten", root); of != 0 {
		t.Errorf("sums of %d files", of)
	}
	m.Close()
	m = openMaintainer(t, root, Options{})
	if got := dateFiles(t, root); len(got) != 2 || m.Removed() != 1 {
		t.Errorf("left are %v", got)
	}
	d = onlyDate(t, m)
	if _, err := keepSums(m, d.Date, d.Files); err != nil {
		t.Fatal(err)
	}
	want := d.Files[0].Bytes + d.Files[1].Bytes + onlyDate(t, m).Sums.Bytes
	if counting, _, err := m.Size(); err != nil || counting != want {
		t.Errorf("%d bytes, %v, want %d", counting, err, want)
	}
}

// A rollup is ignored if a source file is not listed or it has none. A manifest that names a rollup outside its date
// is corrupt.
func TestRollup_InvalidInManifest(t *testing.T) {
	root := t.TempDir()
	w := openWriter(t, root, Options{})
	a := item("a", noon, 3)
	write(t, w, a)
	m := openMaintainer(t, root, Options{})
	d := onlyDate(t, m)
	if _, err := keepSums(m, d.Date, d.Files); err != nil {
		t.Fatal(err)
	}
	edit := func(key string, value any) {
		t.Helper()
		rewriteDate(t, m, func(fields map[string]any) { fields["sums"].(map[string]any)[key] = value })
	}
	of := []string{warehouse.DatePrefix + d.Date + "/" + filepath.Base(d.Files[0].Path)}
	for _, of := range [][]string{append(of, warehouse.DatePrefix+d.Date+"/raw-000000000099.parquet"), {}} {
		edit("of", of)
		wantStored(t, "of "+fmt.Sprint(of), root, a)
		if n := wantSums(t, "of "+fmt.Sprint(of), root); n != 0 || onlyDate(t, m).Sums != nil || len(treeOf(t, root).Sums) > 0 {
			t.Errorf("%v: sums of %d files", of, n)
		}
	}
	edit("of", of)
	if n := wantSums(t, "mended", root); n != 1 {
		t.Errorf("sums of %d files", n)
	}
	edit("path", "../elsewhere.parquet")
	if _, err := Open(root); !errors.Is(err, warehouse.ErrCorrupt) || !strings.Contains(err.Error(), "elsewhere") {
		t.Errorf("%v", err)
	}
}

// A directory with rollups that lost CURRENT is not refused if all rows are in raw files. The rollups are deleted.
func TestRollup_CurrentLost(t *testing.T) {
	root := t.TempDir()
	w := openWriter(t, root, Options{})
	a := item("a", noon, 3)
	write(t, w, a)
	w.Close()
	m := openMaintainer(t, root, Options{})
	d := onlyDate(t, m)
	if _, err := keepSums(m, d.Date, d.Files); err != nil {
		t.Fatal(err)
	}
	m.Close()
	if err := os.Remove(filepath.Join(root, currentName)); err != nil {
		t.Fatal(err)
	}
	openWriter(t, root, Options{}).Close()
	openMaintainer(t, root, Options{})
	wantStored(t, "lost", root, a)
	if got := dateFiles(t, root); len(got) != 1 || wantSums(t, "lost", root) != 0 {
		t.Errorf("left are %v", got)
	}
}

// The objects of a tree include the rollups, after the files of rows.
func TestTree_ContainsRollups(t *testing.T) {
	root, now := t.TempDir(), &clock{noon}
	w := openWriter(t, root, Options{Now: now.now})
	yesterday := noon.AddDate(0, 0, -1)
	write(t, w, item("a", noon, 3), item("b", yesterday, 2))
	write(t, w, item("c", noon, 1))
	before := treeOf(t, root)
	now.t = now.t.Add(time.Minute)
	m := openMaintainer(t, root, Options{Now: now.now})
	dates, err := m.Dates()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dates {
		if _, err := keepSums(m, d.Date, d.Files); err != nil {
			t.Fatal(err)
		}
	}
	tree := treeOf(t, root)
	if len(tree.Files) != 3 || len(tree.Sums) != 2 || len(tree.Objects) != 5 {
		t.Fatalf("%d files, %d sums, %d objects", len(tree.Files), len(tree.Sums), len(tree.Objects))
	}
	for i, o := range tree.Objects {
		f := tree.Sums[max(0, i-len(tree.Files))].File
		if i < len(tree.Files) {
			f = tree.Files[i]
		}
		if filepath.Join(root, o.Path) != f.Path || o.Checksum != f.Checksum || o.Bytes != f.Bytes {
			t.Errorf("object %d is %+v, want %s", i, o, f.Path)
		}
	}
	var newer []string
	for _, f := range tree.Newer(before.Sequence, before.Committed) {
		newer = append(newer, f.Path)
	}
	if want := []string{tree.Sums[0].Path, tree.Sums[1].Path}; !slices.Equal(newer, want) {
		t.Errorf("newer are %v, want %v", newer, want)
	}
}

// Rebase takes over the rollups of the other directory and drops its own.
func TestRebase_TakesRollups(t *testing.T) {
	a, b, later := item("a", noon, 3), item("b", noon, 2), item("later", noon, 4)
	ours, other, sequence := shared(t, a, b)
	var made []parquet.File
	for _, root := range []string{ours, other} {
		m := openMaintainer(t, root, Options{})
		d := onlyDate(t, m)
		if root == other {
			if _, err := mergeDate(m, 0); err != nil {
				t.Fatal(err)
			}
			d = onlyDate(t, m)
		}
		sums, err := keepSums(m, d.Date, d.Files)
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, sums)
		m.Close()
	}
	now := &clock{noon}
	w := openWriter(t, ours, Options{Now: now.now})
	write(t, w, later)
	if err := w.Rebase(other, treeOf(t, other), sequence); err != nil {
		t.Fatal(err)
	}
	bringFiles(t, other, ours)
	wantStored(t, "taken over", ours, a, b, later)
	if of := wantSums(t, "taken over", ours); of != 1 {
		t.Errorf("sums of %d files", of)
	}
	if tree := treeOf(t, ours); len(tree.Sums) != 1 || filepath.Base(tree.Sums[0].Path) != filepath.Base(made[1].Path) {
		t.Errorf("%+v", tree.Sums)
	}
	now.t = now.t.Add(DefaultGrace)
	write(t, w, item("last", noon, 1))
	if _, err := os.Stat(made[0].Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("our own sums are left: %v", err)
	}
}
