package table

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/parquet"
)

func TestOpen_InvalidManifest(t *testing.T) {
	good := func(t *testing.T) string {
		root := t.TempDir()
		w := openWriter(t, root, Options{})
		write(t, w, item("p-1", noon, 2))
		w.Close()
		return root
	}
	// change edits the manifest of the date and updates all references to it, so that the checksums are valid
	// and only its content is wrong.
	change := func(t *testing.T, root string, f func(*dateManifest)) {
		name, sum, err := readCurrent(root)
		if err != nil {
			t.Fatal(err)
		}
		g, err := readGeneration(root, name, sum)
		if err != nil {
			t.Fatal(err)
		}
		m, err := readDate(root, g.Dates[0])
		if err != nil {
			t.Fatal(err)
		}
		f(m)
		save := func(name string, v any) string {
			data, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(root, manifestDir, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
			return parquet.Checksum(data)
		}
		g.Dates[0].Checksum = save(g.Dates[0].Manifest, m)
		if err := os.WriteFile(filepath.Join(root, currentName), []byte(name+" "+save(name, g)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	corruptOne := func(pattern string, damage func([]byte) []byte) func(*testing.T) string {
		return func(t *testing.T) string {
			root := good(t)
			paths, err := filepath.Glob(filepath.Join(root, pattern))
			if err != nil || len(paths) != 1 {
				t.Fatalf("%s: %v, %v", pattern, paths, err)
			}
			data, err := os.ReadFile(paths[0])
			if err != nil {
				t.Fatal(err)
			}
			if data = damage(data); data == nil {
				err = os.Remove(paths[0])
			} else {
				err = os.WriteFile(paths[0], data, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			return root
		}
	}
	flip := func(data []byte) []byte { data[len(data)/2] ^= 1; return data }
	gone := func([]byte) []byte { return nil }
	for name, c := range map[string]struct {
		root func(*testing.T) string
		want error
	}{
		"no directory": {func(t *testing.T) string { return filepath.Join(t.TempDir(), "nowhere") }, warehouse.ErrMissing},
		"no warehouse": {func(t *testing.T) string { return t.TempDir() }, warehouse.ErrMissing},
		"a file": {func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}, nil},
		"no rows yet": {func(t *testing.T) string {
			root := t.TempDir()
			openWriter(t, root, Options{}).Close()
			return root
		}, warehouse.ErrEmpty},
		"CURRENT is garbage":                {corruptOne("CURRENT", func([]byte) []byte { return []byte("garbage") }), warehouse.ErrCorrupt},
		"CURRENT leads outside":             {corruptOne("CURRENT", func([]byte) []byte { return []byte("../../x.json crc32c:00000000") }), warehouse.ErrCorrupt},
		"generation is missing":             {corruptOne("_manifest/0*.json", gone), warehouse.ErrCorrupt},
		"generation has a flipped bit":      {corruptOne("_manifest/0*.json", flip), warehouse.ErrCorrupt},
		"date's manifest is missing":        {corruptOne("_manifest/date=*.json", gone), warehouse.ErrCorrupt},
		"date's manifest has a flipped bit": {corruptOne("_manifest/date=*.json", flip), warehouse.ErrCorrupt},
		"a file outside of its date": {func(t *testing.T) string {
			root := good(t)
			change(t, root, func(m *dateManifest) { m.Files[0].Path = "date=2026-11-21/../../../etc/passwd" })
			return root
		}, warehouse.ErrCorrupt},
		"another date": {func(t *testing.T) string {
			root := good(t)
			change(t, root, func(m *dateManifest) { m.Date = "2026-11-22" })
			return root
		}, warehouse.ErrCorrupt},
		"a missing part": {func(t *testing.T) string {
			root := good(t)
			change(t, root, func(m *dateManifest) { m.Parts = []partRef{{Manifest: "gone.json"}} })
			return root
		}, warehouse.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			root := c.root(t)
			_, err := Open(root)
			var typed *warehouse.Error
			if !errors.As(err, &typed) {
				t.Fatalf("%T: %v", err, err)
			}
			if c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("%v, want one that is %v", err, c.want)
			}
			if !strings.HasPrefix(typed.Path, root) || typed.Hint == "" || typed.Op == "" {
				t.Errorf("it does not say where or what to do: %+v", typed)
			}
			if errors.Is(err, warehouse.ErrCorrupt) {
				if w, err := NewWriter(root, Options{}); err == nil {
					w.Close()
					t.Error("a writer goes on from a damaged manifest")
				}
			}
		})
	}
}

// If CURRENT is lost after several commits, Open reports the warehouse as corrupt. During the first commit it
// reports it as empty.
func TestOpen_CurrentLost(t *testing.T) {
	root := t.TempDir()
	w := openWriter(t, root, Options{})
	write(t, w, item("p-1", noon, 2))
	if err := os.Remove(filepath.Join(root, currentName)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(root); !errors.Is(err, warehouse.ErrEmpty) {
		t.Errorf("after the manifests of a first commit: %v, want one that is %v", err, warehouse.ErrEmpty)
	}
	w.Close()
	w = openWriter(t, root, Options{})
	write(t, w, item("p-2", noon, 2))
	write(t, w, item("p-3", noon, 2))
	w.Close()
	wantStored(t, "before", root, item("p-1", noon, 2), item("p-2", noon, 2), item("p-3", noon, 2))
	if err := os.Remove(filepath.Join(root, currentName)); err != nil {
		t.Fatal(err)
	}
	const want = "it is gone, and _manifest/"
	if _, err := Open(root); !errors.Is(err, warehouse.ErrCorrupt) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
	if _, err := NewMaintainer(root, Options{}); !errors.Is(err, warehouse.ErrCorrupt) {
		t.Errorf("maintenance: %v", err)
	}
	// As docs/README.md describes, a start recovers raw files without help.
	openWriter(t, root, Options{}).Close()
	wantStored(t, "after a start", root, item("p-1", noon, 2), item("p-2", noon, 2), item("p-3", noon, 2))
}

func TestOpen_RefusesNewerSchemas(t *testing.T) {
	root := t.TempDir()
	w := openWriter(t, root, Options{})
	write(t, w, item("p-1", noon, 1))
	w.Close()
	path := filepath.Join(root, manifestDir, generationName(1))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data = []byte(strings.Replace(string(data), fmt.Sprintf(`"schema_version":%d`, parquet.SchemaVersion), `"schema_version":99`, 1))
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, currentName), []byte(generationName(1)+" "+parquet.Checksum(data)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(root); !errors.Is(err, warehouse.ErrNewer) || errors.Is(err, warehouse.ErrCorrupt) || !strings.Contains(err.Error(), fmt.Sprint("schema version 99 is newer than ", parquet.SchemaVersion)) {
		t.Errorf("%v", err)
	}
}

// Readers that open and read during commits see each commit completely or not at all. They never get an error,
// even if old manifests are deleted at once.
func TestOpen_SeesWholeCommits(t *testing.T) {
	root := t.TempDir()
	now := &clock{noon}
	w := openWriter(t, root, Options{Grace: time.Nanosecond, Now: now.now})
	const rowsEach, commits = 7, 80
	var done atomic.Int64 // commits acknowledged
	write(t, w, item("p-0", noon, rowsEach))
	done.Store(1)
	var readers sync.WaitGroup
	var reads atomic.Int64
	stop := make(chan struct{})
	for range 2 {
		readers.Go(func() {
			var last int64
			for {
				select {
				case <-stop:
					return
				default:
				}
				before := done.Load()
				s, err := Open(root)
				if err != nil {
					t.Error(err)
					return
				}
				after := done.Load() + 1 // the commit in progress can be visible already
				rows := s.Rows()
				if rows%rowsEach != 0 || rows < before*rowsEach || rows > after*rowsEach || s.Generation < last {
					t.Errorf("%d rows in generation %d after %d, with %d to %d commits", rows, s.Generation, last, before, after)
				}
				last = s.Generation
				for _, f := range s.Files[max(0, len(s.Files)-2):] {
					if info, err := os.Stat(f.Path); err != nil || info.Size() != f.Bytes {
						t.Errorf("%s: %v", f.Path, err)
					}
				}
				reads.Add(1)
			}
		})
	}
	for i := 1; i < commits; i++ {
		if _, err := w.Write(context.Background(), items(i, rowsEach)); err != nil {
			t.Error(err)
		}
		done.Add(1)
		now.t = now.t.Add(time.Second)
	}
	close(stop)
	readers.Wait()
	if reads.Load() < 20 {
		t.Errorf("only %d reads", reads.Load())
	}
	wantManifests(t, root, 4) // those of CURRENT, and those that it replaced
	if n := len(storedPlaces(t, root)); n != commits*rowsEach {
		t.Errorf("%d rows", n)
	}
}

func FuzzCurrent(f *testing.F) {
	f.Add([]byte("000000000001.json crc32c:00000000\n"))
	f.Add([]byte("../x crc32c:0"))
	f.Add([]byte{0})
	f.Fuzz(func(t *testing.T, data []byte) {
		root := t.TempDir()
		if err := os.WriteFile(filepath.Join(root, currentName), data, 0o600); err != nil {
			t.Fatal(err)
		}
		var typed *warehouse.Error
		if _, err := Open(root); !errors.As(err, &typed) {
			t.Fatalf("%T %v", err, err)
		}
	})
}

// However often a first commit fails, a reader finds a warehouse without rows, never one that lost its state.
func TestOpen_FirstCommitFails(t *testing.T) {
	for failing := 1; ; failing++ {
		root := t.TempDir()
		steps, failed, again := 0, false, false
		w, err := NewWriter(root, Options{}.Inject(func(op, path string, done bool) error {
			if again {
				if _, err := Open(root); err != nil && !errors.Is(err, warehouse.ErrEmpty) && !errors.Is(err, warehouse.ErrMissing) {
					t.Fatalf("after step %d failed, at %s %s: %v", failing, op, path, err)
				}
				return nil
			}
			if steps++; steps == failing {
				failed = true
				return &os.PathError{Op: op, Path: path, Err: syscall.ENOSPC}
			}
			return nil
		}))
		if err != nil && !failed {
			t.Fatal(err)
		}
		if err == nil {
			_, err = w.Write(t.Context(), []methodspan.Item{item("p-1", noon, 1)})
			if !failed {
				if err != nil || failing < 10 {
					t.Fatal(failing, err)
				}
				w.Close()
				return
			}
			again = true
			for n := range 2 {
				if _, err := w.Write(t.Context(), []methodspan.Item{item("p-1", noon, 1), item(fmt.Sprint("p-", 2+n), noon, 1)}); err != nil {
					t.Fatalf("after step %d failed: %v", failing, err)
				}
			}
			w.Close()
		}
	}
}
