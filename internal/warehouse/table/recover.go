package table

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/corehour/corehour/internal/warehouse"
)

// Recovery says what a start found left over.
type Recovery struct {
	TmpRemoved   int   // unfinished files, deleted
	FilesAdopted int   // finished files that no manifest named yet
	RowsAdopted  int64 // in them
	FilesRemoved int   // finished files of an unfinished or repeated write, deleted
}

// recover brings the directory and the writer to the state of the last commit,
// plus the writes that were finished but for their manifest.
func (w *Writer) recover() error {
	if err := w.load(); err != nil {
		return err
	}
	now := w.opts.Now()
	for range adoptions {
		orphans, err := w.scan(now)
		if err != nil {
			return err
		}
		// Maintenance may drop a date meanwhile.
		if err = w.adopt(orphans, now); !errors.Is(err, errExpired) {
			return err
		}
	}
	return &warehouse.Error{Op: "adopt files", Path: w.root, Err: errExpired,
		Hint: "maintenance has dropped dates as often as this was tried: start again"}
}

// adoptions is how often a start tries, each time because a date was dropped meanwhile.
const adoptions = 10

// Settle finds out whether the last write counts, if that is not known. As long as it
// can't it fails with ErrUnknown, and with the items that this is about. A Write begins
// with it; who may refuse a Write before that must settle first.
func (w *Writer) Settle() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lockFile == nil {
		return nil
	}
	return w.resolveUnknown()
}

func (w *Writer) resolveUnknown() error {
	if !w.unsettled {
		return nil
	}
	err := w.opts.disk.syncDir(w.root)
	if err == nil {
		err = w.load()
	}
	if err != nil {
		return &warehouse.Error{Op: "settle the last commit", Path: w.root, Kind: warehouse.ErrUnknown, Items: w.doubtful, Err: err, Hint: hintUnknown}
	}
	w.unsettled, w.doubtful = false, nil
	return nil
}

// load reads the state that CURRENT leads to, and the ids of recent commits.
func (w *Writer) load() error {
	name, sum, err := readCurrent(w.root)
	if errors.Is(err, fs.ErrNotExist) {
		if err := neverCommitted(w.root); err != nil {
			return err
		}
		w.state, w.lastGeneration = state{}, 0
		return w.intake.Restore(nil)
	}
	if err != nil {
		return err
	}
	g, err := readGeneration(w.root, name, sum)
	if err != nil {
		return err
	}
	w.setKnown(g, sum)
	w.sequence = max(w.sequence, g.Sequence)
	return w.loadIDs(g)
}

// neverCommitted makes sure that a directory without CURRENT holds nothing that only a
// commit can have left: files of maintenance would count no more, and be deleted for
// it. Manifests prove nothing, since a first commit that fails leaves them behind;
// and raw files are adopted, so they lose nothing.
func neverCommitted(root string) error {
	dir := os.DirFS(root)
	for _, kind := range []string{KindMerge, KindRoll} {
		files, err := fs.Glob(dir, warehouse.DatePrefix+"*/"+kind+"-*.parquet")
		if err != nil {
			return err
		}
		if len(files) > 0 {
			return currentGone(root, files[0])
		}
	}
	return nil
}

func currentGone(root, proof string) error {
	return warehouse.Damaged("read", filepath.Join(root, currentName), fmt.Errorf("it is gone, and %s shows that there were commits", proof))
}

func (w *Writer) loadIDs(g *generation) error {
	since := w.opts.Now().Add(-w.opts.RememberFor)
	var recent []warehouse.ItemWindow
	for _, ref := range g.Dates {
		if ref.LastCommitted.Before(since) {
			continue
		}
		m, files, err := readFiles(w.root, ref)
		if err != nil {
			return err
		}
		recent = append(recent, m.Settled...)
		for _, f := range files {
			if len(f.Items) > 0 {
				recent = append(recent, warehouse.ItemWindow{Committed: f.Committed, Items: f.Items})
			}
		}
	}
	recent = slices.DeleteFunc(recent, func(s warehouse.ItemWindow) bool { return s.Committed.Before(since) })
	slices.SortStableFunc(recent, func(a, b warehouse.ItemWindow) int { return a.Committed.Compare(b.Committed) })
	if err := w.intake.Restore(recent); err != nil {
		return warehouse.Damaged("read manifest", w.path(manifestDir), err)
	}
	return nil
}

