package bucket

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// DefaultCacheBytes bounds a Cache.
const DefaultCacheBytes = 10_000_000_000

// Cache keeps the most recently used data files of buckets on the local disk.
// Several processes can use it at once. Layout:
//
//	manifests/<address>/_manifest/*.json
//	objects/<name and checksum>.parquet   what later commands find
//	use/<random>/                         second names of the files of one command
//	compact-<random>/, import-<random>/   where one command works, see scratch
//
// A command opens the second names, so that another command that evicts a file cannot take it away. A
// directory in use whose lock is free belongs to a command that was killed.
type Cache struct {
	// Verified remembers the files of the cache that are intact. If it is nil, each command verifies them again.
	Verified *parquet.VerifiedFiles

	root string
	max  int64
	use  *scratch // nil once closed
	// rollups are the rollups not downloaded yet, keyed by their planned paths.
	rollups map[string]wantedFile
	held    struct { // in use
		files int
		bytes int64
	}
}

// OpenCache opens the cache in a directory and creates the directory if needed.
func OpenCache(root string, bytes int64) (*Cache, error) {
	for _, dir := range []string{"objects", "use", "manifests"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			return nil, &warehouse.Error{Op: "open cache", Path: root, Err: err, Hint: "XDG_CACHE_HOME names another directory for it"}
		}
	}
	use, err := newScratch(root, cacheScratch)
	if err != nil {
		return nil, err
	}
	return &Cache{root: root, max: bytes, use: use, rollups: map[string]wantedFile{}}, nil
}

// DefaultCacheRoot returns the default directory of the cache.
func DefaultCacheRoot() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no directory for cached files: %w: set HOME or XDG_CACHE_HOME", err)
	}
	return filepath.Join(dir, "corehour"), nil
}

// Close releases the files, so that other commands can evict them.
func (c *Cache) Close() error {
	if c.use == nil {
		return nil
	}
	return exclusively(c.root, func() error {
		err := errors.Join(c.use.lock.Close(), os.RemoveAll(c.use.path))
		c.use = nil
		// Commands that ran at the same time can exceed the bound together.
		return errors.Join(err, c.makeRoom(c.max))
	})
}

// wantedFile is a file that a command needs.
type wantedFile struct {
	store  *Store
	object table.Object
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}

func (w *wantedFile) name() string {
	return digest(fmt.Sprintf("%s\n%s\n%s\n%d", w.store.Address(), w.object.Path, w.object.Checksum, w.object.Bytes)) + ".parquet"
}

// fetchHeld links or downloads files into the command's own directory and returns their paths.
func (c *Cache) fetchHeld(ctx context.Context, want []wantedFile, tell io.Writer) ([]string, error) {
	held := c.held
	held.files += len(want)
	for _, w := range want {
		held.bytes += w.object.Bytes
	}
	if held.bytes > c.max {
		return nil, &warehouse.Error{Op: "fetch", Path: want[0].store.location.String(), Kind: warehouse.ErrFull,
			Hint: fmt.Sprintf("%d files with %d bytes are needed, and the cache is limited to %d: ask for fewer days or allow more with --cache-size", held.files, held.bytes, c.max)}
	}
	paths, err := c.fetch(ctx, want, tell)
	if err == nil {
		c.held = held
	}
	return paths, err
}

// plannedPath returns the path that a rollup has once it is downloaded.
func (c *Cache) plannedPath(w wantedFile) string {
	path := filepath.Join(c.use.path, w.name())
	c.rollups[path] = w
	return path
}

