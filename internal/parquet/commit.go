package parquet

import (
	"context"
	"encoding/json"
	"fmt"
	"hash"
	"hash/crc32"
	"path/filepath"
	"slices"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
)

// tmpSuffix marks what is not finished; a start deletes it.
const tmpSuffix = ".tmp"

// commit writes the rows of a batch, one file per date, and makes them count:
// files under temporary names, synced; renamed; their directories synced; then
// the manifests, and last CURRENT. Up to the last rename it leaves nothing
// behind when it fails.
func (w *Writer) commit(ctx context.Context, b *batch, now time.Time, res *Result) error {
	tx := &transaction{w: w, now: now}
	ids := idSet{}
	for _, id := range b.ids {
		ids.add(id)
	}
	if err := tx.run(ctx, b.rows, ids.pack(), nil); err != nil {
		return err
	}
	for _, f := range tx.files {
		res.Rows += int(f.Rows)
		res.Bytes += f.Bytes
		res.Files++
	}
	w.sweep.run(w, now)
	return nil
}

// dateRows are the rows of one partition.
type dateRows struct {
	date string
	rows []*methodspan.Row
}

// byDate parts rows by the UTC day they started on, sorted by day.
func byDate(rows []*methodspan.Row) []dateRows {
	var dates []dateRows
	index := map[int32]int{}
	for _, r := range rows {
		day := r.EventDay()
		i, ok := index[day]
		if !ok {
			i = len(dates)
			index[day] = i
			dates = append(dates, dateRows{date: time.Unix(int64(day)*86400, 0).UTC().Format(dateLayout)})
		}
		dates[i].rows = append(dates[i].rows, r)
	}
	slices.SortFunc(dates, func(a, b dateRows) int {
		if a.date < b.date {
			return -1
		}
		return 1
	})
	return dates
}

// transaction is one commit under way.
type transaction struct {
	w       *Writer
	now     time.Time
	files   []fileEntry
	created []string // what undo removes
}

// run writes the rows and makes them count, together with files that are on
// disk already.
func (tx *transaction) run(ctx context.Context, rows []*methodspan.Row, ids map[string]string, ready []fileEntry) error {
	err := tx.writeFiles(ctx, byDate(rows), ids)
	if err == nil {
		tx.files = append(tx.files, ready...)
		err = tx.publish()
	}
	if err != nil && !tx.w.unsettled {
		tx.undo()
	}
	return err
}

func (tx *transaction) writeFiles(ctx context.Context, dates []dateRows, ids map[string]string) error {
	w := tx.w
	group := &writeGroup{Items: ids}
	for i, d := range dates {
		group.Files = append(group.Files, fmt.Sprintf("%s%s/%s-%012d.parquet", datePrefix, d.date, KindRaw, w.sequence+int64(i)+1))
	}
	w.sequence += int64(len(dates))
	for i, d := range dates {
		if err := ctx.Err(); err != nil {
			return &Error{Op: "write", Path: w.root, Err: err}
		}
		entry, err := tx.writeTmp(group.Files[i], d.rows, group)
		if err != nil {
			return err
		}
		tx.files = append(tx.files, entry)
	}
	for _, f := range tx.files {
		path := w.path(f.Path)
		// From here on the file may be there under either name.
		tx.created = append(tx.created, path)
		if err := w.opts.disk.rename(path+tmpSuffix, path); err != nil {
			return diskError("rename file", path, err)
		}
	}
	for _, f := range tx.files {
		dir := filepath.Dir(w.path(f.Path))
		if err := w.opts.disk.syncDir(dir); err != nil {
			return diskError("sync directory", dir, err)
		}
	}
	return nil
}

// writeTmp encodes the rows into the file's temporary name and syncs it.
func (tx *transaction) writeTmp(name string, rows []*methodspan.Row, group *writeGroup) (fileEntry, error) {
	w := tx.w
	path := w.path(name)
	dir := filepath.Dir(path)
	if !w.state.hasDir(dir) {
		if err := w.opts.disk.mkdir(dir); err != nil {
			return fileEntry{}, diskError("create directory", dir, err)
		}
		if err := w.opts.disk.syncDir(w.root); err != nil {
			return fileEntry{}, diskError("sync directory", w.root, err)
		}
		w.state.addDir(dir)
	}
	tmp := path + tmpSuffix
	tx.created = append(tx.created, tmp)
	f, err := w.opts.disk.create(tmp)
	if err != nil {
		return fileEntry{}, diskError("create file", tmp, err)
	}
	out := &summed{file: f, sum: crc32.New(castagnoli)}
	err = w.encoder.encode(out, rows, group)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fileEntry{}, diskError("write file", tmp, err)
	}
	entry := fileEntry{
		Path: name, Kind: KindRaw, Rows: int64(len(rows)), Bytes: out.n, Checksum: formatChecksum(out.sum.Sum32()),
		Schema: SchemaVersion, Committed: tx.now.UTC(), Items: group.Items,
		MinStartNS: rows[0].StartNS, MaxStartNS: rows[0].StartNS,
	}
	for _, r := range rows {
		entry.MinStartNS = min(entry.MinStartNS, r.StartNS)
		entry.MaxStartNS = max(entry.MaxStartNS, r.StartNS)
	}
	return entry, nil
}

