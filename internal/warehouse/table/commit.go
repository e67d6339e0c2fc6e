package table

import (
	"context"
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

// tmpSuffix marks what is not finished; a start deletes it.
const tmpSuffix = ".tmp"

// commit writes the rows of a batch, one file per date, and makes them count:
// files under temporary names, synced; renamed; their directories synced; then
// the manifests, and last CURRENT. Up to the last rename it leaves nothing
// behind when it fails.
func (w *Writer) commit(ctx context.Context, b *warehouse.Batch, now time.Time, res *warehouse.Result) error {
	tx := &transaction{w: w, now: now}
	if err := tx.commitRows(ctx, b.Partitions(), warehouse.PackIDs(b.IDs), nil); err != nil {
		return err
	}
	for _, f := range tx.files {
		res.Rows += int(f.Rows)
		res.Bytes += f.Bytes
		res.Files++
	}
	w.sweep.deleteDue(&w.committer, now)
	return nil
}

// transaction is one commit under way.
type transaction struct {
	w       *Writer
	now     time.Time
	files   []fileEntry
	created []string // files, which undo removes
}

// commitRows writes the rows and makes them count, together with files that are on
// disk already.
func (tx *transaction) commitRows(ctx context.Context, dates []warehouse.Partition, ids map[string]string, ready []fileEntry) error {
	err := tx.writeFiles(ctx, dates, ids)
	if err == nil {
		tx.files = append(tx.files, ready...)
		err = tx.publish()
	}
	if err != nil && !tx.w.unsettled {
		tx.undo()
	}
	return err
}

func (tx *transaction) writeFiles(ctx context.Context, dates []warehouse.Partition, ids map[string]string) error {
	w := tx.w
	group := &parquet.WriteGroup{Items: ids}
	for _, d := range dates {
		name, err := w.nextName(d.Date)
		if err != nil {
			return err
		}
		group.Files = append(group.Files, name)
	}
	for i, d := range dates {
		if err := ctx.Err(); err != nil {
			return &warehouse.Error{Op: "write", Path: w.root, Err: err}
		}
		entry, err := tx.writeTmp(group.Files[i], d.Rows, group)
		if err != nil {
			return err
		}
		tx.files = append(tx.files, entry)
	}
	for _, f := range tx.files {
		path := w.path(f.Path)
		if err := isFree(path); err != nil {
			return warehouse.DiskError("rename file", path, err)
		}
		// From here on the file may be there under either name.
		tx.created = append(tx.created, path)
		if err := w.opts.disk.rename(path+tmpSuffix, path); err != nil {
			return warehouse.DiskError("rename file", path, err)
		}
	}
	for _, f := range tx.files {
		dir := filepath.Dir(w.path(f.Path))
		if err := w.opts.disk.syncDir(dir); err != nil {
			return warehouse.DiskError("sync directory", dir, err)
		}
	}
	return nil
}

// mostTaken is how many names in a row may be those of files that are none of ours.
const mostTaken = 1000

// nextName is a name of a date that no file has. Numbers only grow; a file that is none
// of ours may have one all the same.
func (w *Writer) nextName(date string) (name string, err error) {
	for range mostTaken {
		w.sequence++
		name = warehouse.DatePrefix + date + "/" + rawName(w.sequence)
		if err = isFree(w.path(name)); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if err != nil {
		return "", warehouse.DiskError("name file", w.path(name), err)
	}
	return name, nil
}

// isFree makes sure that there is no file of a name, which a rename would replace.
func isFree(path string) error {
	_, err := os.Lstat(path)
	if err == nil {
		return fs.ErrExist
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// writeTmp encodes the rows into the file's temporary name and syncs it.
func (tx *transaction) writeTmp(name string, rows []*methodspan.Row, group *parquet.WriteGroup) (fileEntry, error) {
	w := tx.w
	path := w.path(name)
	dir := filepath.Dir(path)
	if !w.state.dirs[dir] {
		if err := w.opts.disk.mkdir(dir); err != nil {
			return fileEntry{}, warehouse.DiskError("create directory", dir, err)
		}
		if err := w.opts.disk.syncDir(w.root); err != nil {
			return fileEntry{}, warehouse.DiskError("sync directory", w.root, err)
		}
		w.state.addDir(dir)
	}
	tmp := path + tmpSuffix
	tx.created = append(tx.created, tmp)
	f, err := w.opts.disk.create(tmp)
	if err != nil {
		return fileEntry{}, warehouse.DiskError("create file", tmp, err)
	}
	summary, err := w.encoder.Encode(f, rows, group)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fileEntry{}, warehouse.DiskError("write file", tmp, err)
	}
	return fileEntry{Path: name, Kind: KindRaw, Summary: summary, Schema: parquet.SchemaVersion, Committed: tx.now.UTC(), Items: group.Items}, nil
}

// publish makes the files count.
func (tx *transaction) publish() error {
	w := tx.w
	dates := map[string][]fileEntry{}
	for _, f := range tx.files {
		dates[dateOf(f)] = append(dates[dateOf(f)], f)
	}
	return w.committer.publish(tx.now, func(t *commit, next *state) error {
		next.Sequence = w.sequence
		next.say(&w.opts)
		for _, date := range slices.Sorted(maps.Keys(dates)) {
			if date < next.Floor {
				return errExpired
			}
			if err := t.list(next, date, dates[date]); err != nil {
				return err
			}
		}
		return nil
	})
}

// list adds files to those of a date, all of a commit's at once: the date's manifest and
// parts have names that a commit gives once.
func (t *commit) list(next *state, date string, files []fileEntry) error {
	old, err := next.load(t.root, date)
	if err != nil {
		return err
	}
	ref, m := old.ref, old.manifest.clone()
	for _, f := range files {
		ref.addFile(&f)
	}
	ref.LastCommitted = t.now.UTC()
	return t.setFiles(next, old, ref, m, append(m.Files, files...))
}

// errExpired means that a date was dropped while its rows were written.
var errExpired = errors.New("the date was dropped")

// undo removes what a failed commit has created. What can't be removed does no
// harm: no manifest names it, and a start finds it.
func (tx *transaction) undo() {
	for _, path := range tx.created {
		_ = tx.w.opts.disk.remove(path)
	}
	// The directory of a date that was dropped may be gone.
	tx.w.state.dirs = nil
}