// Bring downloads the rollups of a Snapshot to the cache and returns the available ones. It writes the problems
// of the others to tell: readers work without rollups that are missing, damaged or too large for the cache.
func (c *Cache) Bring(ctx context.Context, sums []table.Sums, tell io.Writer) (here []table.Sums, err error) {
	if tell == nil {
		tell = io.Discard
	}
	var want []wantedFile
	var paths []string
	for _, s := range sums {
		if w, waits := c.rollups[s.Path]; waits {
			want, paths = append(want, w), append(paths, s.Path)
		}
	}
	bring := func(from, to int) error {
		if _, err := c.fetchHeld(ctx, want[from:to], tell); err != nil {
			return err
		}
		for _, path := range paths[from:to] {
			delete(c.rollups, path)
		}
		return nil
	}
	if len(want) > 0 {
		err = bring(0, len(want))
	}
	if err != nil && len(want) > 1 { // a single file can be the cause
		err = nil
		for i := range want {
			err = errors.Join(err, bring(i, i+1))
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	for _, s := range sums {
		if _, waits := c.rollups[s.Path]; !waits {
			here = append(here, s)
		}
	}
	return here, err
}

// fetch links the files that are in the cache. It downloads the missing files and the files that changed since
// their download.
func (c *Cache) fetch(ctx context.Context, want []wantedFile, tell io.Writer) ([]string, error) {
	paths := make([]string, len(want))
	var linked, missing []int
	var bytes int64
	now := time.Now()
	err := exclusively(c.root, func() error {
		for i := range want {
			name := want[i].name()
			paths[i] = filepath.Join(c.use.path, name)
			cached := filepath.Join(c.root, "objects", name)
			err := os.Link(cached, paths[i])
			if err == nil || errors.Is(err, fs.ErrExist) {
				linked = append(linked, i)
				_ = os.Chtimes(cached, now, time.Time{})
				continue
			}
			missing = append(missing, i)
			bytes += want[i].object.Bytes
		}
		return c.makeRoom(c.max - bytes)
	})
	if err != nil {
		return paths, err
	}
	damaged, err := c.changed(ctx, want, paths, linked)
	if err != nil {
		return paths, err
	}
	for _, i := range damaged {
		fmt.Fprintf(tell, "a file of the cache is damaged and fetched again: %s\n", paths[i])
		bytes += want[i].object.Bytes
	}
	if missing = append(missing, damaged...); len(missing) == 0 {
		return paths, nil
	}
	fmt.Fprintf(tell, "fetching %d files, %s; %d are here already\n", len(missing), megabytes(bytes), len(want)-len(missing))
	said := progress{tell: tell, all: bytes, next: now.Add(sayEvery)}
	damage := make([]error, len(missing)) // the error names all damaged files
	err = parallelDo(len(missing), func(n int) error {
		w, path := want[missing[n]], paths[missing[n]]
		if err := w.store.download(ctx, w.object, path); errors.Is(err, warehouse.ErrCorrupt) {
			damage[n] = err
			return nil
		} else if err != nil {
			return err
		}
		said.addBytes(w.object.Bytes)
		err := os.Link(path, filepath.Join(c.root, "objects", w.name()))
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	})
	return paths, errors.Join(append(damage, err)...)
}

// changed returns the linked files that differ from their downloaded contents, and removes them from the cache.
func (c *Cache) changed(ctx context.Context, want []wantedFile, paths []string, linked []int) (changed []int, err error) {
	files := make([]parquet.File, len(linked))
	for n, i := range linked {
		o := &want[i].object
		files[n] = parquet.File{Path: filepath.Join(c.root, "objects", want[i].name()), Bytes: o.Bytes, Checksum: o.Checksum}
	}
	_ = c.Verified.Verify(ctx, files) // the files are downloaded again whatever the error is
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	for n, i := range linked {
		if files[n].Verified {
			continue
		}
		changed = append(changed, i)
		for _, path := range []string{paths[i], files[n].Path} {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
	}
	return changed, nil
}

// makeRoom evicts the least recently used files until at most max bytes remain. Files of running commands stay
// on disk until these commands end.
func (c *Cache) makeRoom(max int64) error {
	entries, err := os.ReadDir(filepath.Join(c.root, "objects"))
	if err != nil {
		return err
	}
	var files []fs.FileInfo
	var total int64
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			files = append(files, info)
			total += info.Size()
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return usedAt(a).Compare(usedAt(b)) })
	for _, f := range files {
		if total <= max {
			break
		}
		if err := os.Remove(filepath.Join(c.root, "objects", f.Name())); err != nil {
			return err
		}
		total -= f.Size()
	}
	return nil
}

// sayEvery is the interval between two progress lines of a download.
const sayEvery = 5 * time.Second

type progress struct {
	mu        sync.Mutex
	tell      io.Writer
	done, all int64
	next      time.Time
}

func (p *progress) addBytes(bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += bytes
	if now := time.Now(); now.After(p.next) {
		p.next = now.Add(sayEvery)
		fmt.Fprintf(p.tell, "fetched %s of %s\n", megabytes(p.done), megabytes(p.all))
	}
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
