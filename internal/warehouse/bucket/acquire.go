package bucket

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// theirsDir is the directory that holds another owner's manifests until they can replace ours.
const theirsDir = "_theirs"

// acquire makes the prefix ours by a commit. If the local directory has no state or an older one, acquire
// first brings it to the state of the previous commit.
func (m *Mirror) acquire(ctx context.Context) error {
	found, err := readMarker(m.opts.Directory)
	if err != nil {
		return err
	}
	if found != nil {
		m.marker = *found
	}
	if err := m.readNewest(ctx, found); err != nil {
		return err
	}
	m.held = true
	return m.updateLocalStats()
}

func (m *Mirror) readNewest(ctx context.Context, found *marker) error {
	if found != nil && found.Address != m.store.Address() {
		return &warehouse.Error{Op: "open", Path: m.opts.Directory, Kind: ErrTaken,
			Hint: fmt.Sprintf("the directory belongs to %s: give each prefix a directory of its own", found.Address)}
	}
	// A killed start can leave this directory behind.
	aside := filepath.Join(m.opts.Directory, theirsDir)
	if err := os.RemoveAll(aside); err != nil {
		return err
	}
	defer os.RemoveAll(aside)
	tree, err := m.tree()
	if err != nil {
		return err
	}
	now, err := m.probe(ctx)
	if err != nil {
		return err
	}
	head, err := m.store.head(ctx)
	if err != nil {
		return err
	}
	if err := m.checkOwnership(found, tree, head, now); err != nil {
		return err
	}
	// Another collector has owned the prefix since, and the directory has, or can get at any moment,
	// rows that are not in the prefix.
	other := found != nil && head != nil && !m.isLastCommitOfOurs(found, localGeneration(tree), head)
	ahead := other && localGeneration(tree) > found.Generation
	if ahead {
		if err := m.notImported(ctx, found, head); err != nil {
			return err
		}
	}
	apart := other && m.writer != nil && head.Generation > found.Generation && (ahead || m.early != nil)
	objects, err := m.store.list(ctx, "")
	if err != nil {
		return err
	}
	theirs := &table.Tree{}
	if head != nil && head.Manifest != "" {
		dir := m.opts.Directory
		if apart {
			dir = aside
		}
		o := table.TreeOptions{Fetch: m.store.manifests(ctx, dir)}
		theirs, err = table.ReadTree(dir, head.Manifest, head.Checksum, o)
		if err != nil {
			return err
		}
		if apart {
			if err := m.rebase(dir, theirs, found, head); err != nil {
				return err
			}
		}
	}
	next := m.nextMarker(found, head, theirs)
	// The marker is written before the other owner's state: a directory with a state but without a marker
	// would be treated as one with rows of its own. After a rebase the marker is written last, since it
	// states that all older rows are in the bucket.
	if err := next.write(m.opts.Directory); err != nil {
		return err
	}
	if theirs.Generation > localGeneration(tree) && !apart {
		if err := m.replaceState(theirs, head); err != nil {
			return err
		}
	}
	m.marker = next
	m.handed = addTakeover(head, theirs.Sequence, next.Owner)
	m.recordCommitted(theirs)
	// Objects that the newest commit does not reference were needed until that commit at the latest.
	since := time.Now()
	if head != nil {
		since = since.Add(-max(0, now.Sub(head.at)))
	}
	m.classifyObjects(objects, theirs, since)
	return m.commitOurs(ctx, head, theirs)
}

// nextMarker returns the marker of the directory for the state of the newest commit.
func (m *Mirror) nextMarker(found *marker, head *bucketCommit, theirs *table.Tree) marker {
	next := marker{Address: m.store.Address(), Owner: rand.Text()}
	if found != nil {
		next.Owner = found.Owner
	}
	if head != nil {
		next.Number, next.Generation = head.Number, head.Generation
	}
	next.Sequence, next.Committed, next.Session = theirs.Sequence, theirs.Committed, m.session
	return next
}

