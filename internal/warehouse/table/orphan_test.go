package table

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/parquet"
)

// orphaned writes a file that no manifest lists, as another program could.
func orphaned(t *testing.T, root, name string, group parquet.WriteGroup, it methodspan.Item) {
	t.Helper()
	var rows []*methodspan.Row
	for i := range it.Rows {
		rows = append(rows, &it.Rows[i])
	}
	var file bytes.Buffer
	if _, err := parquet.NewEncoder().Encode(&file, rows, &group); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A start removes files that contradict themselves. None of them is recovered, and none makes the start fail or
// hang.
func TestRecovery_ContradictoryFiles(t *testing.T) {
	const today, dropped = "date=2026-11-21/raw-000000000009.parquet", "date=2026-11-20/raw-000000000009.parquet"
	endless := map[string]string{"a-": "1", "z": "0-446744073709551615"} // 2^64+1 items in total
	for i := range 18 {
		endless[fmt.Sprintf("k%c", 'a'+i)] = "0-999999999999999999"
	}
	for what, c := range map[string]struct {
		name  string
		group parquet.WriteGroup
	}{
		"rows of another date":          {dropped, parquet.WriteGroup{Files: []string{dropped}, Items: map[string]string{"a-": "1"}}},
		"more items than can be":        {today, parquet.WriteGroup{Files: []string{today}, Items: endless}},
		"the file twice":                {today, parquet.WriteGroup{Files: []string{today, today}, Items: map[string]string{"a-": "1"}}},
		"rows of an item it has not":    {today, parquet.WriteGroup{Files: []string{today}, Items: map[string]string{"a-": "2-9"}}},
		"no list of items":              {today, parquet.WriteGroup{Files: []string{today}, Items: map[string]string{"a-": "9-1"}}},
		"another file than it is":       {today, parquet.WriteGroup{Files: []string{dropped}, Items: map[string]string{"a-": "1"}}},
		"a path that leads out of here": {today, parquet.WriteGroup{Files: []string{today, "date=../x"}, Items: map[string]string{"a-": "1"}}},
	} {
		t.Run(what, func(t *testing.T) {
			root := t.TempDir()
			w := openWriter(t, root, Options{})
			before := item("before-1", noon, 2)
			write(t, w, item("old-1", noon.Add(-24*time.Hour), 2), before)
			w.Close()
			m := openMaintainer(t, root, Options{})
			dates, err := m.Dates()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.Drop(dates[:1]); err != nil {
				t.Fatal(err)
			}
			m.Close()
			orphaned(t, root, c.name, c.group, item("a-1", noon, 2))
			w = openWriter(t, root, Options{})
			if r := w.Recovered(); r != (Recovery{FilesRemoved: 1}) {
				t.Errorf("%+v, want the file removed", r)
			}
			wantStored(t, what, root, before)
			if w.Committed("a-1") {
				t.Error("its item counts as stored")
			}
		})
	}
}

// A foreign file with the highest number does not prevent the recovery of other files, whether it is recovered
// itself or repeats stored items.
func TestRecovery_HighestFileNumbers(t *testing.T) {
	const today = "date=2026-11-21/"
	for _, sequence := range []int64{1e15, maxSequence - 1, maxSequence} {
		for what, stray := range map[string]methodspan.Item{"a repeat": item("before-1", noon, 2), "more": item("more-1", noon, 3)} {
			t.Run(fmt.Sprint(what, " at ", sequence), func(t *testing.T) {
				root := t.TempDir()
				w := openWriter(t, root, Options{})
				all := []methodspan.Item{item("before-1", noon, 2)}
				write(t, w, all...)
				w.Close()
				name := today + rawName(sequence)
				orphaned(t, root, name, parquet.WriteGroup{Files: []string{name}, Items: map[string]string{strings.TrimSuffix(stray.ID, "1"): "1"}}, stray)
				disk := &stuckDisk{works: true}
				w = openWriter(t, root, Options{disk: disk})
				if what == "more" {
					all = append(all, stray)
				}
				wantStored(t, "started", root, all...)
				disk.works = false
				b := item("b-1", noon, 4)
				fail(t, w, b)
				w.Close()
				w = openWriter(t, root, Options{})
				if all = append(all, b); w.Recovered() != (Recovery{FilesAdopted: 1, RowsAdopted: 4}) {
					t.Errorf("%+v, want the finished file adopted", w.Recovered())
				}
				wantStored(t, "started again", root, all...)
			})
		}
	}
}

// The last attempt of a write raises the file number; a copy of it with a higher number does not.
func TestRecovery_FileNumbersAfterCopies(t *testing.T) {
	root := t.TempDir()
	disk := &stuckDisk{works: true}
	w := openWriter(t, root, Options{disk: disk})
	write(t, w, item("before-1", noon, 2))
	disk.works = false
	for range 3 {
		fail(t, w, item("a-1", noon, 3))
	}
	w.Close()
	data, err := os.ReadFile(filepath.Join(root, "date=2026-11-21", rawName(4)))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "date=2026-11-21", rawName(900)), data, 0o600); err != nil {
		t.Fatal(err)
	}
	w = openWriter(t, root, Options{})
	if w.state.Sequence != 4 {
		t.Errorf("the last file is %d, want the last attempt", w.state.Sequence)
	}
	wantStored(t, "adopted", root, item("before-1", noon, 2), item("a-1", noon, 3))
}

