package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gocloud.dev/blob"

	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// Prefixes lists the collectors' prefixes of a bucket and omits foreign ones. Commands call it first, so that
// a store that does not answer is detected soon.
func (b *Bucket) Prefixes(ctx context.Context) ([]string, error) {
	root := b.key("")
	found, err := b.listed(ctx, &blob.ListOptions{Prefix: root, Delimiter: "/"}, firstAnswer)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, o := range found {
		name := strings.TrimSuffix(strings.TrimPrefix(o.Key, root), "/")
		if o.IsDir && prefix.MatchString(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Read selects the data to read from a bucket.
type Read struct {
	// Date, if not nil, reports whether a date is needed.
	Date func(date string) bool
	// Tell receives a progress line from time to time.
	Tell io.Writer
}

// Snapshot resolves the newest commit of every collector and downloads the files of the requested dates to
// the cache, where they stay until the snapshot is closed. Bring does the same for their rollups. dates are
// all dates of the bucket; the others can be requested later. Commits during the download are safe.
func (c *Cache) Snapshot(ctx context.Context, b *Bucket, r Read) (s *table.Snapshot, dates []string, err error) {
	names, err := b.Prefixes(ctx)
	if err != nil {
		return nil, nil, err
	}
	if r.Date == nil {
		r.Date = func(string) bool { return true }
	}
	if r.Tell == nil {
		r.Tell = io.Discard
	}
	// An object that is deleted during its download is deleted because a newer commit does not
	// reference it.
	before := ""
	for range maxListRetries {
		if s, dates, err = c.snapshot(ctx, b, names, r); !errors.Is(err, errNotFound) || err.Error() == before {
			return s, dates, err
		}
		before = err.Error()
	}
	return nil, nil, err
}

func (c *Cache) snapshot(ctx context.Context, b *Bucket, names []string, r Read) (*table.Snapshot, []string, error) {
	snapshots := make([]*table.Tree, len(names))
	err := parallelDo(len(names), func(i int) error {
		var err error
		snapshots[i], err = c.tree(ctx, b.Store(names[i]), r)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	s := &table.Snapshot{Root: b.String()}
	var dates []string
	var want []wantedFile
	found := false
	for i, tree := range snapshots {
		if tree == nil {
			continue
		}
		found = true
		s.Generation = max(s.Generation, tree.Generation)
		if tree.Committed.After(s.Committed) {
			s.Committed = tree.Committed
		}
		dates = append(dates, tree.Dates...)
		for j, f := range tree.Files {
			want = append(want, wantedFile{b.Store(names[i]), tree.Objects[j]})
			f.Prefix = names[i]
			s.Files = append(s.Files, f)
		}
		for j, sums := range tree.Sums {
			sums.Path = c.plannedPath(wantedFile{b.Store(names[i]), tree.Objects[len(tree.Files)+j]})
			sums.Prefix = names[i]
			s.Sums = append(s.Sums, sums)
		}
	}
	if !found {
		return nil, nil, &warehouse.Error{Op: "open", Path: b.String(), Kind: warehouse.ErrMissing, Hint: "there is no prefix of a collector in it: name the bucket, and the path in it, that the warehouse exporter's `bucket::url` names"}
	}
	if len(dates) == 0 {
		return nil, nil, &warehouse.Error{Op: "open", Path: b.String(), Kind: warehouse.ErrEmpty, Hint: warehouse.WhenRowsAppear}
	}
	paths, err := c.fetchHeld(ctx, want, r.Tell)
	if err != nil {
		return nil, nil, err
	}
	here := map[string]string{} // by the path below the manifests of its prefix
	for i := range s.Files {
		here[s.Files[i].Path] = paths[i]
		s.Files[i].Path, s.Files[i].Verified = paths[i], true
	}
	for _, sums := range s.Sums {
		for j, path := range sums.Of {
			sums.Of[j] = here[path]
		}
	}
	slices.SortStableFunc(s.Files, func(a, b parquet.File) int { return strings.Compare(a.Date, b.Date) })
	slices.SortStableFunc(s.Sums, func(a, b table.Sums) int { return strings.Compare(a.Date, b.Date) })
	slices.Sort(dates)
	return s, slices.Compact(dates), nil
}

// tree returns the tree of a collector's newest commit, nil if there is none. Manifests stay in the cache,
// so that the next command downloads only new ones.
func (c *Cache) tree(ctx context.Context, s *Store, r Read) (*table.Tree, error) {
	head, err := s.head(ctx)
	if err != nil || head == nil {
		return nil, err
	}
	if head.Manifest == "" {
		return &table.Tree{}, nil
	}
	dir := filepath.Join(c.root, "manifests", digest(s.Address()))
	tree, err := table.ReadTree(dir, head.Manifest, head.Checksum, table.TreeOptions{Fetch: s.manifests(ctx, dir), Date: r.Date, Readers: true})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Address(), err)
	}
	used := map[string]bool{}
	for _, m := range tree.Manifests {
		used[filepath.Base(m.Path)] = true
	}
	entries, err := os.ReadDir(filepath.Join(dir, "_manifest"))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		// Another command can need the manifests of other dates.
		if info, err := e.Info(); err == nil && !used[e.Name()] && time.Since(info.ModTime()) > manifestsStay {
			_ = os.Remove(filepath.Join(dir, "_manifest", e.Name()))
		}
	}
	return tree, nil
}

// manifestsStay is how long unused manifests stay in the cache.
const manifestsStay = 24 * time.Hour

// InUse reports whether a collector has made a commit in the prefix.
func (s *Store) InUse(ctx context.Context) (bool, error) {
	head, err := s.head(ctx)
	return head != nil, err
}
