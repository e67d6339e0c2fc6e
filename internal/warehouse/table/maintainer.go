package table

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.uber.org/multierr"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/parquet"
)

// Maintainer replaces and drops files of a warehouse while the writer continues to write. A warehouse
// has at most one Maintainer at a time. It adds no new rows, and changes no file that no commit names.
type Maintainer struct {
	committer
	encoder *parquet.Encoder
	removed int
}

// NewMaintainer opens the warehouse at root for maintenance. It deletes the leftovers of an interrupted
// maintenance, and removed files whose grace period is over. It returns an *Error of kind ErrLocked if
// another Maintainer is open, and of kind ErrMissing or ErrEmpty if there is nothing to maintain.
func NewMaintainer(root string, opts Options) (*Maintainer, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, &warehouse.Error{Op: "open for maintenance", Path: root, Err: err}
	}
	if _, _, err := openCurrent(root); err != nil {
		return nil, err
	}
	lockFile, err := warehouse.LockFile(root, maintenanceLock, "one maintenance runs at a time: wait for it to end")
	if err != nil {
		return nil, err
	}
	m := &Maintainer{committer: committer{root: root, opts: opts, lockFile: lockFile}, encoder: parquet.NewEncoder()}
	if err = m.clean(); err == nil {
		err = m.removeDue()
	}
	if err != nil {
		return nil, multierr.Append(err, lockFile.Close())
	}
	return m, nil
}

// Removed returns how many files were deleted since NewMaintainer was called.
func (m *Maintainer) Removed() int { return m.removed }

// Close releases the maintenance lock.
func (m *Maintainer) Close() error {
	if m.lockFile == nil {
		return nil
	}
	err := m.lockFile.Close()
	m.lockFile = nil
	return err
}

// Date describes the files of one date.
type Date struct {
	Date          string
	Files         []parquet.File // in the order of their commits
	Sums          *Sums          // pre-aggregated rollup of some of the files, or nil
	LastCommitted time.Time
}

// Dates lists the dates of the newest commit, oldest first.
func (m *Maintainer) Dates() ([]Date, error) {
	if err := m.refresh(); err != nil {
		return nil, err
	}
	var dates []Date
	for _, ref := range m.state.Dates {
		manifest, entries, err := readFiles(m.root, ref)
		if err != nil {
			return nil, err
		}
		dates = append(dates, m.dateOf(ref, entries, manifest.preaggregated(entries)))
	}
	return dates, nil
}

func (m *Maintainer) dateOf(ref dateRef, entries []fileEntry, sums *sumsEntry) Date {
	d := Date{Date: ref.Date, LastCommitted: ref.LastCommitted}
	for i := range entries {
		d.Files = append(d.Files, entries[i].file(m.root, ref.Date))
	}
	if sums != nil {
		d.Sums = sums.sums(m.root, ref.Date)
	}
	return d
}

// Output describes a file that is made of other files.
type Output struct {
	Kind  string // of a replacement: KindMerge or KindRoll
	Level string
	NoIDs bool
}

// Replace replaces several files of a date by one, in one commit: a reader sees either the old files or
// the new one. produce passes the rows of the new file to add, in the order of a Run. If it passes none,
// the old files are removed without a replacement. The old files are deleted when their grace period is
// over.
func (m *Maintainer) Replace(ctx context.Context, date string, old []parquet.File, o Output, produce func(add func(*methodspan.Row) error) error) (parquet.File, error) {
	return m.make(ctx, date, old, o, func(s *parquet.Stream) error { return produce(s.AddRow) }, m.publishReplaced)
}

// Merge is Replace for files of one level. It copies column by column, which takes a third of the time.
// The columns named in without are set to unknown.
func (m *Maintainer) Merge(ctx context.Context, date string, old []parquet.File, o Output, without ...string) (parquet.File, error) {
	return m.make(ctx, date, old, o, func(s *parquet.Stream) error { return s.Merge(ctx, old, without) }, m.publishReplaced)
}

// make writes a file that is made of other files and publishes it.
func (m *Maintainer) make(ctx context.Context, date string, of []parquet.File, o Output, produce func(*parquet.Stream) error, publish func(date string, of []parquet.File, made fileEntry) error) (parquet.File, error) {
	if len(of) == 0 {
		return parquet.File{}, &warehouse.Error{Op: "make a file", Path: m.path(warehouse.DatePrefix + date), Err: errors.New("no files were given")}
	}
	name := fmt.Sprintf("%s%s/%s-%012d-%08x%s", warehouse.DatePrefix, date, o.Kind, m.state.Generation, rand.Uint32(), Extension(o.Kind))
	entry, err := m.write(ctx, fileEntry{Path: name, Kind: o.Kind, Level: o.Level, NoIDs: o.NoIDs, Schema: parquet.SchemaVersion}, produce)
	if err != nil {
		return parquet.File{}, err
	}
	err = publish(date, of, entry)
	if err != nil && !m.unsettled {
		_ = m.opts.disk.remove(m.path(name))
	}
	if err != nil || entry.Rows == 0 {
		return parquet.File{}, err
	}
	return entry.file(m.root, date), nil
}

