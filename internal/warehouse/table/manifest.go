package table

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/parquet"
)

const (
	currentName = "CURRENT"
	manifestDir = "_manifest"
)

// generation is the state of the whole warehouse after one commit.
type generation struct {
	Schema     int       `json:"schema_version"`
	Generation int64     `json:"generation"`
	Sequence   int64     `json:"sequence"` // the highest raw file that is settled
	Committed  time.Time `json:"committed"`
	// Floor is the first date that retention has left; rows of earlier ones are
	// refused.
	Floor string `json:"floor,omitempty"`
	// Remember is for how long the writer recognises items that come again, RememberMax
	// by how many runs of ids, and Grace how long it leaves readers what was taken out.
	Remember    time.Duration `json:"remember_ns,omitempty"`
	RememberMax int           `json:"remember_max,omitempty"`
	Grace       time.Duration `json:"grace_ns,omitempty"`
	// Common is the highest raw file that was taken over from another, which uploaded it.
	Common int64 `json:"common,omitempty"`
	// Dates is sorted by date.
	Dates []dateRef `json:"dates"`
	// Removed names what is to be deleted when its grace is over.
	Removed []removedRef `json:"removed,omitempty"`
}

// removedRef names a list of files that one commit has taken out.
type removedRef struct {
	Manifest string    `json:"manifest"`
	Checksum string    `json:"checksum"`
	Due      time.Time `json:"due"`
}

// removedFiles is such a list: paths below the root, with forward slashes.
type removedFiles struct {
	Schema int      `json:"schema_version"`
	Files  []string `json:"files"`
}

// dateRef names the manifest of one date and sums it up.
type dateRef struct {
	Date          string    `json:"date"`
	Manifest      string    `json:"manifest"`
	Checksum      string    `json:"checksum"`
	Files         int       `json:"files"`
	Rows          int64     `json:"rows"`
	Bytes         int64     `json:"bytes"`
	SumsBytes     int64     `json:"sums_bytes,omitempty"` // of the rollups of the files
	LastCommitted time.Time `json:"last_committed"`       // of rows; maintenance does not count
}

// dateManifest lists the files of one date. Sealed parts hold the older ones, so
// that a commit rewrites a short list however many files a date has.
type dateManifest struct {
	Schema int         `json:"schema_version"`
	Date   string      `json:"date"`
	Parts  []partRef   `json:"parts,omitempty"`
	Files  []fileEntry `json:"files"`
	// Settled are the ids that files settled which are no longer listed.
	Settled []warehouse.ItemWindow `json:"settled,omitempty"`
	// Sums is a file of sums of some of the files.
	Sums *sumsEntry `json:"sums,omitempty"`
}

type partRef struct {
	Manifest string `json:"manifest"`
	Checksum string `json:"checksum"`
	Files    int    `json:"files"`
}

// fileEntry is one file that counts.
type fileEntry struct {
	Path  string `json:"path"` // below the root, with forward slashes
	Kind  string `json:"kind"`
	Level string `json:"level,omitempty"` // of all its rows; none is raw
	NoIDs bool   `json:"no_ids,omitempty"`
	parquet.Summary
	Schema    int       `json:"schema_version"`
	Committed time.Time `json:"committed"`
	// Items are the ids that the commit settled, in the form of IDSet.Pack.
	Items map[string]string `json:"items,omitempty"`
}

// sumsEntry is a file of sums of the rows of files that count. Its own rows don't: readers
// may take it instead of these files, never next to them. Without a path it says that sums
// of these files are not worth keeping.
type sumsEntry struct {
	fileEntry
	Of []string `json:"of"` // paths of the files
}

func generationName(n int64) string { return fmt.Sprintf("%012d.json", n) }

// readCurrent tells which generation counts and what its checksum is. It
// returns an error of kind fs.ErrNotExist if none was ever committed.
func readCurrent(root string) (name, sum string, err error) {
	path := filepath.Join(root, currentName)
	data, err := os.ReadFile(path)
	if err != nil {
		return "", "", err
	}
	name, sum, ok := strings.Cut(strings.TrimSpace(string(data)), " ")
	if !ok || !filepath.IsLocal(name) || filepath.Base(name) != name {
		return "", "", warehouse.Damaged("read", path, fmt.Errorf("want `<generation>.json <checksum>`, found %.80q", data))
	}
	return name, sum, nil
}

// readManifest reads one file of the manifest directory into v.
func readManifest(root, name, sum string, v any) error {
	path := filepath.Join(root, manifestDir, name)
	if filepath.Base(name) != name || !filepath.IsLocal(name) {
		return warehouse.Damaged("read manifest", path, fmt.Errorf("%q is no plain file name", name))
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return warehouse.Damaged("read manifest", path, err)
	}
	if err != nil {
		return &warehouse.Error{Op: "read manifest", Path: path, Err: err, Hint: "check that the directory is readable"}
	}
	if got := parquet.Checksum(data); got != sum {
		return warehouse.Damaged("read manifest", path, fmt.Errorf("its checksum is %s, %s was committed", got, sum))
	}
	if err := json.Unmarshal(data, v); err != nil {
		return warehouse.Damaged("read manifest", path, err)
	}
	return nil
}

