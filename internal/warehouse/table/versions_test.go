package table

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/parquet"
)

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
		rows, err := pq.ReadFile[struct {
			EndNS int64 `parquet:"end_ns"`
		}](f.Path)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := pq.OpenFile(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		if leaf, ok := file.Schema().Lookup("end_ns"); !ok || !leaf.Node.Required() {
			t.Fatal("end_ns is not required")
		}
		for _, r := range rows {
			said = append(said, r.EndNS)
		}
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
		rows, err := pq.ReadFile[struct {
			StartNS int64  `parquet:"start_ns"`
			EndNS   *int64 `parquet:"end_ns,optional"`
			WallNS  *int64 `parquet:"wall_ns,optional"`
		}](f.Path)
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
		err = os.WriteFile(filepath.Join(root, currentName), []byte(name+" "+parquet.Checksum(data)), 0o600)
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
	version := fmt.Sprintf("%s\x18\x01%d", "corehour.schema_version", parquet.SchemaVersion)
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
	if _, err := parquet.ReadRows(path); !errors.Is(err, warehouse.ErrNewer) || errors.Is(err, warehouse.ErrCorrupt) {
		t.Errorf("read: %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, newer) {
		t.Errorf("the file was touched: %v", err)
	}
}

// reseal gives a file that was changed the checksum that it would have been written with.
func reseal(t *testing.T, file []byte) []byte {
	t.Helper()
	at := bytes.LastIndex(file, []byte(sealKey))
	if at < 0 {
		t.Fatal("the footer has no checksum")
	}
	at += len(sealKey) + 2 // the type of the value and its length
	copy(file[at:], "crc32c:00000000")
	copy(file[at:], parquet.Checksum(file))
	return file
}