// summed counts and sums up what goes to a file.
type summed struct {
	file diskFile
	sum  hash.Hash32
	n    int64
}

func (s *summed) Write(p []byte) (int, error) {
	n, err := s.file.Write(p)
	s.sum.Write(p[:n])
	s.n += int64(n)
	return n, err
}

// publish writes the manifests and replaces CURRENT.
func (tx *transaction) publish() error {
	w := tx.w
	next, replaced, err := tx.nextState()
	if err != nil {
		return err
	}
	name := generationName(next.generation)
	sum, err := tx.writeManifest(name, next.encode(w.sequence, tx.now))
	if err != nil {
		return err
	}
	dir := w.path(manifestDir)
	if err := w.opts.disk.syncDir(dir); err != nil {
		return diskError("sync directory", dir, err)
	}
	current := w.path(currentName)
	tmp := current + tmpSuffix
	tx.created = append(tx.created, tmp)
	if err := writeFile(w.opts.disk, tmp, []byte(name+" "+sum+"\n")); err != nil {
		return diskError("write file", tmp, err)
	}
	// Once this rename was tried the commit may count, whatever it returns.
	err = w.opts.disk.rename(tmp, current)
	if err == nil {
		err = w.opts.disk.syncDir(w.root)
	}
	if err != nil {
		w.unsettled = true
		typed := diskError("replace", current, err)
		typed.Kind = ErrUnknown
		typed.Hint = hintUnknown
		return typed
	}
	w.sweep.add(tx.now, replaced...)
	w.state = *next
	return nil
}

// nextState is the state after the commit; its date manifests are on disk. It
// lists the paths of the manifests that it replaces.
func (tx *transaction) nextState() (next *state, replaced []string, err error) {
	w := tx.w
	next = w.state.clone()
	// No number is used twice, so a name is never that of an older attempt.
	w.lastGeneration++
	next.generation = w.lastGeneration
	if w.state.generation > 0 {
		replaced = append(replaced, w.path(manifestDir, generationName(w.state.generation)))
	}
	for _, f := range tx.files {
		date := f.Path[len(datePrefix):][:len(dateLayout)]
		old, err := next.load(w.root, date)
		if err != nil {
			return nil, nil, err
		}
		if old.ref.Manifest != "" {
			replaced = append(replaced, w.path(manifestDir, old.ref.Manifest))
		}
		ref, m := old.ref, old.manifest.clone()
		if len(m.Files) >= filesPerPart {
			part := fmt.Sprintf("%s%s-%012d-part.json", datePrefix, date, next.generation)
			sum, err := tx.writeManifest(part, &dateManifest{Schema: SchemaVersion, Date: date, Files: m.Files})
			if err != nil {
				return nil, nil, err
			}
			m.Parts = append(m.Parts, partRef{Manifest: part, Checksum: sum, Files: len(m.Files)})
			m.Files = nil
		}
		m.Files = append(m.Files, f)
		ref.Date = date
		ref.Manifest = fmt.Sprintf("%s%s-%012d.json", datePrefix, date, next.generation)
		ref.Files++
		ref.Rows += f.Rows
		ref.LastCommitted = tx.now.UTC()
		if ref.Checksum, err = tx.writeManifest(ref.Manifest, m); err != nil {
			return nil, nil, err
		}
		next.set(dateState{ref: ref, manifest: m})
	}
	return next, replaced, nil
}

// writeManifest writes v under a name that nothing refers to yet.
func (tx *transaction) writeManifest(name string, v any) (sum string, err error) {
	path := tx.w.path(manifestDir, name)
	data, err := json.Marshal(v)
	if err != nil {
		return "", &Error{Op: "encode manifest", Path: path, Err: err}
	}
	tx.created = append(tx.created, path)
	if err := writeFile(tx.w.opts.disk, path, data); err != nil {
		return "", diskError("write manifest", path, err)
	}
	return checksum(data), nil
}

// undo removes what a failed commit has created. What can't be removed does no
// harm: no manifest names it, and a start finds it.
func (tx *transaction) undo() {
	for _, path := range tx.created {
		_ = tx.w.opts.disk.remove(path)
	}
}

func (w *Writer) path(elems ...string) string {
	p := w.root
	for _, e := range elems {
		p = filepath.Join(p, filepath.FromSlash(e))
	}
	return p
}

const hintUnknown = "writing the same items again settles it"

// diskError types a failure of the file system.
func diskError(op, path string, err error) *Error {
	e := &Error{Op: op, Path: path, Err: err, Hint: "check that the directory exists and is writable for the collector's user"}
	if isFull(err) {
		e.Kind = ErrFull
		e.Hint = "free space on the file system, drop old dates, or move the warehouse"
	}
	return e
}
