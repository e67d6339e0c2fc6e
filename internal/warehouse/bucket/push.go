package bucket

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// Push uploads the files that the newest generation of the directory references and commits it. When Push
// returns nil, all earlier commits of the directory are in the bucket.
func (m *Mirror) Push(ctx context.Context) error { return m.step(ctx, false) }

func (m *Mirror) step(ctx context.Context, release bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.Lost(); err != nil && !errors.Is(err, errBusy) {
		return err
	}
	err := m.push(ctx, release)
	if err != nil && ctx.Err() == nil {
		m.stats.failures.Add(1)
		if errors.Is(err, ErrTaken) {
			m.lost.Store(&err)
			return err
		}
	}
	m.lost.Store(nil) // who had it for a while is gone, or can't be asked
	if err != nil && !errors.Is(err, errReplaced) {
		// The directory has its bound all the same.
		err = errors.Join(err, m.updateLocalStats())
	}
	return err
}

// tree returns the current tree of the directory. Generations only grow: if the directory has an older one
// or none, the prefix must not follow it, since that would delete the prefix's contents.
func (m *Mirror) tree() (*table.Tree, error) {
	m.asOf = m.stats.written.Load()
	tree, err := table.CurrentTree(m.opts.Directory)
	if err != nil {
		return nil, err
	}
	if localGeneration(tree) < m.reached {
		return nil, &warehouse.Error{Op: "read", Path: m.opts.Directory, Kind: warehouse.ErrCorrupt,
			Err:  fmt.Errorf("%w: it is of generation %d now and was of %d", errReplaced, localGeneration(tree), m.reached),
			Hint: fmt.Sprintf("start again: what %s holds is taken up then, %s after the last heartbeat; what was not uploaded is where the directory is", m.store.Address(), m.opts.lease())}
	}
	m.reached = localGeneration(tree)
	return tree, nil
}

// recordCommitted records that our last commit references tree, which the directory has.
func (m *Mirror) recordCommitted(tree *table.Tree) {
	m.reached = max(m.reached, tree.Generation)
	clear(m.committed)
	for _, o := range tree.Objects {
		m.committed[o.Path] = true
	}
}

func (m *Mirror) push(ctx context.Context, release bool) error {
	if !m.held {
		if err := m.acquire(ctx); err != nil {
			return err
		}
	}
	tree, err := m.tree()
	if err != nil {
		return err
	}
	if tree == nil {
		tree = &table.Tree{}
	}
	if tree.Generation > m.marker.Generation || m.lacking {
		m.updateBehind(tree)
		if tree, err = m.upload(ctx, tree); err != nil {
			return err
		}
		if m.lacking {
			m.lacking = false
			m.warnOfGone(tree)
		}
	}
	if tree.Generation <= m.marker.Generation && !release && time.Since(m.last) < renew {
		return errors.Join(m.deleteExpiredObjects(ctx, tree), m.evict(tree))
	}
	c := m.commit(m.marker.Number+1, release)
	if tree.Generation > 0 {
		c.Generation, c.Manifest, c.Checksum, c.tree = tree.Generation, tree.Name, tree.Checksum, tree
	}
	if err := m.put(ctx, c); err != nil {
		return err
	}
	// A newer generation can have come during the upload.
	return errors.Join(m.deleteExpiredObjects(ctx, tree), m.updateLocalStats())
}

// commit builds the commit of the given number.
func (m *Mirror) commit(number int64, release bool) *bucketCommit {
	host, _ := os.Hostname()
	return &bucketCommit{
		Schema: commitSchema, Number: number, Owner: m.marker.Owner, Session: m.session, Released: release,
		Scratch: m.opts.Scratch, Handed: m.handed, Lease: m.opts.lease(),
		Holder: fmt.Sprintf("process %d on %s, directory %s", os.Getpid(), host, m.opts.Directory), Committed: time.Now().UTC(),
	}
}

