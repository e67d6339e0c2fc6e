package parquet

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
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
	orphans, err := w.scan(now)
	if err != nil {
		return err
	}
	return w.adopt(orphans, now)
}

// settle finds out whether a commit of unknown outcome counts. As long as it
// can't, the outcome stays unknown.
func (w *Writer) settle() error {
	err := w.opts.disk.syncDir(w.root)
	if err == nil {
		err = w.load()
	}
	if err != nil {
		return &Error{Op: "settle the last commit", Path: w.root, Kind: ErrUnknown, Err: err, Hint: hintUnknown}
	}
	w.unsettled = false
	return nil
}

// load reads the state that CURRENT leads to, and the ids of recent commits.
func (w *Writer) load() error {
	name, sum, err := readCurrent(w.root)
	if errors.Is(err, fs.ErrNotExist) {
		w.state = state{}
		w.setIDs(idBook{window: w.opts.RememberFor, max: w.opts.RememberMax})
		return nil
	}
	if err != nil {
		return err
	}
	g, err := readGeneration(w.root, name, sum)
	if err != nil {
		return err
	}
	w.state = state{generation: g.Generation, dates: g.Dates}
	w.sequence = max(w.sequence, g.Sequence)
	w.lastGeneration = max(w.lastGeneration, g.Generation)
	return w.loadIDs(g)
}

func (w *Writer) loadIDs(g *generation) error {
	since := w.opts.Now().Add(-w.opts.RememberFor)
	var recent []fileEntry
	for _, ref := range g.Dates {
		if ref.LastCommitted.Before(since) {
			continue
		}
		m, err := readDate(w.root, ref)
		if err != nil {
			return err
		}
		files, err := m.allFiles(w.root)
		if err != nil {
			return err
		}
		for _, f := range files {
			if !f.Committed.Before(since) && len(f.Items) > 0 {
				recent = append(recent, f)
			}
		}
	}
	slices.SortStableFunc(recent, func(a, b fileEntry) int { return a.Committed.Compare(b.Committed) })
	ids := idBook{window: w.opts.RememberFor, max: w.opts.RememberMax}
	for _, f := range recent {
		if err := ids.addPacked(f.Items, f.Committed); err != nil {
			return corrupt("read manifest", w.path(manifestDir), fmt.Errorf("items of %s: %w", f.Path, err))
		}
	}
	w.setIDs(ids)
	return nil
}

// orphan is a raw file newer than the last commit.
type orphan struct {
	name     string // below the root
	sequence int64
}

// scan goes through the directory: it deletes unfinished files, finds orphans
// and dooms what the current generation doesn't lead to.
func (w *Writer) scan(now time.Time) ([]orphan, error) {
	named := map[string]bool{}
	if w.state.generation > 0 {
		named[generationName(w.state.generation)] = true
	}
	committed := w.sequence
	var orphans []orphan
	for _, ref := range w.state.dates {
		m, err := readDate(w.root, ref)
		if err != nil {
			return nil, err
		}
		files, err := m.allFiles(w.root)
		if err != nil {
			return nil, err
		}
		named[ref.Manifest] = true
		for _, p := range m.Parts {
			named[p.Manifest] = true
		}
		for _, f := range files {
			named[f.Path] = true
		}
	}
	entries, err := os.ReadDir(w.root)
	if err != nil {
		return nil, diskError("list", w.root, err)
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case name == currentName+tmpSuffix:
			w.removeTmp(w.path(name))
		case name == manifestDir && e.IsDir():
			if err := w.scanManifests(named, now); err != nil {
				return nil, err
			}
		case strings.HasPrefix(name, datePrefix) && e.IsDir():
			found, err := w.scanDate(name, named, committed, now)
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
		return diskError("list", w.path(manifestDir), err)
	}
	for _, e := range entries {
		name := e.Name()
		w.lastGeneration = max(w.lastGeneration, generationOf(name))
		if strings.HasSuffix(name, ".json") && !named[name] {
			w.sweep.add(now, w.path(manifestDir, name))
		}
	}
	return nil
}

// sequenceOf reads the number in `raw-<sequence>.parquet`.
func sequenceOf(name string) (int64, bool) {
	digits, isRaw := strings.CutPrefix(name, KindRaw+"-")
	digits, isFile := strings.CutSuffix(digits, ".parquet")
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, isRaw && isFile && err == nil && n > 0
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

func (w *Writer) scanDate(dir string, named map[string]bool, committed int64, now time.Time) ([]orphan, error) {
	entries, err := os.ReadDir(w.path(dir))
	if err != nil {
		return nil, diskError("list", w.path(dir), err)
	}
	var orphans []orphan
	for _, e := range entries {
		name := dir + "/" + e.Name()
		if strings.HasSuffix(name, ".parquet"+tmpSuffix) {
			w.removeTmp(w.path(name))
			continue
		}
		sequence, ok := sequenceOf(e.Name())
		if !ok || named[name] {
			continue
		}
		w.sequence = max(w.sequence, sequence)
		if sequence > committed {
			orphans = append(orphans, orphan{name, sequence})
		} else {
			// Dropped by a commit, or left by a failed one that was repeated
			// under a higher number: never to count again.
			w.sweep.add(now, w.path(name))
		}
	}
	return orphans, nil
}
