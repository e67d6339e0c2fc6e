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

// Cache keeps data files of buckets on the local disk, those that were used last.
// Several processes may use it at once. Layout:
//
//	manifests/<address>/_manifest/*.json
//	objects/<name and checksum>.parquet   what later commands find
//	use/<random>/                         second names of the files of one command
//	compact-<random>/, import-<random>/   where one command works, see scratch
//
// A command asks for the second names, so that no other one can take a file away
// from it by making room; a directory in use whose lock is free is of a command that
// was killed.
type Cache struct {
	// Verified remembers which files of the cache are whole; nil compares them for each command.
	Verified *parquet.VerifiedFiles

	root string
	max  int64
	use  *scratch // nil once closed
	// rollups are those that were not brought yet, by the paths that they will have.
	rollups map[string]wantedFile
	held    struct { // in use
		files int
		bytes int64
	}
}

// OpenCache begins to use the cache in a directory, which is made if need be.
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

// DefaultCacheRoot is where a command keeps it.
func DefaultCacheRoot() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no directory for cached files: %w: set HOME or XDG_CACHE_HOME", err)
	}
	return filepath.Join(dir, "corehour"), nil
}

// Close lets others take the room.
func (c *Cache) Close() error {
	if c.use == nil {
		return nil
	}
	return exclusively(c.root, func() error {
		err := errors.Join(c.use.lock.Close(), os.RemoveAll(c.use.path))
		c.use = nil
		// Commands that ran side by side may have brought more than one alone.
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

// fetchHeld has the files in the command's own directory and tells their paths.
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

// plannedPath tells where sums will be once they are brought.
func (c *Cache) plannedPath(w wantedFile) string {
	path := filepath.Join(c.use.path, w.name())
	c.rollups[path] = w
	return path
}

// Bring has sums of a Snapshot in the cache. It lists those that are there then, and says
// what is wrong with the others: readers can do without those that are gone or damaged, or
// that there is no room for.
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
	if err != nil && len(want) > 1 { // one may be the cause
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

// fetch links the files that are here and fetches the others, and those that have changed since
// they were fetched.
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
	damage := make([]error, len(missing)) // all of it is named
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

// changed lists which of the linked files are not what was fetched, and takes them out.
func (c *Cache) changed(ctx context.Context, want []wantedFile, paths []string, linked []int) (changed []int, err error) {
	files := make([]parquet.File, len(linked))
	for n, i := range linked {
		o := &want[i].object
		files[n] = parquet.File{Path: filepath.Join(c.root, "objects", want[i].name()), Bytes: o.Bytes, Checksum: o.Checksum}
	}
	_ = c.Verified.Verify(ctx, files) // whatever it is, they are fetched again
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

// makeRoom removes files that were not used for the longest time until at most max
// bytes are left. Those of running commands stay on the disk until these end.
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

// sayEvery is the pause between two lines about a download.
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
