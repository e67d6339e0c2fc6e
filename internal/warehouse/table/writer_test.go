package table

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	pq "github.com/parquet-go/parquet-go"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/rowtest"
)

// The rows of the tests.
var noon, shop, item = rowtest.Noon, rowtest.Shop, rowtest.Item

// clock is a settable time for Options.Now.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

func openWriter(t testing.TB, root string, o Options) *Writer {
	t.Helper()
	if o.Now == nil {
		o.Now = (&clock{noon}).now
	}
	if o.disk == nil {
		o.disk = lazyDisk{}
	}
	w, err := NewWriter(root, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func write(t testing.TB, w *Writer, items ...methodspan.Item) warehouse.Result {
	t.Helper()
	res, err := w.Write(context.Background(), items)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// stored reads every row of the newest snapshot.
func stored(t testing.TB, root string) []methodspan.Row {
	t.Helper()
	s, err := Open(root)
	if errors.Is(err, warehouse.ErrEmpty) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var all []methodspan.Row
	for _, f := range s.Files {
		rows, err := parquet.ReadRows(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(rows)) != f.Rows {
			t.Fatalf("%s has %d rows, its manifest says %d", f.Path, len(rows), f.Rows)
		}
		all = append(all, rows...)
	}
	return all
}

// lazyDisk is the real disk without syncs, for tests that do not simulate a power failure.
type lazyDisk struct{ osDisk }

func (lazyDisk) syncDir(string) error { return nil }

func (d lazyDisk) create(path string) (diskFile, error) {
	f, err := d.osDisk.create(path)
	if err != nil {
		return nil, err
	}
	return lazyFile{f}, nil
}

type lazyFile struct{ diskFile }

func (lazyFile) Sync() error { return nil }

// place identifies a stored row.
type place struct {
	BatchID string `parquet:"batch_id,optional,dict"`
	RowSeq  int32  `parquet:"row_seq"`
}

// storedPlaces is a faster places(stored(t, root)).
func storedPlaces(t testing.TB, root string) []string {
	t.Helper()
	s, err := Open(root)
	if errors.Is(err, warehouse.ErrEmpty) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var p []string
	for _, f := range s.Files {
		found := placesOf(t, f.Path)
		if int64(len(found)) != f.Rows {
			t.Fatalf("%s has %d rows, its manifest says %d", f.Path, len(found), f.Rows)
		}
		p = append(p, found...)
	}
	slices.Sort(p)
	return p
}

// placesRead caches the places of files, by path, size and modification time.
var placesRead = map[string][]string{}

func placesOf(t testing.TB, path string) (p []string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	key := fmt.Sprint(path, info.Size(), info.ModTime())
	if p, ok := placesRead[key]; ok {
		return p
	}
	rows, err := pq.ReadFile[place](path)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		p = append(p, fmt.Sprintf("%s/%d", r.BatchID, r.RowSeq))
	}
	placesRead[key] = p
	return p
}

// places returns "item/row" for every stored row, sorted. Duplicates stay visible.
func places(rows []methodspan.Row) []string {
	var p []string
	for _, r := range rows {
		p = append(p, fmt.Sprintf("%s/%d", r.BatchID, r.RowSeq))
	}
	slices.Sort(p)
	return p
}

func wantPlaces(items ...methodspan.Item) []string {
	var all []methodspan.Row
	for _, it := range items {
		all = append(all, it.Rows...)
	}
	return places(all)
}

func TestWriter_ThenOpen(t *testing.T) {
	root := t.TempDir()
	w := openWriter(t, root, Options{})
	a, b := item("p1-1", noon.Add(-2*time.Second), 5), item("p1-2", noon.Add(-24*time.Hour), 3)
	res := write(t, w, a, b)
	if res.Rows != 8 || res.Items != 2 || res.Files != 2 || res.Generation != 1 {
		t.Errorf("result: %+v", res)
	}
	if got, want := places(stored(t, root)), wantPlaces(a, b); !slices.Equal(got, want) {
		t.Errorf("stored %v, want %v", got, want)
	}
	s, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(startedIn(s.Files, noon.Add(-time.Hour), time.Time{})); n != 1 {
		t.Errorf("%d files hold the last hour, want 1", n)
	}
	if n := len(startedIn(s.Files, time.Time{}, noon.Add(-time.Hour))); n != 1 {
		t.Errorf("%d files hold what was before, want 1", n)
	}
	if s.Rows() != 8 || s.Files[0].Date != "2026-11-20" || s.Files[1].Date != "2026-11-21" {
		t.Errorf("snapshot: %+v", s)
	}
}

// A writer notices if its CURRENT is replaced by an older one: the next commit would lose all later rows.
func TestWriter_CurrentReplacedByOlder(t *testing.T) {
	root := t.TempDir()
	w := openWriter(t, root, Options{})
	write(t, w, items(1, 3)...)
	current := filepath.Join(root, currentName)
	older, err := os.ReadFile(current)
	if err != nil {
		t.Fatal(err)
	}
	write(t, w, items(2, 3)...)
	newer, err := os.ReadFile(current)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(current, older, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(context.Background(), items(3, 3)); !errors.Is(err, warehouse.ErrCorrupt) || !strings.Contains(err.Error(), "generation 1, and 2 counted") {
		t.Error(err)
	}
	if err := os.WriteFile(current, newer, 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, w, items(3, 3)...)
	wantStored(t, "brought back", root, append(append(items(1, 3), items(2, 3)...), items(3, 3)...)...)
}

func TestWriter_SkipsDuplicatesAfterRestart(t *testing.T) {
	root := t.TempDir()
	w := openWriter(t, root, Options{})
	a := item("p1-1", noon, 5)
	fold := item("fold-x", noon, 2)
	fold.Folds = []string{"p1-3", "p1-4"}
	write(t, w, a, fold, a)
	for restart := range 2 {
		for _, id := range []string{"p1-1", "fold-x", "p1-3", "p1-4"} {
			res := write(t, w, item(id, noon, 1))
			if res.DuplicateItems != 1 || res.DuplicateRows != 1 || res.Rows != 0 {
				t.Errorf("restart %d, %s: %+v", restart, id, res)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		w = openWriter(t, root, Options{})
	}
	if got, want := places(stored(t, root)), wantPlaces(a, fold); !slices.Equal(got, want) {
		t.Errorf("stored %v, want %v", got, want)
	}
}

func items(n, rows int) []methodspan.Item {
	return []methodspan.Item{item(fmt.Sprintf("p-%d", n), noon, rows)}
}

// wantManifests checks that there are at most most manifests.
func wantManifests(t *testing.T, root string, most int) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root, manifestDir))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) > most {
		t.Errorf("%d manifests are left, want %d at most", len(entries), most)
	}
}

// Replaced manifests are kept for the grace period, also across a restart, and no longer.
func TestWriter_KeepsManifestsForGrace(t *testing.T) {
	root := t.TempDir()
	now := &clock{noon}
	w := openWriter(t, root, Options{Now: now.now, Grace: 10 * time.Minute})
	for i := range 5 {
		write(t, w, items(i, 1)...)
	}
	wantManifests(t, root, 10)
	if entries, _ := os.ReadDir(filepath.Join(root, manifestDir)); len(entries) != 10 {
		t.Errorf("%d manifests within the grace, want all 10", len(entries))
	}
	w.Close()
	now.t = now.t.Add(time.Hour)
	w = openWriter(t, root, Options{Now: now.now, Grace: 10 * time.Minute})
	write(t, w, items(5, 1)...)
	if entries, _ := os.ReadDir(filepath.Join(root, manifestDir)); len(entries) != 12 {
		t.Errorf("%d manifests right after a start, want all 12: readers may have them open", len(entries))
	}
	now.t = now.t.Add(11 * time.Minute)
	write(t, w, items(6, 1)...)
	wantManifests(t, root, 4)
	now.t = now.t.Add(11 * time.Minute)
	write(t, w, items(7, 1)...)
	wantManifests(t, root, 4)
	if n := len(storedPlaces(t, root)); n != 8 {
		t.Errorf("%d rows", n)
	}
}

// The files of a date with many files are listed in parts, each written once.
func TestWriter_ManyFilesOfDate(t *testing.T) {
	root := t.TempDir()
	now := &clock{noon}
	w := openWriter(t, root, Options{Now: now.now, Grace: time.Nanosecond})
	const commits = 2*filesPerPart + 10
	for i := range commits {
		write(t, w, items(i, 1)...)
		now.t = now.t.Add(time.Second)
	}
	wantManifests(t, root, 2+4)
	d := w.state.loaded["2026-11-21"]
	if len(d.manifest.Parts) != 2 || len(d.manifest.Files) != 10 || d.ref.Files != commits {
		t.Errorf("%d parts, %d files, %d in all", len(d.manifest.Parts), len(d.manifest.Files), d.ref.Files)
	}
	w.Close()
	w = openWriter(t, root, Options{Now: now.now})
	for i := range commits {
		if res := write(t, w, items(i, 1)...); res.DuplicateItems != 1 {
			t.Fatalf("item %d was forgotten", i)
		}
	}
	if n := len(storedPlaces(t, root)); n != commits {
		t.Errorf("%d rows", n)
	}
}

func TestWriter_RefusesSingleRows(t *testing.T) {
	root := t.TempDir()
	w := openWriter(t, root, Options{})
	late := item("late-1", noon.Add(-31*24*time.Hour), 3)
	mixed := item("mixed-1", noon, 2)
	mixed.Rows[1].StartNS = noon.Add(25 * time.Hour).UnixNano()
	bad := []methodspan.Item{item("", noon, 1), item("a\nb", noon, 1), item(strings.Repeat("x", 300), noon, 1), item("\xff", noon, 1)}
	fold := item("fold-1", noon, 1)
	fold.Folds = []string{"good-1", "other-1"}
	res, err := w.Write(context.Background(), append(bad, late, mixed, item("good-1", noon, 4), fold))
	refused, failure := warehouse.RowErrors(err)
	if failure != nil || len(refused) != 7 {
		t.Fatalf("%d refusals, failure %v", len(refused), failure)
	}
	want := map[warehouse.Reason]int{warehouse.TooLate: 3, warehouse.InFuture: 1, warehouse.BadID: 4, warehouse.FoldConflict: 1}
	if !maps.Equal(res.Refused, want) || res.Rows != 5 {
		t.Errorf("refused %v, want %v; %d rows written", res.Refused, want, res.Rows)
	}
	for _, e := range refused {
		if e.Detail == "" || strings.Contains(e.Error(), "\n") || !utf8.ValidString(e.Error()) {
			t.Errorf("%q", e.Error())
		}
	}
	if got := len(storedPlaces(t, root)); got != 5 {
		t.Errorf("%d rows are stored", got)
	}
	// More errors than the writer returns.
	var many []methodspan.Item
	for i := range 200 {
		many = append(many, item(fmt.Sprintf("late-%d", i+2), noon.Add(-40*24*time.Hour), 2))
	}
	res, err = w.Write(context.Background(), many)
	if refused, _ := warehouse.RowErrors(err); len(refused) != 64 || res.Refused[warehouse.TooLate] != 400 {
		t.Errorf("%d errors, %v", len(refused), res.Refused)
	}
}

func TestWriter_ClosedOrCancelled(t *testing.T) {
	w := openWriter(t, t.TempDir(), Options{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := w.Write(ctx, items(1, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if _, err := w.Write(context.Background(), items(1, 1)); !errors.Is(err, warehouse.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

func TestNewWriter_InvalidOptions(t *testing.T) {
	_, err := NewWriter(t.TempDir(), Options{Late: -1, Future: -1, Grace: -1, RememberFor: -1, RememberMax: 3})
	for _, want := range []string{"Late", "Future", "Grace", "RememberFor", "RememberMax must be at least 24, found 3"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}

// startedIn returns the files that can hold rows that started in [from, to). A zero time means no limit on that
// side.
func startedIn(all []parquet.File, from, to time.Time) (files []parquet.File) {
	for _, f := range all {
		if !from.IsZero() && f.MaxStartNS < from.UnixNano() || !to.IsZero() && f.MinStartNS >= to.UnixNano() {
			continue
		}
		files = append(files, f)
	}
	return files
}
