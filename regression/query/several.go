package query

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/bucket"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// Root is one of the directories or buckets of a Warehouse.
type Root struct {
	Address    string
	Generation int64
	Files      []parquet.File // that can contain rows on the dates of the window
	Collectors int            // number of collectors with rows in it

	inBucket bool
}

// Rows returns the number of rows in the files.
func (r *Root) Rows() (n int64) {
	for i := range r.Files {
		n += r.Files[i].Rows
	}
	return n
}

func rootOf(address string, s *table.Snapshot, files []parquet.File, inBucket bool) Root {
	collectors := map[string]bool{}
	for i := range s.Files {
		collectors[s.Files[i].Prefix] = true
	}
	return Root{Address: address, Generation: s.Generation, Files: files, Collectors: max(1, len(collectors)), inBucket: inBucket}
}

// OpenAll opens warehouses of several collectors as one, as Open does with the prefixes of
// a bucket. Each root is a directory or a bucket; a repeated root is read once. A root without rows
// in the window is ignored. OpenAll fails with ErrNoData if no root has any.
func OpenAll(ctx context.Context, roots []string, window Window, options ...Option) (*Warehouse, error) {
	if len(roots) == 1 {
		return Open(ctx, roots[0], window, options...)
	}
	set := settingsOf(options)
	w := &Warehouse{Window: window, dialect: duckdbDialect, notices: set.notices, verified: set.verified, noFrameworks: set.noFrameworks}
	w.reopen = func(ctx context.Context, window Window) (*Warehouse, error) {
		return OpenAll(ctx, roots, window, options...)
	}
	err := w.openRoots(ctx, roots)
	if err == nil {
		err = w.verify(ctx, set.sums)
	}
	if err == nil {
		err = w.start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func (w *Warehouse) openRoots(ctx context.Context, addresses []string) error {
	all := &table.Snapshot{Root: strings.Join(addresses, ", "), Damaged: map[string]error{}}
	var none []error
	for i, address := range addresses {
		name := withoutOptions(address)
		if first := slices.IndexFunc(addresses[:i], func(other string) bool { return sameRoot(other, address) }); first >= 0 {
			fmt.Fprintf(w.notices, "--warehouse %s: is the same as %s, and read once\n", name, withoutOptions(addresses[first]))
			continue
		}
		s, err := w.snapshotOf(ctx, address)
		if errors.Is(err, warehouse.ErrEmpty) {
			none = append(none, err)
			w.Roots = append(w.Roots, Root{Address: name, Collectors: 1, inBucket: IsBucket(address)})
			continue
		}
		if err != nil {
			return fmt.Errorf("--warehouse %s: %w", name, err)
		}
		root := rootOf(name, s, nil, IsBucket(address))
		for j := range s.Files {
			s.Files[j].Prefix = name + "/" + s.Files[j].Prefix
		}
		for j := range s.Sums {
			s.Sums[j].Prefix = name + "/" + s.Sums[j].Prefix
		}
		all.Generation = max(all.Generation, s.Generation)
		if s.Committed.After(all.Committed) {
			all.Committed = s.Committed
		}
		for date, err := range s.Damaged {
			all.Damaged[date] = errors.Join(all.Damaged[date], err)
		}
		all.Files, all.Sums = append(all.Files, s.Files...), append(all.Sums, s.Sums...)
		if root.Files, err = filesOf(s, w.Window); err != nil {
			return fmt.Errorf("--warehouse %s: %w", name, err)
		}
		if len(root.Files) == 0 {
			none = append(none, fmt.Errorf("%s: no rows of these dates", name))
		}
		w.Roots = append(w.Roots, root)
	}
	slices.SortStableFunc(all.Files, func(a, b parquet.File) int { return strings.Compare(a.Date, b.Date) })
	slices.SortStableFunc(all.Sums, func(a, b table.Sums) int { return strings.Compare(a.Date, b.Date) })
	w.Snapshot = all
	var err error
	if w.Files, err = filesOf(all, w.Window); err != nil {
		return err
	}
	if len(w.Files) == 0 {
		return &NoRows{fmt.Errorf("%w: %w", ErrNoData, errors.Join(none...)), newest(all)}
	}
	return nil
}

// snapshotOf returns the newest commit of a warehouse, with its files on the local disk.
func (w *Warehouse) snapshotOf(ctx context.Context, address string) (*table.Snapshot, error) {
	if strings.HasPrefix(address, bigqueryScheme) {
		return nil, errors.New("several warehouses must be directories or buckets: ask BigQuery alone")
	}
	if !IsBucket(address) {
		if err := checkRoot(address); err != nil {
			return nil, err
		}
		return table.OpenReadable(address)
	}
	plain, size, err := splitCacheSize(address)
	if err != nil {
		return nil, err
	}
	b, err := bucket.Open(ctx, plain)
	if err != nil {
		return nil, err
	}
	w.others = append(w.others, b)
	if w.cache == nil {
		dir, err := bucket.DefaultCacheRoot()
		if err != nil {
			return nil, err
		}
		if w.cache, err = bucket.OpenCache(dir, size); err != nil {
			return nil, err
		}
		w.cache.Verified = w.verified
	}
	s, _, err := w.cache.Snapshot(ctx, b, bucket.Read{Date: w.Window.touches, Tell: w.notices})
	return s, err
}

// sameRoot reports whether two addresses belong to the same warehouse.
func sameRoot(a, b string) bool {
	if IsBucket(a) || IsBucket(b) {
		return strings.TrimRight(withoutOptions(a), "/") == strings.TrimRight(withoutOptions(b), "/")
	}
	first, err := os.Stat(a)
	if err != nil {
		return a == b
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

func withoutOptions(address string) string {
	if IsBucket(address) {
		address, _, _ = strings.Cut(address, "?")
	}
	return address
}
