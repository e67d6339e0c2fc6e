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

// Recovery counts the leftovers of a crash that a start has found.
type Recovery struct {
	TmpRemoved   int   // unfinished files, deleted
	FilesAdopted int   // finished files that no manifest named yet, now committed
	RowsAdopted  int64 // rows in FilesAdopted
	FilesRemoved int   // finished files of an incomplete or repeated write, deleted
}

// recover restores the directory and the writer to the state of the last commit, and recovers orphaned
// files: those of finished writes whose manifest is missing.
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
		// Maintenance may drop a date in the meantime.
		if err = w.adopt(orphans, now); !errors.Is(err, errExpired) {
			return err
		}
	}
	return &warehouse.Error{Op: "adopt files", Path: w.root, Err: errExpired,
		Hint: "maintenance has dropped dates as often as this was tried: start again"}
}

// adoptions is the maximum number of attempts of a start. Each is caused by a date dropped meanwhile.
const adoptions = 10

// Settle finds out whether the last write is committed, if this is unknown. If it cannot, it returns an
// error of kind ErrUnknown with the items of that write. Write calls it first. A caller that may refuse
// items before Write must call Settle before that.
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

// load reads the state that CURRENT refers to, and the ids of recent commits.
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

// neverCommitted returns an error if a directory without CURRENT contains files that only a commit can
// have left. Without this check files of maintenance would no longer be live, and would be deleted.
// Manifests are no evidence, because a first commit that fails leaves them behind. Raw files are
// recovered, so that no rows are lost.
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

// orphan is a raw file that is newer than the last commit.
type orphan struct {
	name     string // relative to the root
	sequence int64
}

// scan walks the directory. It deletes unfinished files, finds orphans, and marks for deletion the files
// that the current generation does not refer to. Files of maintenance are left to a Maintainer. No other
// commit happens meanwhile, so files that the newest generation does not refer to are unused.
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
	// Not w.sequence: an earlier scan may have raised it to the number of a file that it found.
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
			// It belongs to a failed commit. Another commit may use the name.
			_ = w.opts.disk.remove(w.path(manifestDir, name))
		default:
			w.sweep.addPaths(now, w.path(manifestDir, name))
		}
	}
	return nil
}

const (
	// maxSequence is larger than any sequence number of a writer, however many files it recovers.
	maxSequence = 1e18
	// maxAhead is larger than the number of sequence numbers that a writer uses between two commits.
	maxAhead = 1e9
)

// rawName returns the writer's file name for a sequence number.
func rawName(sequence int64) string { return fmt.Sprintf("%s-%012d.parquet", KindRaw, sequence) }

// sequenceOf returns the number in `raw-<sequence>.parquet`. It returns false for names that rawName does
// not produce, because the writer did not create these files.
func sequenceOf(name string) (int64, bool) {
	digits, isRaw := strings.CutPrefix(name, KindRaw+"-")
	digits, isFile := strings.CutSuffix(digits, ".parquet")
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, isRaw && isFile && err == nil && n > 0 && n <= maxSequence && name == rawName(n)
}

// generationOf returns the generation number in a manifest's name, or 0 if there is none.
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
		return nil, nil // maintenance has deleted the last file of a dropped date
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
			// Left by a failed write that was repeated under a higher number: it never becomes live.
			if w.opts.disk.remove(w.path(name)) == nil {
				w.recovery.FilesRemoved++
			}
		}
	}
	return orphans, nil
}
