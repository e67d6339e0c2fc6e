package table

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/corehour/corehour/internal/durable"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/parquet"
)

// SpoolName is the name of a file that marks a directory as the spool of an object store prefix. The
// prefix can hold files that are no longer in the directory.
const SpoolName = "BUCKET"

// Object is an immutable file of a warehouse.
type Object struct {
	Path     string // relative to the root, with forward slashes
	Checksum string
	Bytes    int64 // 0 if unknown
}

// Tree lists all files that one generation refers to: the files to copy for a copy of the warehouse.
type Tree struct {
	Generation int64
	Sequence   int64  // highest number of a committed raw file
	Common     int64  // highest raw file that another writer had uploaded
	Name       string // of the generation's manifest
	Checksum   string // of the generation's manifest
	Committed  time.Time
	Dates      []string // all dates, including those that were left out
	// Manifests lists the generation's manifest and those that it refers to.
	Manifests []Object
	// Objects lists the live data files in the order of Files, then the pre-aggregated rollups in the
	// order of Sums.
	Objects []Object
	Files   []parquet.File
	Sums    []Sums
}

// TreeOptions are the options of ReadTree.
type TreeOptions struct {
	// Fetch, if not nil, is called with manifests before they are read from the root.
	Fetch func([]Object) error
	// Date, if not nil, selects dates: those for which it returns false are left out.
	Date func(date string) bool
	// Readers leaves out manifests that only a writer needs.
	Readers bool
}

// ReadTree reads the tree of a generation whose manifests are in the directory root.
func ReadTree(root, name, sum string, o TreeOptions) (*Tree, error) {
	if o.Fetch == nil {
		o.Fetch = func([]Object) error { return nil }
	}
	t := &Tree{Name: name, Checksum: sum}
	need := func(objects ...Object) error {
		t.Manifests = append(t.Manifests, objects...)
		return o.Fetch(objects)
	}
	if !isManifest(name) {
		return nil, warehouse.Damaged("read manifest", filepath.Join(root, manifestDir), errors.New("the generation has no plain name"))
	}
	if err := need(manifestObject(name, sum)); err != nil {
		return nil, err
	}
	g, err := readGeneration(root, name, sum)
	if err != nil {
		return nil, err
	}
	t.Generation, t.Sequence, t.Common, t.Committed = g.Generation, g.Sequence, g.Common, g.Committed
	refs, first, err := o.first(root, name, g)
	if err != nil {
		return nil, err
	}
	for _, ref := range g.Dates {
		t.Dates = append(t.Dates, ref.Date)
	}
	if err := need(first...); err != nil {
		return nil, err
	}
	dates := make([]*dateManifest, len(refs))
	var parts []Object
	for i, ref := range refs {
		if dates[i], err = readDate(root, ref); err != nil {
			return nil, err
		}
		for _, p := range dates[i].Parts {
			if !isManifest(p.Manifest) {
				return nil, warehouse.Damaged("read manifest", filepath.Join(root, manifestDir, ref.Manifest), errors.New("it leads to a part without a plain name"))
			}
			parts = append(parts, manifestObject(p.Manifest, p.Checksum))
		}
	}
	if err := need(parts...); err != nil {
		return nil, err
	}
	if err := t.addFiles(root, refs, dates); err != nil {
		return nil, err
	}
	return t, nil
}

func manifestObject(name, sum string) Object {
	return Object{Path: manifestDir + "/" + name, Checksum: sum}
}

// first returns the selected dates, and the manifests that the generation refers to directly.
func (o *TreeOptions) first(root, name string, g *generation) (refs []dateRef, first []Object, err error) {
	for _, ref := range g.Dates {
		if o.Date == nil || o.Date(ref.Date) {
			refs = append(refs, ref)
			first = append(first, manifestObject(ref.Manifest, ref.Checksum))
		}
	}
	for _, r := range g.Removed {
		if !o.Readers {
			first = append(first, manifestObject(r.Manifest, r.Checksum))
		}
	}
	for _, m := range first {
		if !isManifest(filepath.Base(m.Path)) || m.Path != manifestDir+"/"+filepath.Base(m.Path) {
			return nil, nil, warehouse.Damaged("read manifest", filepath.Join(root, manifestDir, name), errors.New("it leads to a manifest without a plain name"))
		}
	}
	return refs, first, nil
}