// write writes a file under its final name. No manifest names it yet.
func (m *Maintainer) write(ctx context.Context, entry fileEntry, produce func(*parquet.Stream) error) (fileEntry, error) {
	path := m.path(entry.Path)
	tmp := path + tmpSuffix
	f, err := m.opts.disk.create(tmp)
	if err != nil {
		return entry, warehouse.DiskError("create file", tmp, err)
	}
	entry.Summary, err = m.encoder.Stream(f, tmp, func(s *parquet.Stream) error {
		if err := produce(s); err != nil {
			return err
		}
		return ctx.Err()
	})
	if cerr := f.Close(); err == nil && cerr != nil {
		err = warehouse.DiskError("write file", tmp, cerr)
	}
	if err == nil && entry.Rows > 0 {
		if err = m.opts.disk.rename(tmp, path); err != nil {
			err = warehouse.DiskError("rename file", path, err)
		} else if err = m.opts.disk.syncDir(filepath.Dir(path)); err != nil {
			err = warehouse.DiskError("sync directory", filepath.Dir(path), err)
		}
	}
	if err != nil || entry.Rows == 0 {
		_ = m.opts.disk.remove(tmp)
	}
	if err != nil {
		_ = m.opts.disk.remove(path)
	}
	return entry, err
}

// errGone is returned if another maintenance has removed the files that were to be replaced.
var errGone = errors.New("the date is not as it was read: another maintenance has changed it")

// publishReplaced replaces old files by one, or by none if it has no rows.
func (m *Maintainer) publishReplaced(date string, old []parquet.File, made fileEntry) error {
	gone := map[string]bool{}
	for _, f := range old {
		gone[m.below(f.Path)] = true
	}
	now := m.opts.Now()
	return m.publishSettled(now, func(t *commit, next *state) error {
		before, files, err := next.loadFiles(m.root, date)
		if err != nil {
			return err
		}
		manifest := &dateManifest{Schema: parquet.SchemaVersion, Date: date}
		ref := dateRef{Date: date, LastCommitted: before.ref.LastCommitted}
		since := now.Add(-m.remember(next))
		for _, s := range before.manifest.Settled {
			if !s.Committed.Before(since) {
				manifest.Settled = append(manifest.Settled, s)
			}
		}
		var left []fileEntry
		var taken []string
		for _, f := range files {
			if !gone[f.Path] {
				left = append(left, f)
				continue
			}
			taken = append(taken, f.Path)
			if len(f.Items) > 0 && !f.Committed.Before(since) {
				manifest.Settled = append(manifest.Settled, warehouse.ItemWindow{Committed: f.Committed, Items: f.Items})
			}
		}
		if len(taken) != len(gone) {
			return m.changed(date)
		}
		manifest.Sums = before.manifest.preaggregated(files)
		if sums := manifest.Sums; sums != nil && slices.ContainsFunc(sums.Of, func(path string) bool { return gone[path] }) {
			if sums.kept() {
				taken = append(taken, sums.Path)
			}
			manifest.Sums = nil
		}
		if manifest.Settled, err = warehouse.MergeWindows(manifest.Settled, m.remember(next), m.rememberMax(next)); err != nil {
			return warehouse.Damaged("read manifest", m.path(manifestDir), fmt.Errorf("items of %s: %w", date, err))
		}
		if made.Rows > 0 {
			made.Committed = now.UTC()
			// Merged files come first, because parts hold the older files.
			left = slices.Insert(left, 0, made)
		}
		ref.count(left, manifest.Sums)
		if err := t.doom(next, now.Add(m.grace(next)), taken); err != nil {
			return err
		}
		if len(left) == 0 && len(manifest.Settled) == 0 {
			next.drop(date)
			return nil
		}
		return t.setFiles(next, before, ref, manifest, left)
	}, func() (bool, error) {
		_, files, err := m.state.loadFiles(m.root, date)
		return !slices.ContainsFunc(files, func(f fileEntry) bool { return f.Path == m.below(old[0].Path) }), err
	})
}

func (m *Maintainer) changed(date string) *warehouse.Error {
	return &warehouse.Error{Op: "replace files", Path: m.path(warehouse.DatePrefix + date), Err: errGone}
}