func readGeneration(root, name, sum string) (*generation, error) {
	var g generation
	err := readManifest(root, name, sum, &g)
	if e := (*warehouse.Error)(nil); errors.Is(err, warehouse.ErrCorrupt) && errors.As(err, &e) {
		e.Hint = fmt.Sprintf("%s names it and says its checksum, so that file may be the damaged one; %s", filepath.Join(root, currentName), e.Hint)
	}
	if err != nil {
		return nil, err
	}
	path := filepath.Join(root, manifestDir, name)
	if g.Schema > parquet.SchemaVersion {
		return nil, warehouse.Newer("read manifest", path, g.Schema, parquet.SchemaVersion)
	}
	if generationName(g.Generation) != name {
		return nil, warehouse.Damaged("read manifest", path, fmt.Errorf("it says it is generation %d", g.Generation))
	}
	return &g, nil
}

func readDate(root string, ref dateRef) (*dateManifest, error) {
	var m dateManifest
	if err := readManifest(root, ref.Manifest, ref.Checksum, &m); err != nil {
		return nil, err
	}
	if m.Date != ref.Date {
		path := filepath.Join(root, manifestDir, ref.Manifest)
		return nil, warehouse.Damaged("read manifest", path, fmt.Errorf("it is about %q, wanted %q", m.Date, ref.Date))
	}
	return &m, nil
}

// readFiles reads the manifest of a date and lists its files.
func readFiles(root string, ref dateRef) (*dateManifest, []fileEntry, error) {
	m, err := readDate(root, ref)
	if err != nil {
		return nil, nil, err
	}
	files, err := m.allFiles(root)
	return m, files, err
}

// allFiles lists the files of a date, oldest commit first.
func (m *dateManifest) allFiles(root string) ([]fileEntry, error) {
	var files []fileEntry
	for _, part := range m.Parts {
		var p dateManifest
		if err := readManifest(root, part.Manifest, part.Checksum, &p); err != nil {
			return nil, err
		}
		files = append(files, p.Files...)
	}
	files = append(files, m.Files...)
	for _, f := range files {
		if !isFileOf(f.Path, m.Date) {
			return nil, m.astray(root, f.Path)
		}
	}
	if m.Sums != nil && m.Sums.Path != "" && !isFileOf(m.Sums.Path, m.Date) {
		return nil, m.astray(root, m.Sums.Path)
	}
	return files, nil
}

func (m *dateManifest) astray(root, path string) *warehouse.Error {
	return warehouse.Damaged("read manifest", filepath.Join(root, manifestDir), fmt.Errorf("date %s lists the file %q", m.Date, path))
}

// preaggregated returns the sums of some of the date's files, nil if it has none. Whoever takes files
// out of a date takes their sums out, too. Should one have forgotten it, rows would be
// counted that are not there any more; without the sums readers have all there is, so
// this is no reason to refuse the date.
func (m *dateManifest) preaggregated(files []fileEntry) *sumsEntry {
	if m.Sums == nil || len(m.Sums.Of) == 0 {
		return nil
	}
	listed := map[string]bool{}
	for _, f := range files {
		listed[f.Path] = true
	}
	for _, path := range m.Sums.Of {
		if !listed[path] {
			return nil
		}
	}
	return m.Sums
}

// kept reports whether there is a file.
func (e *sumsEntry) kept() bool { return e != nil && e.Path != "" }

// onDisk lists what a date has on the disk: the files that count and their sums.
func (m *dateManifest) onDisk(root string) ([]fileEntry, error) {
	files, err := m.allFiles(root)
	if err != nil {
		return nil, err
	}
	if sums := m.preaggregated(files); sums.kept() {
		files = append(files, sums.fileEntry)
	}
	return files, nil
}

// count sums up the files of a date.
func (r *dateRef) count(files []fileEntry, sums *sumsEntry) {
	r.Files, r.Rows, r.Bytes, r.SumsBytes = 0, 0, 0, 0
	for i := range files {
		r.addFile(&files[i])
	}
	if sums != nil {
		r.SumsBytes = sums.Bytes
	}
}

func (r *dateRef) addFile(f *fileEntry) {
	r.Files++
	r.Rows += f.Rows
	r.Bytes += f.Bytes
}

// isFileOf reports whether a path is that of a file of a date.
func isFileOf(path, date string) bool {
	dir, file, _ := strings.Cut(path, "/")
	return dir == warehouse.DatePrefix+date && file != "" && !strings.ContainsAny(file, `/\`) && filepath.IsLocal(path)
}
