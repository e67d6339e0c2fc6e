package table

import (
	"context"
	"slices"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
)

// orphanRecovery decides which rows of files that no manifest names are committed at a start. Their
// writes were never reported as successful. Their items can therefore be in several files, and can be
// written again. Item ids ensure that each is stored once.
type orphanRecovery struct {
	w       *Writer
	seen    warehouse.IDSet
	keep    []fileEntry       // files that are committed unchanged
	ids     []string          // ids of keep
	rows    []*methodspan.Row // new rows of files that also hold known items or dropped dates
	rowIDs  []string          // ids of rows
	discard []string          // files that are deleted afterwards
}

// adopt recovers orphaned files: it commits, in one commit, all their items that are not committed yet.
// It handles the newest files first. If a failed write was repeated, or its items were aggregated into
// others, the last attempt is used.
func (w *Writer) adopt(orphans []orphan, now time.Time) error {
	if len(orphans) == 0 {
		return nil
	}
	a := &orphanRecovery{w: w, seen: warehouse.IDSet{}}
	present := map[string]bool{}
	for _, o := range orphans {
		present[o.name] = true
	}
	slices.SortFunc(orphans, func(a, b orphan) int { return int(b.sequence - a.sequence) })
	done := map[string]bool{}
	for _, o := range orphans {
		if done[o.name] {
			continue
		}
		g, believed, err := w.together(o.name, present)
		if err != nil {
			return err
		}
		if !believed {
			a.discard = append(a.discard, o.name)
			delete(present, o.name)
			continue
		}
		for _, f := range g.files {
			done[f.Path] = true
		}
		// The number of a foreign file must not use up the sequence numbers. The foreign file itself is
		// skipped when the writer gets to its number.
		if a.addWrite(g, now) && o.sequence-w.state.Sequence <= maxAhead {
			w.sequence = max(w.sequence, o.sequence)
		}
	}
	return a.commit(now)
}

func (a *orphanRecovery) known(id string) bool { return a.seen.Has(id) || a.w.Committed(id) }

// addWrite decides which rows of one write are recovered, and reports whether it has new items.
func (a *orphanRecovery) addWrite(g *written, now time.Time) (took bool) {
	floor := warehouse.DayStart(a.w.state.Floor)
	whole := true // all its rows are new and of dates that are kept
	for i := range g.files {
		g.files[i].Committed = now.UTC()
		whole = whole && g.files[i].MinStartNS >= floor
	}
	fresh, stale := 0, 0
	for id := range g.ids.All() {
		if a.known(id) {
			stale++
		} else {
			fresh++
		}
	}
	whole = whole && stale == 0
	switch {
	case fresh == 0:
		a.leave(g)
	case whole:
		a.keep = append(a.keep, g.files...)
	default:
		for _, inFile := range g.rows {
			for i := range inFile {
				if inFile[i].StartNS >= floor && !a.known(inFile[i].BatchID) {
					a.rows = append(a.rows, &inFile[i])
				}
			}
		}
		a.leave(g)
	}
	for id := range g.ids.All() {
		switch {
		case a.known(id):
			continue
		case whole:
			a.ids = append(a.ids, id)
		default:
			a.rowIDs = append(a.rowIDs, id)
		}
		a.seen.AddID(id)
	}
	return fresh > 0
}

// leave marks the files of a write for deletion.
func (a *orphanRecovery) leave(g *written) {
	for _, f := range g.files {
		a.discard = append(a.discard, f.Path)
	}
}

func (a *orphanRecovery) commit(now time.Time) error {
	w := a.w
	if len(a.keep)+len(a.rows) > 0 {
		tx := &transaction{w: w, now: now}
		if err := tx.commitRows(context.Background(), warehouse.PartitionByDate(a.rows), warehouse.PackIDs(a.rowIDs), a.keep); err != nil {
			return err
		}
		for _, f := range tx.files {
			w.recovery.FilesAdopted++
			w.recovery.RowsAdopted += f.Rows
		}
		w.intake.Remember(append(a.ids, a.rowIDs...), now)
	}
	for _, name := range a.discard {
		if w.opts.disk.remove(w.path(name)) == nil {
			w.recovery.FilesRemoved++
		}
	}
	return nil
}
