package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/corehour/corehour/internal/parquet"
)

// acquire makes the prefix ours by a commit, and brings the directory to the state
// of the commit before if it has none or an older one.
func (m *Mirror) acquire(ctx context.Context) error {
	found, err := readMarker(m.opts.Directory)
	if err != nil {
		return err
	}
	if found != nil {
		m.marker = *found
	}
	if err := m.look(ctx, found); err != nil {
		return err
	}
	m.held = true
	return m.count()
}

func (m *Mirror) look(ctx context.Context, found *marker) error {
	if found != nil && found.Address != m.store.Address() {
		return &parquet.Error{Op: "open", Path: m.opts.Directory, Kind: ErrTaken,
			Hint: fmt.Sprintf("the directory belongs to %s: give each prefix a directory of its own", found.Address)}
	}
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
	if err := m.mayHave(found, tree, head, now); err != nil {
		return err
	}
	next := newMarker(m.store.Address())
	if found != nil {
		next.Owner = found.Owner
	}
	if head != nil {
		next.Number, next.Generation = head.Number, head.Generation
	}
	next.Session = m.session
	objects, err := m.store.list(ctx, "")
	if err != nil {
		return err
	}
	named := map[string]bool{}
	theirs := &parquet.Tree{}
	if head != nil && head.Manifest != "" {
		if theirs, err = m.pull(ctx, head); err != nil {
			return err
		}
		for _, o := range append(theirs.Manifests, theirs.Objects...) {
			named[o.Path] = true
		}
		next.Sequence, next.Committed = theirs.Sequence, theirs.Committed
	}
	// The marker comes first: a directory that has a state but no marker would be
	// taken for one with rows of its own.
	if err := next.write(m.opts.Directory); err != nil {
		return err
	}
	if theirs.Generation > 0 && (tree == nil || tree.Generation < theirs.Generation) {
		// A file of the same name that another has written in its place.
		for _, o := range theirs.Objects {
			if err := os.Remove(m.local(o)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		if err := parquet.SetCurrent(m.opts.Directory, head.Manifest, head.Checksum); err != nil {
			return err
		}
	}
	m.marker = next
	m.handed = handOver(head, theirs.Sequence, next.Owner)
	clear(m.known)
	clear(m.doomed)
	m.agree(theirs)
	// What the newest commit does not lead to was needed when it was made, at the
	// latest.
	since := time.Now()
	if head != nil {
		since = since.Add(-max(0, now.Sub(head.at)))
	}
	for _, o := range objects {
		if named[o.path] {
			m.known[o.path] = true
		} else if ours(o.path) {
			m.doomed[o.path] = since
		}
	}
	if head != nil && head.Session == m.session {
		m.known[commitPath(head.Number)] = true
		return nil // an attempt whose answer was lost
	}
	c := m.commit(next.Number+1, false)
	if head != nil {
		c.Generation, c.Manifest, c.Checksum = head.Generation, head.Manifest, head.Checksum
		c.tree = theirs
	}
	return m.put(ctx, c)
}

// mayHave tells why the prefix is not for this directory to have.
func (m *Mirror) mayHave(found *marker, tree *parquet.Tree, head *commit, now time.Time) error {
	refuse := func(err error, hint string) error {
		return &parquet.Error{Op: "open", Path: m.store.Address(), Kind: ErrTaken, Err: err, Hint: hint}
	}
	var local int64
	if tree != nil {
		local = tree.Generation
	}
	switch {
	case head == nil && found != nil && found.Number > 1:
		return parquet.Damaged("open", m.store.Address(), fmt.Errorf("the prefix has no commit, but %q was uploaded to it up to number %d", m.opts.Directory, found.Number))
	case head == nil:
		return nil
	case found == nil && tree != nil && head.Manifest != "":
		return refuse(errors.New("both the prefix and the directory hold rows already"), "name an empty `path`, or a `prefix` that is not in use")
	case found != nil && head.Owner == found.Owner && (head.Session == found.Session || head.Session == m.session || head.Number == found.Number) && local >= head.Generation:
		return nil // as this directory has left it
	case found != nil && local > found.Generation:
		return refuse(fmt.Errorf("%.200q has written to it since, and %q holds rows that were never uploaded", head.Holder, m.opts.Directory),
			"let this collector start with an empty `path`, keep the directory, and bring its rows in with `corehour compact --import`")
	}
	if age := now.Sub(head.at); !head.Released && age < m.opts.Abandoned {
		return refuse(fmt.Errorf("%.200q holds it and was seen %s ago", head.Holder, max(0, age).Round(time.Second)),
			fmt.Sprintf("give each collector a `prefix` of its own, or stop that one; if it is gone for good, try again in %s", (m.opts.Abandoned-age).Round(time.Second)))
	}
	return nil
}

// probe finds out whether the store keeps its word not to replace an object, without
// which two collectors could spoil each other's commits, and what time it is there.
func (m *Mirror) probe(ctx context.Context) (time.Time, error) {
	path := commitDir + "probe-" + m.session
	text := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader([]byte(m.session))), nil }
	defer func() { _ = m.store.remove(ctx, path) }() // else it is removed later as what nobody needs
	if err := m.store.create(ctx, path, 0, text); err != nil && !errors.Is(err, errExists) {
		return time.Time{}, err
	}
	switch err := m.store.create(ctx, path, 0, text); {
	case err == nil:
		return time.Time{}, &parquet.Error{Op: "open", Path: m.store.Address(), Kind: ErrRefused,
			Hint: "the store ignores conditional writes (If-None-Match), so two collectors could overwrite each other: use a version of it that has them"}
	case !errors.Is(err, errExists):
		return time.Time{}, err
	}
	found, err := m.store.list(ctx, path)
	if err == nil && len(found) == 0 {
		err = &parquet.Error{Op: "list", Path: m.store.Address(), Kind: ErrRefused, Hint: "the store does not list an object that was just made: it must be strongly consistent"}
	}
	if err != nil {
		return time.Time{}, err
	}
	return found[0].at, nil
}

// pull brings the manifests of a commit to the directory.
func (m *Mirror) pull(ctx context.Context, c *commit) (*parquet.Tree, error) {
	return parquet.ReadTree(m.opts.Directory, c.Manifest, c.Checksum, parquet.TreeOptions{Fetch: m.store.manifests(ctx, m.opts.Directory)})
}

// manifests fetches those that a directory does not have.
func (s *Store) manifests(ctx context.Context, dir string) func([]parquet.Object) error {
	return func(objects []parquet.Object) error {
		return each(len(objects), func(i int) error {
			o := objects[i]
			to := filepath.Join(dir, filepath.FromSlash(o.Path))
			if data, err := os.ReadFile(to); err == nil && parquet.Checksum(data) == o.Checksum {
				return nil
			}
			return s.download(ctx, o, to)
		})
	}
}

// parallel is how many requests are under way at a time.
const parallel = 8

// each does something n times, some at once, and stops at the first error.
func each(n int, do func(i int) error) error {
	var wait sync.WaitGroup
	var mu sync.Mutex
	var failed error
	next := 0
	for range min(n, parallel) {
		wait.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				stop := failed != nil || i >= n
				mu.Unlock()
				if stop {
					return
				}
				if err := do(i); err != nil {
					mu.Lock()
					failed = errors.Join(failed, err)
					mu.Unlock()
					return
				}
			}
		})
	}
	wait.Wait()
	return failed
}
