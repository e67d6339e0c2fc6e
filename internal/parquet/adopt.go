package parquet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
)

// adoption is what a start makes of the files that no manifest names yet.
// Nobody was told that their writes had succeeded, so their items may be in
// several of them and may come again: the ids see to it that they count once.
type adoption struct {
	w       *Writer
	seen    idSet
	keep    []fileEntry       // files that count as they are
	ids     []string          // of them
	rows    []*methodspan.Row // of files that hold known items, or dropped dates, too
	rowIDs  []string          // of them
	discard []string          // files that are not needed afterwards
}

// adopt commits, in one go, what the orphans hold beyond the last commit. The
// newest come first: a write that was repeated or folded after it had failed is
// settled by its last attempt.
func (w *Writer) adopt(orphans []orphan, now time.Time) error {
	if len(orphans) == 0 {
		return nil
	}
	a := &adoption{w: w, seen: idSet{}}
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
		// A disk that fails is no reason to give up what is on it.
		data, err := os.ReadFile(w.path(o.name))
		if err != nil {
			return diskError("read file", w.path(o.name), err)
		}
		c, err := readOrphan(o.name, data)
		var newer *newerError
		if errors.As(err, &newer) {
			return tooNew("adopt file", w.path(o.name), newer)
		}
		if err != nil || !c.group.complete(o.name, present) {
			a.discard = append(a.discard, o.name)
			continue
		}
		group := &c.group
		for _, name := range group.Files {
			done[name] = true
		}
		took, err := a.add(group, now)
		if err != nil {
			return err
		}
		// Somebody else's file must not use the numbers up. Its own one is left alone
		// when the writer gets there.
		if took && o.sequence-w.state.sequence <= maxAhead {
			w.sequence = max(w.sequence, o.sequence)
		}
	}
	return a.commit(now)
}

// readOrphan reads a file that no manifest names, and believes it only if it is what
// was written: rows of the date whose file it is, of items that its write settled.
func readOrphan(name string, data []byte) (*content, error) {
	if err := checkSeal(data); err != nil {
		return nil, err
	}
	c, err := readContentOf(data)
	if err != nil {
		return nil, err
	}
	if len(c.rows) == 0 {
		return nil, errors.New("it has no rows")
	}
	ids, err := c.group.ids()
	if err != nil {
		return nil, err
	}
	date, err := time.Parse(dateLayout, strings.TrimPrefix(path.Dir(name), datePrefix))
	if err != nil {
		return nil, err
	}
	day := int32(date.Unix() / 86400)
	for i := range c.rows {
		r := &c.rows[i]
		if r.EventDay() != day {
			return nil, fmt.Errorf("row %d is of another date, day %d since 1970", i, r.EventDay())
		}
		if !ids.has(r.BatchID) {
			return nil, fmt.Errorf("row %d is of the item %.80q, which was not written with it", i, r.BatchID)
		}
	}
	return c, nil
}

// maxWriteIDs is more than one write can settle; a footer that says otherwise is
// none of ours.
const maxWriteIDs = 100_000_000

// ids are those that the write settles.
func (g *writeGroup) ids() (idSet, error) {
	ids := idSet{}
	if _, err := ids.unpack(g.Items); err != nil {
		return nil, err
	}
	if ids.count(maxWriteIDs) > maxWriteIDs {
		return nil, fmt.Errorf("it settles more than %d items", maxWriteIDs)
	}
	return ids, nil
}

// complete tells whether all files that were written together are there.
func (g *writeGroup) complete(name string, present map[string]bool) bool {
	for _, f := range g.Files {
		if !present[f] {
			return false
		}
	}
	return slices.Contains(g.Files, name)
}

func (a *adoption) known(id string) bool { return a.seen.has(id) || a.w.Committed(id) }

