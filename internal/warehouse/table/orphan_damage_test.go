package table

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go/format"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/rowtest"
)

// sealKey is the key of the checksum in the footer's metadata.
const sealKey = "corehour.checksum"

// recoded returns a copy of file with one bit flipped that changes the codec of a column to LZ4.
func recoded(t testing.TB, file []byte) []byte {
	t.Helper()
	for at := len(file) - 1; at >= 0; at-- {
		if file[at] != 2*byte(format.Zstd) { // the footer stores the codec as a zigzag varint
			continue
		}
		damaged := bytes.Clone(file)
		damaged[at] = 2 * byte(format.Lz4Raw)
		_, err := parquet.ReadContent(damaged)
		if err != nil && strings.Contains(err.Error(), ": its codec is LZ4_RAW") {
			return damaged
		}
	}
	t.Fatal("no bit makes the codec another")
	return nil
}

// A start removes and counts an orphaned raw file with a flipped bit in its codec, like any other unreadable file,
// and continues.
func TestRecovery_DamagedCodec(t *testing.T) {
	root, path, before, _ := orphanOf(t)
	var file bytes.Buffer
	var rows []*methodspan.Row
	some := rowtest.RandomItems(rand.New(rand.NewPCG(1, 1)), 1, 200, true)[0]
	for i := range some.Rows {
		rows = append(rows, &some.Rows[i])
	}
	_, err := parquet.NewEncoder().Encode(&file, rows, &parquet.WriteGroup{Files: []string{orphanName}})
	if err == nil {
		err = os.WriteFile(path, recoded(t, file.Bytes()), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parquet.ReadRows(path); !errors.Is(err, warehouse.ErrCorrupt) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "LZ4_RAW") {
		t.Errorf("%v, want the file, the column and the codec", err)
	}
	w := openWriter(t, root, Options{})
	if r := w.Recovered(); r != (Recovery{FilesRemoved: 1}) {
		t.Errorf("%+v, want the one file removed", r)
	}
	wantStored(t, "started", root, before)
	wantTidy(t, "started", root)
}

const orphanName = "date=2026-11-21/raw-000000000002.parquet"

// orphanOf returns a warehouse with a small raw file that no manifest lists.
func orphanOf(t *testing.T) (root, path string, before, orphan methodspan.Item) {
	t.Helper()
	root = t.TempDir()
	disk := &stuckDisk{works: true}
	w := openWriter(t, root, Options{disk: disk})
	before, orphan = item("before-1", noon, 2), item("a-1", noon, 4)
	write(t, w, before)
	disk.works = false
	fail(t, w, orphan)
	w.Close()
	return root, filepath.Join(root, orphanName), before, orphan
}

// flipped returns a copy of file with one bit flipped.
func flipped(file []byte, at, bit int) []byte {
	file = bytes.Clone(file)
	file[at] ^= 1 << bit
	return file
}

// readOrphan rejects a file with any one bit flipped.
func TestRecovery_AnyDamagedBit(t *testing.T) {
	_, path, _, _ := orphanOf(t)
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := readOrphan(orphanName, file)
	if err != nil || len(whole.rows) != 4 {
		t.Fatal(whole, err)
	}
	believed := 0
	for at := range file {
		for bit := range 8 {
			c, err := readOrphan(orphanName, flipped(file, at, bit))
			if err != nil {
				continue
			}
			believed++
			if !reflect.DeepEqual(c.group, whole.group) || !reflect.DeepEqual(c.rows, whole.rows) {
				t.Errorf("with another bit %d of byte %d it is believed, and says %+v", bit, at, c)
			}
		}
	}
	if believed > 0 {
		t.Errorf("%d damaged files are believed", believed)
	}
}

// A start deletes an orphaned file that is damaged or has no checksum. A repeat of the write stores its rows.
func TestRecovery_DeletesDamagedFiles(t *testing.T) {
	_, path, _, _ := orphanOf(t)
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := 5; at < len(file); at += len(file) / 12 {
		root, path, before, orphan := orphanOf(t)
		if err := os.WriteFile(path, flipped(file, at, at%8), 0o600); err != nil {
			t.Fatal(err)
		}
		w := openWriter(t, root, Options{})
		if r := w.Recovered(); r != (Recovery{FilesRemoved: 1}) {
			t.Errorf("byte %d: %+v, want the one file removed", at, r)
		}
		write(t, w, orphan)
		wantStored(t, fmt.Sprintf("byte %d", at), root, before, orphan)
	}
	root, path, before, orphan := orphanOf(t)
	if err := os.WriteFile(path, bytes.Replace(file, []byte(sealKey), []byte("corehour.whatever"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	w := openWriter(t, root, Options{})
	if r := w.Recovered(); r != (Recovery{FilesRemoved: 1}) {
		t.Errorf("without a checksum: %+v, want the one file removed", r)
	}
	write(t, w, orphan)
	wantStored(t, "without a checksum", root, before, orphan)
}

// With the damaged manifest of one date, the other dates stay readable. If CURRENT is damaged, nothing is readable:
// its checksum could be wrong as well as the manifest.
func TestDateManifest_Damaged(t *testing.T) {
	root := t.TempDir()
	w := openWriter(t, root, Options{})
	write(t, w, item("a-1", noon.Add(-24*time.Hour), 2))
	write(t, w, item("a-2", noon, 3))
	w.Close()
	name, sum, err := readCurrent(root)
	if err != nil {
		t.Fatal(err)
	}
	g, err := readGeneration(root, name, sum)
	if err != nil || len(g.Dates) != 2 {
		t.Fatal(g, err)
	}
	second := filepath.Join(root, manifestDir, g.Dates[1].Manifest)
	flip(t, second)
	if _, err := Open(root); !errors.Is(err, warehouse.ErrCorrupt) || !strings.Contains(err.Error(), second) {
		t.Errorf("%v, want %s named", err, second)
	}
	s, err := OpenReadable(root)
	if err != nil || s.Rows() != 2 {
		t.Fatalf("%+v, %v, want the rows of the other date", s, err)
	}
	if err := s.Damage(func(date string) bool { return date == g.Dates[0].Date }); err != nil {
		t.Error(err)
	}
	if err := s.Damage(func(date string) bool { return date == g.Dates[1].Date }); err == nil || !strings.Contains(err.Error(), second) {
		t.Errorf("%v, want %s named", err, second)
	}
	flip(t, filepath.Join(root, manifestDir, g.Dates[0].Manifest))
	if _, err := OpenReadable(root); !errors.Is(err, warehouse.ErrCorrupt) || strings.Count(err.Error(), g.Dates[0].Manifest)+strings.Count(err.Error(), g.Dates[1].Manifest) != 2 {
		t.Errorf("%v, want both named", err)
	}
	flip(t, filepath.Join(root, currentName))
	if _, err := OpenReadable(root); !errors.Is(err, warehouse.ErrCorrupt) || !strings.Contains(err.Error(), filepath.Join(root, currentName)) {
		t.Errorf("%v, want CURRENT named", err)
	}
}

// flip flips a bit of the file at path.
func flip(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, flipped(data, len(data)/2, 3), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