// publishSettled is publish, and tries to find out the outcome of a commit if it is unknown. done reports
// whether the newest state contains the change.
func (m *Maintainer) publishSettled(now time.Time, apply change, done func() (bool, error)) error {
	m.unsettled = false // the commit begins by reading the newest state
	err := m.publish(now, apply)
	if !errors.Is(err, warehouse.ErrUnknown) {
		return err
	}
	if serr := m.opts.disk.syncDir(m.root); serr != nil {
		return err
	}
	if rerr := m.refresh(); rerr != nil {
		return err
	}
	counts, derr := done()
	if derr != nil {
		return err
	}
	m.unsettled = false
	if counts {
		return nil
	}
	cause := err
	if typed := (*warehouse.Error)(nil); errors.As(err, &typed) && typed.Err != nil {
		cause = typed.Err
	}
	return warehouse.DiskError("replace", m.path(currentName), cause)
}

// Forgotten reports whether a date is no longer needed: it has no files, and the ids of its items are no
// longer remembered.
func (m *Maintainer) Forgotten(d *Date) bool {
	return len(d.Files) == 0 && d.LastCommitted.Before(m.opts.Now().Add(-m.remember(&m.state)))
}

// Drop removes dates with all their files, in one commit. It returns the dropped dates with the files
// they had at that time. A date that had no files and got some in the meantime is not dropped. After it,
// rows of the dropped dates and of earlier dates are refused, except if the dropped dates had no files.
func (m *Maintainer) Drop(dates []Date) (gone []Date, err error) {
	if len(dates) == 0 {
		return nil, nil
	}
	now := m.opts.Now()
	err = m.publishSettled(now, func(t *commit, next *state) error {
		var taken []string
		for _, d := range dates {
			before, files, err := next.loadFiles(m.root, d.Date)
			if err != nil {
				return err
			}
			if len(files) > 0 && len(d.Files) == 0 {
				continue // files were added in the meantime
			}
			for _, f := range files {
				taken = append(taken, f.Path)
			}
			sums := before.manifest.preaggregated(files)
			if sums.kept() {
				taken = append(taken, sums.Path)
			}
			next.drop(d.Date)
			gone = append(gone, m.dateOf(before.ref, files, sums))
			if len(files) == 0 {
				continue
			}
			day, err := time.Parse(warehouse.DateLayout, d.Date)
			if err != nil {
				return &warehouse.Error{Op: "drop", Path: m.path(warehouse.DatePrefix + d.Date), Err: err}
			}
			next.Floor = max(next.Floor, day.AddDate(0, 0, 1).Format(warehouse.DateLayout))
		}
		return t.doom(next, now.Add(m.grace(next)), taken)
	}, func() (bool, error) { // the writer may have listed a date without files again
		return len(gone) == 0 || slices.ContainsFunc(gone, func(d Date) bool {
			_, listed := m.state.find(d.Date)
			return !listed
		}), nil
	})
	if err != nil {
		return nil, err
	}
	return gone, nil
}

// doom records files that are to be deleted at the time due.
func (t *commit) doom(next *state, due time.Time, files []string) error {
	if len(files) == 0 {
		return nil
	}
	name := fmt.Sprintf("removed-%012d.json", next.Generation)
	sum, err := t.writeManifest(name, &removedFiles{Schema: parquet.SchemaVersion, Files: files})
	if err != nil {
		return err
	}
	next.Removed = append(next.Removed, removedRef{Manifest: name, Checksum: sum, Due: due.UTC()})
	return nil
}

// remember, rememberMax and grace return the larger of the writer's option and the option of m.
func (m *Maintainer) remember(s *state) time.Duration { return max(s.Remember, m.opts.RememberFor) }

func (m *Maintainer) rememberMax(s *state) int { return max(s.RememberMax, m.opts.RememberMax) }

func (m *Maintainer) grace(s *state) time.Duration { return max(s.Grace, m.opts.Grace) }

// below returns a path relative to the root, as manifests contain it.
func (m *Maintainer) below(path string) string {
	rel, err := filepath.Rel(m.root, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(rel)
}

// Size returns the bytes of all live files, and the bytes of removed files that are not deleted yet.
func (m *Maintainer) Size() (counting, doomed int64, err error) {
	if err := m.refresh(); err != nil {
		return 0, 0, err
	}
	for _, r := range m.state.Removed {
		files, err := m.readRemoved(r)
		if err != nil {
			return 0, 0, err
		}
		for _, f := range files {
			if info, err := os.Stat(m.path(f)); err == nil {
				doomed += info.Size()
			}
		}
	}
	return m.state.bytes() + m.state.sumsBytes(), doomed, nil
}