// Files with rows that a writer never produces, unsorted or rolled up, are not recovered: their date could no
// longer be merged.
func TestRecovery_RefusesUnsortedRows(t *testing.T) {
	const name = "date=2026-11-21/raw-000000000009.parquet"
	for what, c := range map[string]struct {
		change  func(a, b *methodspan.Row) // two consecutive rows
		adopted int
	}{
		"as written":      {func(_, _ *methodspan.Row) {}, 1},
		"of one key":      {func(a, b *methodspan.Row) { b.Method, b.StartNS = a.Method, a.StartNS }, 1},
		"without a class": {func(a, _ *methodspan.Row) { a.Class = "" }, 1},
		"starts":          {func(a, b *methodspan.Row) { b.Method, b.StartNS = a.Method, a.StartNS-1 }, 0},
		"methods":         {func(_, b *methodspan.Row) { b.Method = "A" }, 0},
		"classes":         {func(a, _ *methodspan.Row) { a.Class = "z" }, 0},
		"services":        {func(a, _ *methodspan.Row) { a.Resource = &methodspan.Resource{Service: "zoo"} }, 0},
		"versions": {func(a, b *methodspan.Row) {
			b.Method, a.Resource = a.Method, &methodspan.Resource{Service: shop.Service, Version: "z"}
		}, 0},
		"sums by minute":     {func(_, b *methodspan.Row) { b.Level = methodspan.LevelMinute }, 0},
		"rows of no level":   {func(a, _ *methodspan.Row) { a.Level = "" }, 0},
		"rows of all levels": {func(a, b *methodspan.Row) { a.Level, b.Level = methodspan.LevelHour, methodspan.LevelMinute }, 0},
	} {
		t.Run(what, func(t *testing.T) {
			root := t.TempDir()
			w := openWriter(t, root, Options{})
			write(t, w, item("before-1", noon, 2))
			w.Close()
			it := item("a-1", noon, 2)
			c.change(&it.Rows[0], &it.Rows[1])
			if err := os.WriteFile(filepath.Join(root, name), asGiven(t, it.Rows, `{"files":["`+name+`"],"items":{"a-":"1"}}`), 0o600); err != nil {
				t.Fatal(err)
			}
			w = openWriter(t, root, Options{})
			if r := w.Recovered(); r.FilesAdopted != c.adopted || r.FilesAdopted+r.FilesRemoved != 1 {
				t.Errorf("%+v, want %d adopted", r, c.adopted)
			}
			if _, err := mergeDate(openMaintainer(t, root, Options{}), 0); err != nil {
				t.Error(err)
			}
		})
	}
}

