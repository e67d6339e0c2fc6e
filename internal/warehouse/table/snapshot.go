package table

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/parquet"
)

// Kinds of files.
const (
	KindRaw   = "raw"   // rows as they were written, one file per write and date
	KindMerge = "merge" // rows of several files, merged
	KindRoll  = "roll"  // rollup that replaced rows, see File.Level
	// KindPreaggregated is a rollup that readers can read instead of rows, see Sums.
	KindPreaggregated = "beside"
)

// Extension returns the file name extension for a kind. Pre-aggregated rollups have their own extension,
// because a reader that opens all *.parquet files without the manifest would count their rows twice.
func Extension(kind string) string {
	if kind == KindPreaggregated {
		return ".sums"
	}
	return ".parquet"
}

// Sums is a pre-aggregated rollup of files of a date, kept in addition to these files. If it has no rows
// it has no file, because a rollup was not worth its disk space. A reader can read it instead of all of
// these files. Reading both counts rows twice.
type Sums struct {
	parquet.File
	Of []string // paths of the source files, as they are listed in Files
}

// Snapshot is the warehouse after one commit. Its files stay on disk for the writer's grace period after
// a later commit has removed them.
type Snapshot struct {
	Root       string
	Generation int64
	Committed  time.Time
	Files      []parquet.File // by date, then in the order of their commits
	Sums       []Sums         // by date, at most one per date
	// Damaged holds the dates whose files are unknown because a manifest is damaged, with the errors.
	Damaged map[string]error
}

// Open resolves the newest commit of the warehouse at root. It fails with an
// *Error of kind ErrMissing, ErrEmpty, ErrCorrupt or ErrNewer.
func Open(root string) (*Snapshot, error) {
	s, err := OpenReadable(root)
	if err != nil {
		return nil, err
	}
	return s, s.Damage(func(string) bool { return true })
}

// OpenReadable is Open, but skips dates with damaged manifests, unless no other date has files. Damage
// returns the errors of the skipped dates.
func OpenReadable(root string) (*Snapshot, error) {
	if err := Spooled(root); err != nil {
		return nil, err
	}
	// A reader that was stopped for longer than the grace period may find the generation deleted that it
	// has resolved. It then reads the newer one.
	name, sum, err := openCurrent(root)
	for err == nil {
		var s *Snapshot
		if s, err = openGeneration(root, name, sum); err == nil && len(s.Damaged) == 0 {
			return s, nil
		}
		newName, newSum, nerr := openCurrent(root)
		if nerr != nil || newName == name {
			return s, err
		}
		name, sum, err = newName, newSum, nil
	}
	return nil, err
}

func openCurrent(root string) (name, sum string, err error) {
	name, sum, err = readCurrent(root)
	if errors.Is(err, fs.ErrNotExist) {
		info, statErr := os.Stat(filepath.Join(root, manifestDir))
		if statErr != nil || !info.IsDir() {
			return "", "", &warehouse.Error{Op: "open", Path: root, Kind: warehouse.ErrMissing, Err: err,
				Hint: "name the directory that the warehouse exporter's `path` names"}
		}
		lost := lostCurrent(root)
		// A writer may have made its first commit in the meantime.
		if name, sum, err = readCurrent(root); errors.Is(err, fs.ErrNotExist) {
			if lost == nil {
				lost = errEmpty(root)
			}
			return "", "", lost
		}
	}
	var typed *warehouse.Error
	if err != nil && !errors.As(err, &typed) {
		err = &warehouse.Error{Op: "open", Path: root, Err: err, Hint: "check that the directory is readable"}
	}
	return name, sum, err
}

// lostCurrent returns an error if a directory without CURRENT once had one. Manifests of the first commit
// are no evidence: they exist while it is in progress and after it has failed. Manifests of later commits
// are.
func lostCurrent(root string) error {
	if err := neverCommitted(root); err != nil {
		return err
	}
	dir := filepath.Join(root, manifestDir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return &warehouse.Error{Op: "list", Path: dir, Err: err, Hint: "check that the directory is readable"}
	}
	for _, e := range entries {
		if generationOf(e.Name()) > 1 {
			return currentGone(root, manifestDir+"/"+e.Name())
		}
	}
	return nil
}

func errEmpty(root string) error {
	return &warehouse.Error{Op: "open", Path: root, Kind: warehouse.ErrEmpty,
		Hint: warehouse.WhenRowsAppear}
}

func openGeneration(root, name, sum string) (*Snapshot, error) {
	g, err := readGeneration(root, name, sum)
	if err != nil {
		return nil, err
	}
	s := &Snapshot{Root: root, Generation: g.Generation, Committed: g.Committed, Damaged: map[string]error{}}
	for _, ref := range g.Dates {
		m, entries, err := readFiles(root, ref)
		if errors.Is(err, warehouse.ErrCorrupt) {
			s.Damaged[ref.Date] = err
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			s.Files = append(s.Files, e.file(root, ref.Date))
		}
		if sums := m.preaggregated(entries); sums.kept() {
			s.Sums = append(s.Sums, *sums.sums(root, ref.Date))
		}
	}
	if len(s.Files) == 0 {
		if err := s.Damage(func(string) bool { return true }); err != nil {
			return nil, err
		}
		return nil, errEmpty(root)
	}
	return s, nil
}

// Damage returns an error if a damaged manifest hides the files of a date for which date returns true.
func (s *Snapshot) Damage(date func(string) bool) error {
	var errs []error
	for _, d := range slices.Sorted(maps.Keys(s.Damaged)) {
		if date(d) {
			errs = append(errs, s.Damaged[d])
		}
	}
	return errors.Join(errs...)
}

// file converts the entry to a parquet.File.
func (e *fileEntry) file(root, date string) parquet.File {
	level := e.Level
	if level == "" {
		level = methodspan.LevelRaw
	}
	return parquet.File{
		Path: filepath.Join(root, filepath.FromSlash(e.Path)), Date: date, Kind: e.Kind, Rows: e.Rows,
		MinStartNS: e.MinStartNS, MaxStartNS: e.MaxStartNS, Bytes: e.Bytes, GroupBytes: e.GroupBytes, Checksum: e.Checksum,
		Level: level, NoIDs: e.NoIDs, Committed: e.Committed, Schema: e.Schema,
	}
}

// sums converts the entry to a Sums.
func (e *sumsEntry) sums(root, date string) *Sums {
	s := &Sums{File: e.file(root, date)}
	for _, path := range e.Of {
		s.Of = append(s.Of, filepath.Join(root, filepath.FromSlash(path)))
	}
	return s
}

// Rows returns the number of rows in the snapshot.
func (s *Snapshot) Rows() int64 {
	var n int64
	for _, f := range s.Files {
		n += f.Rows
	}
	return n
}
