package query

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/bucket"
	"github.com/corehour/corehour/internal/warehouse/parquet"
)

// CacheOption is the option in a bucket's address that bounds the size of the cache, in bytes.
const CacheOption = "cache_size"

// IsBucket reports whether a warehouse address is an object store.
func IsBucket(root string) bool { return bucket.IsAddress(root) }

// openBucket downloads the files of a window to the local cache. The engine reads them there and needs no
// network.
func openBucket(ctx context.Context, root string, window Window, options []Option) (*Warehouse, error) {
	set := settingsOf(options)
	address, size, err := splitCacheSize(root)
	if err != nil {
		return nil, fmt.Errorf("--warehouse: %w", err)
	}
	b, err := bucket.Open(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("--warehouse: %w", err)
	}
	w := &Warehouse{Window: window, dialect: duckdbDialect, bucket: b, exportPath: set.exportPath, notices: set.notices, verified: set.verified}
	dir, err := bucket.DefaultCacheRoot()
	if err == nil {
		w.cache, err = bucket.OpenCache(dir, size)
	}
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	w.cache.Verified = w.verified
	var dates []string
	w.Snapshot, dates, err = w.cache.Snapshot(ctx, b, bucket.Read{Date: window.touches, Tell: set.notices})
	switch {
	case errors.Is(err, bucket.ErrRefused):
		err = fmt.Errorf("--warehouse: %w", err)
	case errors.Is(err, warehouse.ErrEmpty):
		err = fmt.Errorf("%w: %w", ErrNoData, err)
	case err == nil && len(w.Snapshot.Files) == 0:
		err = fmt.Errorf("%w: %s holds rows from %s to %s (UTC dates)", ErrNoData, b, dates[0], dates[len(dates)-1])
	case err == nil:
		w.Files, w.sums = w.Snapshot.Files, sumsOf(w.Snapshot, window)
		w.Roots = []Root{rootOf(b.String(), w.Snapshot, w.Files, true)}
		if err = w.start(ctx); err != nil {
			err = fmt.Errorf("open warehouse %s: %w", b, err)
		}
	}
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// filesSince also downloads the files of dates before the window. They can belong to a newer commit, which has
// the same rows plus late ones.
func (w *Warehouse) filesSince(ctx context.Context, from time.Time) ([]parquet.File, error) {
	before := Window{from, w.Window.From.UTC().Truncate(24 * time.Hour)}
	s, _, err := w.cache.Snapshot(ctx, w.bucket, bucket.Read{Date: before.touches, Tell: w.notices})
	if err != nil {
		return nil, err
	}
	return slices.Concat(s.Files, w.Files), nil
}

// splitCacheSize removes CacheOption from an address.
func splitCacheSize(root string) (address string, size int64, err error) {
	u, err := url.Parse(root)
	if err != nil {
		return "", 0, bucket.Check(root)
	}
	q := u.Query()
	size = bucket.DefaultCacheBytes
	if text := q.Get(CacheOption); text != "" {
		if size, err = strconv.ParseInt(text, 10, 64); err != nil || size <= 0 {
			return "", 0, fmt.Errorf("%s must be a number of bytes above 0, found %q", CacheOption, text)
		}
		q.Del(CacheOption)
		u.RawQuery = q.Encode()
	}
	return u.String(), size, nil
}

// touches reports whether the window contains any part of a UTC date.
func (w Window) touches(date string) bool {
	first, last := w.dates()
	return date >= first && (last == "" || date <= last)
}

// schemeOf returns the scheme of an address, or "" for a path.
func schemeOf(root string) string {
	scheme, _, ok := strings.Cut(root, "://")
	if !ok {
		return ""
	}
	return scheme
}