// put creates a commit. If an earlier attempt succeeded but its answer was lost, put records that commit
// and creates c after it.
func (m *Mirror) put(ctx context.Context, c *bucketCommit) error {
	for {
		made, err := m.store.put(ctx, c)
		if err != nil {
			return err
		}
		m.marker.Number, m.marker.Generation, m.marker.Session = made.Number, made.Generation, m.session
		m.newest, m.last = made, time.Now()
		m.known[commitPath(made.Number)] = ""
		if c.tree != nil && made.Generation == c.Generation {
			m.marker.Sequence, m.marker.Committed = c.tree.Sequence, c.tree.Committed
			m.recordCommitted(c.tree)
		}
		// Should this fail the next start finds a commit of the same session.
		if err := m.marker.write(m.opts.Directory); err != nil {
			return err
		}
		if made.Generation == c.Generation && made.Released == c.Released {
			return nil
		}
		c.Number = made.Number + 1
	}
}

// heartbeat repeats the newest commit if a heartbeat is due, since an upload can last longer than the lease.
func (m *Mirror) heartbeat(ctx context.Context) error {
	m.beat.Lock()
	defer m.beat.Unlock()
	if time.Since(m.last) < renew {
		return nil
	}
	c := m.commit(m.marker.Number+1, false)
	c.Generation, c.Manifest, c.Checksum = m.newest.Generation, m.newest.Manifest, m.newest.Checksum
	return m.put(ctx, c)
}

// upload creates objects of all files that a tree references. If a newer generation removes a file during
// the upload, upload continues with the newer tree.
func (m *Mirror) upload(ctx context.Context, tree *table.Tree) (*table.Tree, error) {
	for {
		missing, err := m.missing(tree)
		if err != nil {
			return tree, err
		}
		done := make([]bool, len(missing))
		err = parallelDo(len(missing), func(i int) error {
			err := m.heartbeat(ctx)
			if err == nil {
				err = m.send(ctx, missing[i])
			}
			done[i] = err == nil
			return err
		})
		for i, o := range missing {
			if done[i] {
				m.known[o.Path] = o.Checksum
				delete(m.doomed, o.Path)
			}
		}
		if !errors.Is(err, fs.ErrNotExist) || ctx.Err() != nil {
			return tree, err
		}
		newer, terr := m.tree()
		if terr != nil {
			return tree, terr
		}
		if newer == nil || newer.Generation == tree.Generation {
			return tree, warehouse.Damaged("upload", m.opts.Directory, err)
		}
		tree = newer
	}
}

// missing returns the files of a tree that the prefix lacks. It fails if two files share one name: only one
// of them could become the object, and a commit would make the prefix unreadable.
func (m *Mirror) missing(tree *table.Tree) (missing []table.Object, err error) {
	sums := map[string]string{}
	for i, o := range append(tree.Objects, tree.Manifests...) {
		sum, known := m.known[o.Path]
		other, twice := sums[o.Path]
		switch {
		case known && sum != o.Checksum:
			return nil, warehouse.Damaged("upload", m.local(o), fmt.Errorf("its checksum is %s, and %s has one of %s by this name", o.Checksum, m.store.Address(), sum))
		case twice && other != o.Checksum:
			return nil, warehouse.Damaged("upload", m.local(o), fmt.Errorf("it is listed with the checksums %s and %s", other, o.Checksum))
		case !known && !twice && !m.missingEverywhere(tree, i):
			missing = append(missing, o)
		}
		sums[o.Path] = o.Checksum
	}
	return missing, nil
}

// missingEverywhere reports whether an object of a tree is neither in the bucket nor in the directory and the
// bucket can do without it. Rollups may never have been uploaded: a writer that does not know them can have
// committed without them, and readers compute their own. Rows were uploaded if the newest commit references
// them, and somebody has removed them: readers of that date report them, and other rows must not wait.
func (m *Mirror) missingEverywhere(tree *table.Tree, i int) bool {
	if i >= len(tree.Objects) || i < len(tree.Files) && !m.committed[tree.Objects[i].Path] {
		return false
	}
	_, err := os.Stat(m.local(tree.Objects[i]))
	return errors.Is(err, fs.ErrNotExist)
}

// warnOfGone warns of data files that are neither in the directory nor in the bucket.
func (m *Mirror) warnOfGone(tree *table.Tree) {
	var gone []string
	for i, o := range tree.Objects[:len(tree.Files)] {
		if _, known := m.known[o.Path]; !known && m.missingEverywhere(tree, i) {
			gone = append(gone, o.Path)
		}
	}
	if len(gone) > 0 && m.store.warn != nil {
		m.store.warn(fmt.Sprintf("%d files of rows are neither in %s nor in %q: restore them, or give their rows up with corehour compact --drop-damaged. The first is %s",
			len(gone), m.store.Address(), m.opts.Directory, gone[0]))
	}
}

