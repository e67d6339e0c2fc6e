package parquet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
)

// An end that follows from start and wall time takes no room; any other does.
func TestEndsThatFollowAreNotStored(t *testing.T) {
	const start = 1_000
	for _, tc := range []struct {
		name             string
		start, wall, end int64
		measured         int64
		stored           bool
	}{
		{name: "a call", start: start, wall: 40, end: start + 40, measured: 1},
		{name: "a sum whose end follows by chance", start: start, wall: 40, end: start + 40, measured: 3},
		{name: "a call of no time", start: start, end: start, measured: 1},
		{name: "a negative time", start: start, wall: -40, end: start - 40, measured: 1},
		{name: "a start before 1970", start: -start, wall: 40, end: 40 - start, measured: 1},
		{name: "another end", start: start, wall: 40, end: start + 41, measured: 1, stored: true},
		{name: "counts, of which nothing was timed", start: start, end: start, stored: true},
		{name: "a wall time that is not stored", start: start, wall: 40, end: start + 40, stored: true},
		{name: "a sum that is too large", start: start, wall: math.MaxInt64, end: math.MinInt64 + start - 1, measured: 1, stored: true},
		{name: "a sum that is too small", start: -start, wall: math.MinInt64, end: math.MaxInt64 - start + 1, measured: 1, stored: true},
	} {
		row := methodspan.Row{
			Resource: shop, Kind: methodspan.KindCall, Level: methodspan.LevelRaw, StartNS: tc.start, EndNS: tc.end,
			Measured: tc.measured, WallNS: tc.wall, WallMaxNS: 7, BatchID: "a-1",
		}
		var file bytes.Buffer
		if _, err := newEncoder().encode(&file, []*methodspan.Row{&row}, &writeGroup{}); err != nil {
			t.Fatal(err)
		}
		stored, err := pq.Read[record](bytes.NewReader(file.Bytes()), int64(file.Len()))
		if err != nil {
			t.Fatal(err)
		}
		if got := stored[0].EndNS; (got != nil) != tc.stored || got != nil && *got != tc.end {
			t.Errorf("%s: its end is stored: %v", tc.name, got)
		}
		c, err := readContentOf(file.Bytes())
		if err != nil || c.rows[0].EndNS != tc.end {
			t.Errorf("%s: read back: %+v, %v", tc.name, c, err)
		}
		err = NewExchangeEncoder().Encode([]*methodspan.Row{&row}, func(_ string, _ []*methodspan.Row, file []byte) error {
			if ends := requiredEnds(t, file); !slices.Equal(ends, []int64{tc.end}) {
				t.Errorf("%s: in a file for other programs it ends at %v", tc.name, ends)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// requiredEnds reads the ends of a file in which each row must have one.
func requiredEnds(t *testing.T, file []byte) (ends []int64) {
	t.Helper()
	f, err := pq.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	leaf, ok := f.Schema().Lookup("end_ns")
	if !ok || !leaf.Node.Required() {
		t.Fatal("end_ns is not required")
	}
	for _, g := range f.RowGroups() {
		v := longs{page: longsOf}
		if err := readVector(g.ColumnChunks()[leaf.ColumnIndex], &v); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, v.values[:v.rows]...)
	}
	return ends
}

// firstVersion copies a warehouse that a program of version 1 of the schema has written:
// three commits of 40 rows on two dates, every one of which says its end.
func firstVersion(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS("testdata/schema-1")); err != nil {
		t.Fatal(err)
	}
	return root
}

// Files of version 1 are read as they are, and merged into files of this version, alone
// and with newer ones.
func TestFilesOfVersionOne(t *testing.T) {
	root := firstVersion(t)
	before := stored(t, root)
	s, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	var said []int64
	for _, f := range s.Files {
		data, err := os.ReadFile(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, requiredEnds(t, data)...)
	}
	if len(before) != 120 || !slices.Equal(endsOf(before), said) {
		t.Fatalf("%d rows with other ends than the files say", len(before))
	}

	w := openWriter(t, root, Options{})
	newer := methodspan.Item{ID: "new-1"}
	for i, r := range before[40:] { // of the same date
		r.BatchID, r.RowSeq = newer.ID, int32(i)
		newer.Rows = append(newer.Rows, r)
	}
	write(t, w, newer)
	w.Close()
	mixed := stored(t, root)
	if want := slices.Concat(before, newer.Rows); !slices.Equal(sums(mixed), sums(want)) {
		t.Fatal("with a newer file there are other rows")
	}

	m := openMaintainer(t, root, Options{})
	dates, err := m.Dates()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dates {
		if _, err := m.Merge(context.Background(), d.Date, d.Files, Output{Kind: KindMerge}); err != nil {
			t.Fatal(err)
		}
	}
	if merged := stored(t, root); !slices.Equal(sums(merged), sums(mixed)) {
		t.Error("merging has changed rows")
	}
	if s, err = Open(root); err != nil || len(s.Files) != 2 {
		t.Fatalf("%+v, %v", s, err)
	}
	kept := 0
	for _, f := range s.Files {
		rows, err := pq.ReadFile[record](f.Path)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if r.EndNS == nil {
				continue
			}
			if kept++; r.WallNS != nil && *r.EndNS == r.StartNS+*r.WallNS {
				t.Fatalf("an end is stored that follows: %+v", r)
			}
		}
	}
	if kept != 5*20 { // half of the rows are counts, sums, of processes, or say another end
		t.Errorf("%d ends are stored", kept)
	}
}

func endsOf(rows []methodspan.Row) (ends []int64) {
	for i := range rows {
		ends = append(ends, rows[i].EndNS)
	}
	return ends
}

// sums are the rows as texts, sorted.
func sums(rows []methodspan.Row) (texts []string) {
	for _, r := range rows {
		res := *r.Resource
		price := 0.0
		if r.USDPerCoreHour != nil {
			price = *r.USDPerCoreHour
		}
		process := fmt.Sprintf("%+v", r.Process)
		if r.Process != nil {
			process = fmt.Sprintf("%+v", *r.Process)
		}
		r.Resource, r.USDPerCoreHour, r.Process = nil, nil, nil
		texts = append(texts, fmt.Sprintf("%+v %+v %v %s", r, res, price, process))
	}
	slices.Sort(texts)
	return texts
}

// A start adopts what a program of version 1 has written and not committed.
func TestFilesOfVersionOneAreAdopted(t *testing.T) {
	root := firstVersion(t)
	want := stored(t, root)
	name := generationName(2)
	data, err := os.ReadFile(filepath.Join(root, manifestDir, name))
	if err == nil {
		err = os.WriteFile(filepath.Join(root, currentName), []byte(name+" "+Checksum(data)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if rows := stored(t, root); len(rows) != 80 {
		t.Fatalf("%d rows are committed", len(rows))
	}
	w := openWriter(t, root, Options{})
	if w.recovery.RowsAdopted != 40 {
		t.Errorf("%+v", w.recovery)
	}
	if got := stored(t, root); !reflect.DeepEqual(got, want) {
		t.Error("other rows were adopted")
	}
}

// Programs of version 1 look for the write group under its first key. One that met a file
// of this version which no manifest names must not find it: it would adopt the file, and
// take the ends that it does not know to be left out for zero.
func TestVersionOneDoesNotAdoptNewerFiles(t *testing.T) {
	var buf bytes.Buffer
	row := item("a-1", noon, 1).Rows[0]
	if _, err := newEncoder().encode(&buf, []*methodspan.Row{&row}, &writeGroup{Files: []string{"date=2026-11-21/raw-000000000001.parquet"}}); err != nil {
		t.Fatal(err)
	}
	file, err := pq.OpenFile(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if group, ok := file.Lookup("corehour.write"); ok {
		t.Errorf("it finds %s", group)
	}
}

// A start that finds files of a newer program says so, and leaves them to it.
func TestNewerFilesAreNotAdopted(t *testing.T) {
	root := t.TempDir()
	w := openWriter(t, root, Options{})
	write(t, w, item("a-1", noon, 3))
	s, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	path := s.Files[0].Path
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	version := fmt.Sprintf("%s\x18\x01%d", metaSchema, SchemaVersion)
	if bytes.Count(data, []byte(version)) != 1 {
		t.Fatalf("the footer has no %q", version)
	}
	newer := reseal(t, bytes.Replace(data, []byte(version), []byte(version[:len(version)-1]+"9"), 1))
	for _, name := range []string{currentName, manifestDir} { // as if it had never been committed
		if err := os.RemoveAll(filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, newer, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = NewWriter(root, Options{})
	var typed *warehouse.Error
	if !errors.As(err, &typed) || !errors.Is(err, warehouse.ErrNewer) || typed.Path != path || !strings.Contains(err.Error(), "version 9 is newer") || typed.Hint != "use a newer corehour" {
		t.Errorf("%v", err)
	}
	if _, err := ReadRows(path); !errors.Is(err, warehouse.ErrNewer) || errors.Is(err, warehouse.ErrCorrupt) {
		t.Errorf("read: %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, newer) {
		t.Errorf("the file was touched: %v", err)
	}
}

// reseal gives a file that was changed the checksum that it would have been written with.
func reseal(t *testing.T, file []byte) []byte {
	t.Helper()
	end, err := footerOf(file)
	if err != nil {
		t.Fatal(err)
	}
	at, err := footerSumOffset(end)
	if err != nil || at < 0 {
		t.Fatal(at, err)
	}
	copy(end[at:], unsealed)
	copy(end[at:], Checksum(file))
	return file
}
