package table

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/parquet"
)

// ErrApart reports that two writers have added rows to copies of one warehouse, and that the rows of
// neither can be added to the other's copy unchanged.
var ErrApart = errors.New("both have rows that the other does not know")

// Rebase replaces the state of this warehouse by theirs, another copy of it, and adds the raw files that
// only this copy has. Both copies share the raw files up to sequence. theirs is the tree of the manifests
// in the directory from. If this copy has raw files above sequence, the other copy must have none: it can
// have had maintenance only. This ensures that no file name is used twice and no item is stored twice.
// Otherwise Rebase returns an error of kind ErrApart and changes nothing. No write and no other commit
// happens meanwhile. Files that were merged or dropped here after sequence are discarded, because theirs
// has the same rows.
func (w *Writer) Rebase(from string, theirs *Tree, sequence int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lockFile == nil {
		return &warehouse.Error{Op: "rebase", Path: w.root, Kind: warehouse.ErrClosed}
	}
	if err := w.resolveUnknown(); err != nil {
		return err
	}
	w.lastGeneration = max(w.lastGeneration, theirs.Generation)
	r := &rebase{from: from, theirs: theirs, common: sequence}
	if err := w.committer.publish(w.opts.Now(), r.apply); err != nil {
		return err
	}
	// Their files have sequence numbers and items that this writer must not use again.
	if err := w.load(); err != nil {
		w.unsettled = true
		return err
	}
	return nil
}

// rebase is a Rebase in progress. It writes all manifests under names of the next generation, since both
// copies may have used the same names.
type rebase struct {
	from   string
	theirs *Tree
	common int64

	checksums map[string]string // of their data files by path
	later     []fileEntry       // our files that they do not have
}

func (r *rebase) apply(t *commit, next *state) error {
	g, err := readGeneration(r.from, r.theirs.Name, r.theirs.Checksum)
	if err != nil {
		return err
	}
	r.common = max(r.common, t.state.Common)
	r.checksums = map[string]string{}
	for _, o := range r.theirs.Objects {
		r.checksums[o.Path] = o.Checksum
	}
	listed, err := r.compare(t, g)
	if err != nil {
		return err
	}
	for p := range r.checksums {
		if listed[p] {
			continue
		}
		// A file that is not live here may have the name of a file that is live there.
		if err := t.opts.disk.remove(t.path(p)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return warehouse.DiskError("remove", t.path(p), err)
		}
	}
	next.Sequence = max(next.Sequence, g.Sequence)
	next.say(&t.opts)
	next.Floor, next.Common = max(next.Floor, g.Floor), g.Sequence
	next.Dates, next.Removed, next.loaded = nil, nil, nil
	for i, ref := range g.Removed {
		if err := r.removed(t, next, ref, i); err != nil {
			return err
		}
	}
	dates := map[string]dateRef{}
	for _, ref := range g.Dates {
		dates[ref.Date] = ref
	}
	for _, f := range r.later {
		if date := dateOf(f); dates[date].Date == "" {
			dates[date] = dateRef{Date: date}
		}
	}
	for _, date := range slices.Sorted(maps.Keys(dates)) {
		if err := r.date(t, next, dates[date]); err != nil {
			return err
		}
	}
	return nil
}

// compare finds the files that only we list. It marks for deletion our manifests and the files that
// nothing refers to afterwards.
func (r *rebase) compare(t *commit, g *generation) (listed map[string]bool, err error) {
	listed = map[string]bool{}
	for _, ref := range t.state.Dates {
		m, err := readDate(t.root, ref)
		if err != nil {
			return nil, err
		}
		files, err := m.onDisk(t.root)
		if err != nil {
			return nil, err
		}
		t.replaced = append(t.replaced, t.path(manifestDir, ref.Manifest))
		for _, p := range m.Parts {
			t.replaced = append(t.replaced, t.path(manifestDir, p.Manifest))
		}
		for _, f := range files {
			listed[f.Path] = true
			sum, both := r.checksums[f.Path]
			n, raw := sequenceOf(path.Base(f.Path))
			switch {
			case both && sum == f.Checksum:
			case both, raw && n > r.common && (g.Sequence != r.common || dateOf(f) < g.Floor):
				return nil, &warehouse.Error{Op: "rebase", Path: t.path(f.Path), Kind: ErrApart}
			case raw && n > r.common:
				r.later = append(r.later, f)
			default:
				t.replaced = append(t.replaced, t.path(f.Path))
			}
		}
	}
	for _, ref := range t.state.Removed {
		files, err := t.readRemoved(ref)
		if err != nil {
			return nil, err
		}
		t.replaced = append(t.replaced, t.path(manifestDir, ref.Manifest))
		for _, f := range files {
			if _, counts := r.checksums[f]; !counts {
				t.replaced = append(t.replaced, t.path(f))
			}
		}
	}
	return listed, nil
}

func dateOf(f fileEntry) string {
	return f.Path[len(warehouse.DatePrefix):][:len(warehouse.DateLayout)]
}

// removed copies a list of files that they have removed.
func (r *rebase) removed(t *commit, next *state, ref removedRef, number int) error {
	var list removedFiles
	if err := readManifest(r.from, ref.Manifest, ref.Checksum, &list); err != nil {
		return err
	}
	ref.Manifest = fmt.Sprintf("removed.%d-%012d.json", number, next.Generation)
	var err error
	if ref.Checksum, err = t.writeManifest(ref.Manifest, &list); err != nil {
		return err
	}
	next.Removed = append(next.Removed, ref)
	return nil
}

// date copies the manifest of one of their dates and adds the files that only we have.
func (r *rebase) date(t *commit, next *state, ref dateRef) error {
	m := &dateManifest{Schema: parquet.SchemaVersion, Date: ref.Date}
	var files []fileEntry
	if ref.Manifest != "" {
		old, theirs, err := readFiles(r.from, ref)
		if err != nil {
			return err
		}
		files = theirs
		m.Settled, m.Sums = old.Settled, old.preaggregated(files)
	}
	for _, f := range r.later {
		if dateOf(f) != ref.Date {
			continue
		}
		files = append(files, f)
		ref.addFile(&f)
		if f.Committed.After(ref.LastCommitted) {
			ref.LastCommitted = f.Committed
		}
	}
	if m.Sums == nil {
		ref.SumsBytes = 0
	}
	return t.setFiles(next, dateState{}, ref, m, files)
}