// send uploads a file as an object.
func (m *Mirror) send(ctx context.Context, o table.Object) error {
	file := m.local(o)
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	create := func() error {
		return m.store.create(ctx, o.Path, info.Size(), func() (io.ReadCloser, error) { return os.Open(file) })
	}
	if err = create(); errors.Is(err, errExists) {
		err = m.compareObject(ctx, o, info.Size())
		if errors.Is(err, errOtherContents) {
			// The object belongs to an owner that stopped before it could commit, long ago.
			if err = m.store.remove(ctx, o.Path); err == nil {
				err = create()
			}
		}
	}
	if err != nil {
		return err
	}
	m.stats.uploaded.Add(info.Size())
	return nil
}

// errOtherContents means that an object of the same name has different contents.
var errOtherContents = errors.New("an object of other contents is in the way")

// compareObject compares an existing object with the file to upload.
func (m *Mirror) compareObject(ctx context.Context, o table.Object, size int64) error {
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	err := m.store.get(ctx, o.Path, size, func(r io.Reader) error {
		sum.Reset()
		_, err := io.Copy(sum, r)
		return err
	})
	if err != nil {
		return err
	}
	if parquet.FormatChecksum(sum.Sum32()) == o.Checksum {
		return nil
	}
	// Nothing that counts is in the way, unless somebody else is at work: then we
	// would lose the next commit, and must not spoil what that one names.
	head, err := m.store.head(ctx)
	if err != nil {
		return err
	}
	if head == nil || head.Session != m.session {
		return m.store.taken(head)
	}
	return fmt.Errorf("%s: %w", m.store.show(m.store.key(o.Path)), errOtherContents)
}

func (m *Mirror) local(o table.Object) string {
	return filepath.Join(m.opts.Directory, filepath.FromSlash(o.Path))
}

// isMirrorObject reports whether p is the path of an object that a Mirror creates. Other objects are
// never deleted.
func isMirrorObject(p string) bool {
	dir, name := path.Split(p)
	switch dir {
	case commitDir:
		return true
	case manifestDir:
		return strings.HasSuffix(name, ".json")
	}
	for _, kind := range [...]string{table.KindRaw, table.KindMerge, table.KindRoll, table.KindPreaggregated} {
		if strings.HasPrefix(dir, "date=") && strings.Count(dir, "/") == 1 && strings.HasPrefix(name, kind+"-") && strings.HasSuffix(name, table.Extension(kind)) {
			return true
		}
	}
	return false
}

// deleteExpiredObjects deletes the objects whose grace is over.
func (m *Mirror) deleteExpiredObjects(ctx context.Context, tree *table.Tree) error {
	now := time.Now()
	named := map[string]bool{commitPath(m.marker.Number): true}
	for _, o := range append(tree.Objects, tree.Manifests...) {
		named[o.Path] = true
	}
	for p := range m.known {
		if !named[p] {
			delete(m.known, p)
			m.doomed[p] = now
		}
	}
	var due []string
	for p, since := range m.doomed {
		if now.Sub(since) >= m.opts.Grace {
			due = append(due, p)
		}
	}
	gone := make([]bool, len(due))
	err := parallelDo(len(due), func(i int) error {
		err := m.store.remove(ctx, due[i])
		gone[i] = err == nil
		return err
	})
	for i, p := range due {
		if gone[i] {
			delete(m.doomed, p)
		}
	}
	return err
}

// updateLocalStats measures the local bytes and the bytes not yet uploaded, also while the store does
// not answer.
func (m *Mirror) updateLocalStats() error {
	tree, err := m.tree()
	if err != nil || tree == nil {
		return err
	}
	m.updateBehind(tree)
	return m.evict(tree)
}

// updateBehind records since when the bucket lacks a part of tree.
func (m *Mirror) updateBehind(tree *table.Tree) {
	if tree.Generation <= m.marker.Generation {
		m.stats.behind.Store(0)
		return
	}
	since := tree.Committed
	for _, f := range tree.Newer(m.marker.Sequence, m.marker.Committed) {
		if f.Committed.Before(since) {
			since = f.Committed
		}
	}
	m.stats.behind.Store(since.UnixNano())
}
