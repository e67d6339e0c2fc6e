package table

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/corehour/corehour/internal/regular"
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
	Sequence   int64     `json:"sequence"` // highest number of a committed raw file
	Committed  time.Time `json:"committed"`
	// Floor is the first date that retention has not dropped. Rows of earlier dates are refused.
	Floor string `json:"floor,omitempty"`
	// Remember is how long the writer remembers item ids to recognise repeats, RememberMax the maximum
	// number of runs of ids that it remembers, and Grace how long it keeps removed files for readers.
	Remember    time.Duration `json:"remember_ns,omitempty"`
	RememberMax int           `json:"remember_max,omitempty"`
	Grace       time.Duration `json:"grace_ns,omitempty"`
	// Common is the highest raw file taken over from another writer, which uploaded it.
	Common int64 `json:"common,omitempty"`
	// Dates is sorted by date.
	Dates []dateRef `json:"dates"`
	// Removed names the lists of files to delete after their grace period.
	Removed []removedRef `json:"removed,omitempty"`
}

// removedRef names a list of files that one commit has removed.
type removedRef struct {
	Manifest string    `json:"manifest"`
	Checksum string    `json:"checksum"`
	Due      time.Time `json:"due"`
}

// removedFiles is a list of removed files: paths relative to the root, with forward slashes.
type removedFiles struct {
	Schema int      `json:"schema_version"`
	Files  []string `json:"files"`
}

// dateRef names the manifest of one date and holds its totals.
type dateRef struct {
	Date          string    `json:"date"`
	Manifest      string    `json:"manifest"`
	Checksum      string    `json:"checksum"`
	Files         int       `json:"files"`
	Rows          int64     `json:"rows"`
	Bytes         int64     `json:"bytes"`
	SumsBytes     int64     `json:"sums_bytes,omitempty"` // of the pre-aggregated rollup
	LastCommitted time.Time `json:"last_committed"`       // last commit of rows; maintenance does not change it
}

// dateManifest lists the files of one date. Immutable parts list the older files, so that a commit
// rewrites only a short list even if a date has many files.
type dateManifest struct {
	Schema int         `json:"schema_version"`
	Date   string      `json:"date"`
	Parts  []partRef   `json:"parts,omitempty"`
	Files  []fileEntry `json:"files"`
	// Settled holds the item ids committed with files that are no longer listed.
	Settled []warehouse.ItemWindow `json:"settled,omitempty"`
	// Sums is a pre-aggregated rollup of some of the files.
	Sums *sumsEntry `json:"sums,omitempty"`
}

type partRef struct {
	Manifest string `json:"manifest"`
	Checksum string `json:"checksum"`
	Files    int    `json:"files"`
}

// fileEntry describes one live file.
type fileEntry struct {
	Path  string `json:"path"` // relative to the root, with forward slashes
	Kind  string `json:"kind"`
	Level string `json:"level,omitempty"` // of all its rows; empty for raw rows
	NoIDs bool   `json:"no_ids,omitempty"`
	parquet.Summary
	Schema    int       `json:"schema_version"`
	Committed time.Time `json:"committed"`
	// Items holds the item ids of the commit that added the file, in the form of IDSet.Pack.
	Items map[string]string `json:"items,omitempty"`
}

// sumsEntry describes a pre-aggregated rollup of live files. Readers can read it instead of these files,
// never in addition to them. Without a path it records that a rollup of these files is not worth keeping.
type sumsEntry struct {
	fileEntry
	Of []string `json:"of"` // paths of the source files
}

func generationName(n int64) string { return fmt.Sprintf("%012d.json", n) }

const (
	maxCurrent  = 4 << 10 // bytes; it has one line
	maxManifest = 256 << 20
)

// readCurrent returns the name of the current generation and its checksum. It returns an error of kind
// fs.ErrNotExist if there was no commit yet.
func readCurrent(root string) (name, sum string, err error) {
	path := filepath.Join(root, currentName)
	data, err := regular.ReadFile(path, maxCurrent)
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
	data, err := regular.ReadFile(path, maxManifest)
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

// readFiles reads the manifest of a date and returns it with the list of its files.
func readFiles(root string, ref dateRef) (*dateManifest, []fileEntry, error) {
	m, err := readDate(root, ref)
	if err != nil {
		return nil, nil, err
	}
	files, err := m.allFiles(root)
	return m, files, err
}

// allFiles returns the files of a date, oldest commit first.
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

// preaggregated returns the pre-aggregated rollup of the date, or nil if there is none. A commit that
// removes a source file must remove the rollup, too. If one failed to, the rollup would contain rows that
// were removed. It is then ignored instead of refusing the date, because the files hold all rows.
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

// kept reports whether the rollup has a file.
func (e *sumsEntry) kept() bool { return e != nil && e.Path != "" }

// onDisk returns the files that a date has on disk: its live files and its pre-aggregated rollup.
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

// count sets the totals of r to those of the files and the rollup.
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

// isFileOf reports whether path is that of a file of the date.
func isFileOf(path, date string) bool {
	dir, file, _ := strings.Cut(path, "/")
	return dir == warehouse.DatePrefix+date && file != "" && !strings.ContainsAny(file, `/\`) && filepath.IsLocal(path)
}