// orphan is a raw file newer than the last commit.
type orphan struct {
	name     string // below the root
	sequence int64
}

// scan goes through the directory: it deletes unfinished files, finds orphans
// and dooms what the current generation doesn't lead to. Files of maintenance it
// leaves to a Maintainer. Nobody commits meanwhile, so that what the newest generation
// does not lead to is nobody's.
func (w *Writer) scan(now time.Time) ([]orphan, error) {
	held, err := warehouse.LockCommit(w.root, commitLock)
	if err != nil {
		return nil, err
	}
	defer held.Close()
	if err := w.refresh(); err != nil {
		return nil, err
	}
	named, err := w.named()
	if err != nil {
		return nil, err
	}
	// Not the writer's own: an earlier look may have raised it to what it found.
	committed := w.state.Sequence
	var orphans []orphan
	entries, err := os.ReadDir(w.root)
	if err != nil {
		return nil, warehouse.DiskError("list", w.root, err)
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case name == currentName+tmpSuffix:
			w.removeTmp(w.path(name))
		case name == manifestDir && e.IsDir():
			if err := w.scanManifests(named, now); err != nil {
				return nil, err
			}
		case strings.HasPrefix(name, warehouse.DatePrefix) && e.IsDir():
			found, err := w.scanDate(name, named, committed)
			if err != nil {
				return nil, err
			}
			orphans = append(orphans, found...)
		}
	}
	return orphans, nil
}

func (w *Writer) removeTmp(path string) {
	if w.opts.disk.remove(path) == nil {
		w.recovery.TmpRemoved++
	}
}

func (w *Writer) scanManifests(named map[string]bool, now time.Time) error {
	entries, err := os.ReadDir(w.path(manifestDir))
	if err != nil {
		return warehouse.DiskError("list", w.path(manifestDir), err)
	}
	for _, e := range entries {
		name := e.Name()
		switch {
		case !strings.HasSuffix(name, ".json") || named[name]:
		case generationOf(name) > w.state.Generation:
			// Of a commit that came to nothing: another one may use the name.
			_ = w.opts.disk.remove(w.path(manifestDir, name))
		default:
			w.sweep.addPaths(now, w.path(manifestDir, name))
		}
	}
	return nil
}

const (
	// maxSequence is more than any writer gets to, however many files it adopts.
	maxSequence = 1e18
	// maxAhead is more numbers than a writer uses from one commit to the next.
	maxAhead = 1e9
)

// rawName is how the writer names a file.
func rawName(sequence int64) string { return fmt.Sprintf("%s-%012d.parquet", KindRaw, sequence) }

// sequenceOf reads the number in `raw-<sequence>.parquet`. What is spelled otherwise
// than the writer does is none of its files.
func sequenceOf(name string) (int64, bool) {
	digits, isRaw := strings.CutPrefix(name, KindRaw+"-")
	digits, isFile := strings.CutSuffix(digits, ".parquet")
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, isRaw && isFile && err == nil && n > 0 && n <= maxSequence && name == rawName(n)
}

// generationOf reads the number at the end of a manifest's name, 0 if none.
func generationOf(name string) int64 {
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".json"), "-part")
	n, err := strconv.ParseInt(name[strings.LastIndexByte(name, '-')+1:], 10, 64)
	if err != nil {
		return 0
	}
	return max(n, 0)
}

func (w *Writer) scanDate(dir string, named map[string]bool, committed int64) ([]orphan, error) {
	entries, err := os.ReadDir(w.path(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // maintenance has deleted the last file of a date it dropped
	}
	if err != nil {
		return nil, warehouse.DiskError("list", w.path(dir), err)
	}
	var orphans []orphan
	for _, e := range entries {
		name := dir + "/" + e.Name()
		finished, unfinished := strings.CutSuffix(e.Name(), tmpSuffix)
		sequence, ok := sequenceOf(finished)
		if ok && unfinished {
			w.removeTmp(w.path(name))
			continue
		}
		if !ok || named[name] {
			continue
		}
		if sequence > committed {
			orphans = append(orphans, orphan{name, sequence})
		} else {
			// Left by a failed write that was repeated under a higher number:
			// it never counted and never will.
			if w.opts.disk.remove(w.path(name)) == nil {
				w.recovery.FilesRemoved++
			}
		}
	}
	return orphans, nil
}