// asGiven returns a file with rows in the given order, the write group and a valid checksum.
func asGiven(t *testing.T, rows []methodspan.Row, group string) []byte {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "rows"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := parquet.NewEncoder().Stream(f, f.Name(), func(s *parquet.Stream) error {
		for i := range rows {
			if err := s.AddRow(&rows[i]); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	const end = 8 // length of the footer, and magic bytes
	begin := len(file) - end - int(binary.LittleEndian.Uint32(file[len(file)-end:]))
	var protocol thrift.CompactProtocol
	var meta format.FileMetaData
	if err := thrift.NewDecoder(protocol.NewReaderFromBytes(file[begin : len(file)-end])).Decode(&meta); err != nil {
		t.Fatal(err)
	}
	meta.KeyValueMetadata = append(meta.KeyValueMetadata,
		format.KeyValue{Key: "corehour.write", Value: group}, format.KeyValue{Key: sealKey, Value: "crc32c:00000000"})
	var footer bytes.Buffer
	if err := thrift.NewEncoder(protocol.NewWriter(&footer)).Encode(&meta); err != nil {
		t.Fatal(err)
	}
	file = binary.LittleEndian.AppendUint32(append(file[:begin], footer.Bytes()...), uint32(footer.Len()))
	return reseal(t, append(file, "PAR1"...))
}

// A file whose write group names files of other writes does not prevent their recovery. Only this file is removed.
func TestRecovery_FalseClaims(t *testing.T) {
	const today, yesterday = "date=2026-11-21/", "date=2026-11-20/"
	for what, claim := range map[string]parquet.WriteGroup{
		"one":                   {Files: []string{today + rawName(4)}},
		"two of one write":      {Files: []string{yesterday + rawName(2), today + rawName(3)}},
		"one of these two":      {Files: []string{today + rawName(3)}},
		"garbage, and another":  {Files: []string{today + rawName(5), today + rawName(1)}},
		"one that is not there": {Files: []string{today + rawName(1), today + rawName(6)}},
	} {
		t.Run(what, func(t *testing.T) {
			root := t.TempDir()
			disk := &stuckDisk{}
			w := openWriter(t, root, Options{disk: disk})
			// a is in file 1, b in files 2 and 3, c in file 4.
			a, b, c := item("a-1", noon, 2), item("b-1", noon, 4), item("c-1", noon, 3)
			b.Rows = append(b.Rows, item("b-1", noon.Add(-24*time.Hour), 2).Rows...)
			for i := range b.Rows {
				b.Rows[i].RowSeq = int32(i)
			}
			for _, it := range []methodspan.Item{a, b, c} {
				fail(t, w, it)
			}
			w.Close()
			if err := os.WriteFile(filepath.Join(root, today, rawName(5)), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			name := today + rawName(9)
			claim.Files, claim.Items = append(claim.Files, name), map[string]string{"h-": "2"}
			orphaned(t, root, name, claim, item("h-2", noon, 1))
			w = openWriter(t, root, Options{})
			wantStored(t, what, root, a, b, c)
			if r := w.Recovered(); r != (Recovery{FilesAdopted: 4, RowsAdopted: 11, FilesRemoved: 2}) || w.Committed("h-2") {
				t.Errorf("%+v, item of the claim known: %v", r, w.Committed("h-2"))
			}
		})
	}
}

// Two files of one write that disagree on its items are both removed.
func TestRecovery_FilesOfWriteDisagree(t *testing.T) {
	const one, other = "date=2026-11-21/raw-000000000009.parquet", "date=2026-11-20/raw-000000000008.parquet"
	root := t.TempDir()
	w := openWriter(t, root, Options{})
	before := item("before-1", noon, 2)
	write(t, w, before)
	w.Close()
	orphaned(t, root, one, parquet.WriteGroup{Files: []string{other, one}, Items: map[string]string{"a-": "1"}}, item("a-1", noon, 2))
	orphaned(t, root, other, parquet.WriteGroup{Files: []string{other, one}, Items: map[string]string{"a-": "1-2"}}, item("a-1", noon.Add(-24*time.Hour), 2))
	w = openWriter(t, root, Options{})
	if r := w.Recovered(); r != (Recovery{FilesRemoved: 2}) {
		t.Errorf("%+v, want both files removed", r)
	}
	wantStored(t, "contradicting files", root, before)
}

// A file with unsorted runs of item IDs is removed: recovering it would take quadratic time.
func TestRecovery_RefusesUnsortedIDRuns(t *testing.T) {
	root := t.TempDir()
	w := openWriter(t, root, Options{})
	before := item("before-1", noon, 2)
	write(t, w, before)
	w.Close()
	var down []string
	for n := 40_000; n > 0; n -= 2 {
		down = append(down, fmt.Sprint(n))
	}
	const name = "date=2026-11-21/raw-000000000009.parquet"
	orphaned(t, root, name, parquet.WriteGroup{Files: []string{name}, Items: map[string]string{"a-": strings.Join(down, ",")}}, item("a-2", noon, 2))
	w = openWriter(t, root, Options{})
	if r := w.Recovered(); r != (Recovery{FilesRemoved: 1}) {
		t.Errorf("%+v, want the file removed", r)
	}
	wantStored(t, "started", root, before)
}
