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

// tmpSuffix marks unfinished files. NewWriter deletes them.
const tmpSuffix = ".tmp"

// commit writes the rows of a batch, one file per date, and publishes them. It writes and syncs files
// under temporary names, renames them, syncs their directories, writes the manifests, and replaces
// CURRENT last. If it fails before this last rename it removes everything it has created.
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

// transaction is one commit in progress.
type transaction struct {
	w       *Writer
	now     time.Time
	files   []fileEntry
	created []string // files that undo removes
}

// commitRows writes the rows and publishes them, together with the files in ready, which are on disk
// already.
func (tx *transaction) commitRows(ctx context.Context, dates []warehouse.Partition, ids map[string]string, ready []fileEntry) error {
	err := tx.writeFiles(ctx, dates, ids)
	if err == nil {
		tx.files = append(tx.files, ready...)
		err = tx.publish()
	}
	if err != nil && !tx.w.unsettled && warehouse.Held(tx.w.lockFile) == nil { // else another writer may have recovered them
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
		// From here on the file can exist under either name.
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

// mostTaken is the maximum number of consecutive names that nextName skips because foreign files have them.
const mostTaken = 1000

// nextName returns an unused file name for a date. Sequence numbers only grow, but a file that this
// writer did not create can have the next name.
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

// isFree returns an error if a file has the path, because a rename would replace it.
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

// publish replaces CURRENT by a generation that lists the files.
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

// list adds all files of a commit to those of a date. It must be called once per date and commit,
// because a commit uses each name of a manifest or part once.
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

// errExpired is returned if a date was dropped while its rows were written.
var errExpired = errors.New("the date was dropped")

// undo removes the files that a failed commit has created. A file that cannot be removed is harmless: no
// manifest names it, and the next start finds it.
func (tx *transaction) undo() {
	for _, path := range tx.created {
		_ = tx.w.opts.disk.remove(path)
	}
	// The directory of a dropped date may have been removed.
	tx.w.state.dirs = nil
}