// addFiles adds the files that the manifests of dates list.
func (t *Tree) addFiles(root string, refs []dateRef, dates []*dateManifest) error {
	var rollups []Object
	for i, m := range dates {
		entries, err := m.allFiles(root)
		if err != nil {
			return err
		}
		for _, e := range entries {
			t.Objects = append(t.Objects, e.object())
			t.Files = append(t.Files, e.file(root, refs[i].Date))
		}
		if sums := m.preaggregated(entries); sums.kept() {
			rollups = append(rollups, sums.object())
			t.Sums = append(t.Sums, *sums.sums(root, refs[i].Date))
		}
	}
	t.Objects = append(t.Objects, rollups...)
	return nil
}

func (e *fileEntry) object() Object {
	return Object{Path: e.Path, Checksum: e.Checksum, Bytes: e.Bytes}
}

// Newer returns the files and rollups that are newer than another tree: raw files above sequence, and all
// others committed after committed.
func (t *Tree) Newer(sequence int64, committed time.Time) (files []parquet.File) {
	for _, f := range t.Files {
		n, raw := sequenceOf(filepath.Base(f.Path))
		if raw && n > sequence || !raw && f.Committed.After(committed) {
			files = append(files, f)
		}
	}
	for _, s := range t.Sums {
		if s.Committed.After(committed) {
			files = append(files, s.File)
		}
	}
	return files
}

// isManifest reports whether name is valid for a manifest: a plain file name on any file system.
func isManifest(name string) bool {
	return strings.HasSuffix(name, ".json") && !strings.ContainsAny(name, `/\:`) && filepath.IsLocal(name)
}

// CurrentTree returns the tree of the newest commit, or nil if there was none yet. The state that it
// returns survives a power failure.
func CurrentTree(root string) (*Tree, error) {
	if err := (osDisk{}).syncDir(root); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, warehouse.DiskError("sync directory", root, err)
	}
	// A manifest is deleted during the read only if there is a newer commit. It is read instead.
	name, sum, err := readCurrent(root)
	for err == nil {
		var t *Tree
		if t, err = ReadTree(root, name, sum, TreeOptions{}); err == nil {
			return t, nil
		}
		newName, newSum, nerr := readCurrent(root)
		if nerr != nil || newName == name {
			return nil, err
		}
		name, sum, err = newName, newSum, nil
	}
	if errors.Is(err, fs.ErrNotExist) && !errors.Is(err, warehouse.ErrCorrupt) {
		return nil, nil
	}
	return nil, err
}

// SetCurrent makes the generation name current in a directory that already contains its manifests. No
// Writer may have the directory open; use Writer.Rebase in that case.
func SetCurrent(root, name, sum string) error {
	current := filepath.Join(root, currentName)
	err := durable.SyncDir(filepath.Join(root, manifestDir))
	if err == nil {
		err = durable.Replace(current, []byte(name+" "+sum+"\n"), 0o644)
	}
	if err != nil {
		return warehouse.DiskError("replace", current, err)
	}
	return nil
}

// Spooled returns an error if the directory is the spool of an object store prefix. Such a directory can
// lack files that the manifest lists, because they are in the bucket only.
func Spooled(root string) error {
	if _, err := os.Stat(filepath.Join(root, SpoolName)); err != nil {
		return nil
	}
	return &warehouse.Error{Op: "open", Path: root, Kind: warehouse.ErrMissing,
		Hint: "the directory is what a collector uploads from, and need not hold all files: name the bucket that its file " + SpoolName + " names"}
}