// add decides about the files of one write, and tells whether it took items of them.
func (a *adoption) add(group *writeGroup, now time.Time) (took bool, err error) {
	ids, err := group.ids()
	if err != nil {
		a.discard = append(a.discard, group.Files...)
		return false, nil
	}
	var files []fileEntry
	var rows [][]methodspan.Row
	for _, name := range group.Files {
		data, err := os.ReadFile(a.w.path(name))
		if err != nil {
			return false, diskError("read file", a.w.path(name), err)
		}
		c, err := readOrphan(name, data)
		if err != nil || !reflect.DeepEqual(&c.group, group) {
			a.discard = append(a.discard, group.Files...)
			return false, nil
		}
		entry, inFile := describe(name, data, c), c.rows
		entry.Committed, entry.Items = now.UTC(), group.Items
		files, rows = append(files, entry), append(rows, inFile)
	}
	floor := floorOf(a.w.state.floor)
	whole := true // all its rows may count
	for i := range files {
		whole = whole && files[i].MinStartNS >= floor
	}
	fresh, stale := 0, 0
	for id := range ids.all() {
		if a.known(id) {
			stale++
		} else {
			fresh++
		}
	}
	whole = whole && stale == 0
	switch {
	case fresh == 0:
		a.discard = append(a.discard, group.Files...)
	case whole:
		a.keep = append(a.keep, files...)
	default:
		for _, inFile := range rows {
			for i := range inFile {
				if inFile[i].StartNS >= floor && !a.known(inFile[i].BatchID) {
					a.rows = append(a.rows, &inFile[i])
				}
			}
		}
		a.discard = append(a.discard, group.Files...)
	}
	for id := range ids.all() {
		switch {
		case a.known(id):
			continue
		case whole:
			a.ids = append(a.ids, id)
		default:
			a.rowIDs = append(a.rowIDs, id)
		}
		a.seen.add(id)
	}
	return fresh > 0, nil
}

func (a *adoption) commit(now time.Time) error {
	w := a.w
	if len(a.keep)+len(a.rows) > 0 {
		tx := &transaction{w: w, now: now}
		ids := idSet{}
		for _, id := range a.rowIDs {
			ids.add(id)
		}
		if err := tx.run(context.Background(), a.rows, ids.pack(), a.keep); err != nil {
			return err
		}
		for _, f := range tx.files {
			w.recovery.FilesAdopted++
			w.recovery.RowsAdopted += f.Rows
		}
		w.remember(append(a.ids, a.rowIDs...), now)
	}
	for _, name := range a.discard {
		if w.opts.disk.remove(w.path(name)) == nil {
			w.recovery.FilesRemoved++
		}
	}
	return nil
}

// parseGroup reads what a file's footer says it was written with.
func parseGroup(text string) (group writeGroup, err error) {
	if err := json.Unmarshal([]byte(text), &group); err != nil {
		return group, err
	}
	for i, name := range group.Files {
		if slices.Contains(group.Files[:i], name) {
			return group, fmt.Errorf("%q is listed twice", name)
		}
		if !filepath.IsLocal(name) || !strings.HasPrefix(name, datePrefix) || strings.Count(name, "/") != 1 {
			return group, fmt.Errorf("%q is no file of a warehouse", name)
		}
	}
	return group, nil
}

// describe makes the entry of a file from the file itself.
func describe(name string, data []byte, c *content) fileEntry {
	rows := c.rows
	entry := fileEntry{
		Path: name, Kind: KindRaw, Rows: int64(len(rows)), Bytes: int64(len(data)), GroupBytes: c.groupBytes,
		Checksum: checksum(data), Schema: SchemaVersion,
	}
	entry.MinStartNS, entry.MaxStartNS = rows[0].StartNS, rows[0].StartNS
	for i := range rows {
		entry.MinStartNS = min(entry.MinStartNS, rows[i].StartNS)
		entry.MaxStartNS = max(entry.MaxStartNS, rows[i].StartNS)
	}
	return entry
}