// replaceState replaces the state of the directory by the state of another owner.
func (m *Mirror) replaceState(theirs *table.Tree, head *bucketCommit) error {
	// Another owner wrote a file of the same name.
	for _, o := range theirs.Objects {
		if err := os.Remove(m.local(o)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return table.SetCurrent(m.opts.Directory, head.Manifest, head.Checksum)
}

// classifyObjects separates objects that the newest commit references from objects unused since then.
func (m *Mirror) classifyObjects(objects []listed, newest *table.Tree, since time.Time) {
	clear(m.known)
	clear(m.doomed)
	named := map[string]string{} // their checksums
	for _, o := range append(newest.Manifests, newest.Objects...) {
		named[o.Path] = o.Checksum
	}
	for _, o := range objects {
		if sum, ok := named[o.path]; ok {
			m.known[o.path] = sum
		} else if isMirrorObject(o.path) {
			m.doomed[o.path] = since
		}
	}
	m.lacking = len(m.known) < len(named)
}

// commitOurs makes the prefix ours by a commit that keeps the state of the newest commit.
func (m *Mirror) commitOurs(ctx context.Context, head *bucketCommit, theirs *table.Tree) error {
	if head != nil && head.Session == m.session {
		m.known[commitPath(head.Number)], m.newest = "", head
		return nil // an attempt whose answer was lost
	}
	c := m.commit(m.marker.Number+1, false)
	if head != nil {
		c.Generation, c.Manifest, c.Checksum = head.Generation, head.Manifest, head.Checksum
		c.tree = theirs
	}
	if err := m.put(ctx, c); errors.Is(err, ErrTaken) {
		return errors.Join(err, errBusy) // the next look shows whether it is for good
	} else if err != nil {
		return err
	}
	return nil
}

// checkOwnership returns an error with the reason if this directory cannot own the prefix.
func (m *Mirror) checkOwnership(found *marker, tree *table.Tree, head *bucketCommit, now time.Time) error {
	here := localGeneration(tree)
	switch {
	case head == nil && found != nil && found.Number > 1:
		return warehouse.Damaged("open", m.store.Address(), fmt.Errorf("the prefix has no commit, but %q was uploaded to it up to number %d", m.opts.Directory, found.Number))
	case head == nil:
		return nil
	case found == nil && tree != nil && head.Manifest != "":
		return m.refuse(errors.New("both the prefix and the directory hold rows already"), "name an empty `path`, or a `prefix` that is not in use")
	case found != nil && m.isLastCommitOfOurs(found, here, head):
		return nil
	case found != nil && here > found.Generation && m.writer == nil:
		return m.unuploadedRowsError(head)
	}
	after := cmp.Or(m.opts.Abandoned, head.Lease)
	if head.Scratch {
		after = min(after, head.Lease) // nobody comes back with rows
	}
	age := now.Sub(head.at)
	switch {
	case head.Released || age >= after:
	case head.Scratch:
		return m.refuse(fmt.Errorf("%.200q owns it, and its last heartbeat was %s ago: %w", head.Holder, max(0, age).Round(time.Second), errBusy),
			fmt.Sprintf("`corehour compact` is at work there, wait for it to end; if it was killed, try again in %s", (after-age).Round(time.Second)))
	default:
		return m.refuse(fmt.Errorf("%.200q holds it and was seen %s ago: %w", head.Holder, max(0, age).Round(time.Second), errBusy),
			fmt.Sprintf("give each collector a `prefix` of its own, or stop that one; if it is gone for good, try again in %s", (after-age).Round(time.Second)))
	}
	return nil
}

// isLastCommitOfOurs reports whether this directory made the newest commit and has all its contents.
func (m *Mirror) isLastCommitOfOurs(found *marker, here int64, head *bucketCommit) bool {
	return head.Owner == found.Owner && (head.Session == found.Session || head.Session == m.session || head.Number == found.Number) && here >= head.Generation
}

// localGeneration returns the generation of the directory.
func localGeneration(tree *table.Tree) int64 {
	if tree == nil {
		return 0
	}
	return tree.Generation
}

func (m *Mirror) refuse(err error, hint string) error {
	return &warehouse.Error{Op: "open", Path: m.store.Address(), Kind: ErrTaken, Err: err, Hint: hint}
}

// unuploadedRowsError returns the error for rows of the directory that no longer fit into the prefix.
func (m *Mirror) unuploadedRowsError(head *bucketCommit) error {
	return m.refuse(fmt.Errorf("%.200q has written to it since, and %q holds rows that were never uploaded", head.Holder, m.opts.Directory),
		"let this collector start with an empty `path`, keep the directory, and bring its rows in with `corehour compact --import`")
}

// notImported checks that the rows that only the directory has were not imported to a prefix of their own;
// otherwise they would count twice.
func (m *Mirror) notImported(ctx context.Context, found *marker, head *bucketCommit) error {
	imported, err := m.store.Store(abandonedPrefix(found.Owner)).head(ctx)
	if err == nil && imported != nil {
		err = m.refuse(fmt.Errorf("%.200q has written to it since, and the rows of %q that were never uploaded are in %s", head.Holder, m.opts.Directory, m.store.Store(abandonedPrefix(found.Owner)).Address()),
			"let this collector start with an empty `path`")
	}
	return err
}

// rebase merges the rows that the directory has and the prefix lacks into the state that another owner
// committed.
func (m *Mirror) rebase(dir string, theirs *table.Tree, found *marker, head *bucketCommit) error {
	w, err := m.writer()
	if err != nil {
		return err
	}
	// A commit of ours can have succeeded without our recording it.
	if err = w.Rebase(dir, theirs, max(found.Sequence, takenOverAt(head, found.Owner))); errors.Is(err, table.ErrApart) {
		return errors.Join(m.unuploadedRowsError(head), err)
	}
	return err
}

// probe checks that the store never replaces an existing object, without which two collectors could overwrite
// each other's commits. It returns the current time of the store.
func (m *Mirror) probe(ctx context.Context) (time.Time, error) {
	path := commitDir + "probe-" + m.session
	defer func() { _ = m.store.remove(ctx, path) }() // if this fails, the object is removed later as unreferenced
	// Two requests at once: a store can check for existence first and write afterwards.
	var errs [2]error
	var atOnce sync.WaitGroup
	for i := range errs {
		atOnce.Go(func() { errs[i] = m.store.createText(ctx, path, []byte(m.session)) })
	}
	atOnce.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !errors.Is(err, errExists) {
			return time.Time{}, err
		}
	}
	if won > 1 {
		return time.Time{}, &warehouse.Error{Op: "open", Path: m.store.Address(), Kind: ErrRefused,
			Hint: "the store ignores conditional writes (If-None-Match), so two collectors could overwrite each other: use a version of it that has them"}
	}
	found, err := m.store.list(ctx, path)
	if err == nil && len(found) == 0 {
		err = &warehouse.Error{Op: "list", Path: m.store.Address(), Kind: ErrRefused, Hint: "the store does not list an object that was just made: it must be strongly consistent"}
	}
	if err != nil {
		return time.Time{}, err
	}
	return found[0].at, nil
}

// manifests returns a function that downloads the manifests missing in dir.
func (s *Store) manifests(ctx context.Context, dir string) func([]table.Object) error {
	return func(objects []table.Object) error {
		return parallelDo(len(objects), func(i int) error {
			o := objects[i]
			to := filepath.Join(dir, filepath.FromSlash(o.Path))
			if data, err := os.ReadFile(to); err == nil && parquet.Checksum(data) == o.Checksum {
				return nil
			}
			return s.download(ctx, o, to)
		})
	}
}

// parallel is the maximum number of concurrent requests.
const parallel = 8

// parallelDo calls do n times, several calls at once, and stops at the first error.
func parallelDo(n int, do func(i int) error) error {
	errs := make([]error, min(n, parallel))
	var next atomic.Int64
	var failed atomic.Bool
	var wait sync.WaitGroup
	for worker := range errs {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && !failed.Load(); i = int(next.Add(1)) - 1 {
				if errs[worker] = do(i); errs[worker] != nil {
					failed.Store(true)
				}
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}
