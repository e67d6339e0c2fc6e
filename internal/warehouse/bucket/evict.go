package bucket

import (
	"context"
	"errors"
	"fmt"
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

// pins are the files that are being read.
type pins struct {
	mu    sync.Mutex
	count map[string]int
}

func (p *pins) pin(paths []string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.count == nil {
		p.count = map[string]int{}
	}
	for _, path := range paths {
		if p.count[path] += n; p.count[path] == 0 {
			delete(p.count, path)
		}
	}
}

// ifUnpinned runs do if nobody reads the file.
func (p *pins) ifUnpinned(path string, do func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.count[path] > 0 {
		return nil
	}
	return do()
}

// evict removes uploaded files from the directory, oldest first, while the directory is over its bounds.
// It also updates the number of local bytes.
func (m *Mirror) evict(tree *table.Tree) error {
	type local struct {
		path  string
		bytes int64
		at    time.Time
	}
	newer := map[string]bool{}
	if !m.held && tree.Generation > m.marker.Generation {
		for _, f := range tree.Newer(m.marker.Sequence, m.marker.Committed) {
			newer[f.Path] = true
		}
	}
	var sent []local
	var total, unsent int64
	for _, o := range tree.Objects {
		info, err := os.Stat(m.local(o))
		if err != nil {
			continue
		}
		total += info.Size()
		_, known := m.known[o.Path]
		if m.held && known && m.committed[o.Path] {
			sent = append(sent, local{m.local(o), info.Size(), info.ModTime()})
		}
		if m.held && !known || newer[m.local(o)] {
			unsent += info.Size()
		}
	}
	slices.SortFunc(sent, func(a, b local) int { return a.at.Compare(b.at) })
	var errs []error
	for _, f := range sent {
		free, known := warehouse.FreeBytes(m.opts.Directory)
		if total <= m.opts.LocalBytes && (!known || free >= 2*m.opts.MinFree) {
			break
		}
		err := m.pins.ifUnpinned(f.path, func() error {
			err := os.Remove(f.path)
			if err == nil {
				total -= f.bytes
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	m.stats.local.Store(total)
	m.stats.waiting.Store(&waiting{unsent, m.asOf})
	return errors.Join(errs...)
}

// FetchBytes returns the maximum number of bytes that one Fetch downloads.
func (m *Mirror) FetchBytes() int64 { return m.opts.LocalBytes }

// Fetch brings files of the directory back that were removed to make room, and
// keeps them until done is called. It fails with an error of kind ErrTooLarge if they are
// more than FetchBytes. First it uploads what is not in the bucket yet:
// maintenance works on nothing else, so that rows which only the directory has are
// always in raw files (see Import).
func (m *Mirror) Fetch(ctx context.Context, files []parquet.File) (done func(), err error) {
	if err := m.Push(ctx); err != nil {
		return nil, err
	}
	var paths []string
	var all int64
	for _, f := range files {
		paths = append(paths, f.Path)
		all += f.Bytes
	}
	if all > m.opts.LocalBytes {
		return nil, &warehouse.Error{Op: "fetch", Path: m.store.Address(), Kind: warehouse.ErrTooLarge,
			Hint: fmt.Sprintf("%d files of %s have %d bytes, and the directory is limited to %d: raise the limit, it must hold a date", len(files), files[0].Date, all, m.opts.LocalBytes)}
	}
	m.pins.pin(paths, 1)
	done = sync.OnceFunc(func() { m.pins.pin(paths, -1) })
	err = parallelDo(len(files), func(i int) error {
		f := files[i]
		if _, err := os.Stat(f.Path); err == nil {
			return nil
		}
		rel, err := filepath.Rel(m.opts.Directory, f.Path)
		if err != nil {
			return err
		}
		o := table.Object{Path: filepath.ToSlash(rel), Checksum: f.Checksum, Bytes: f.Bytes}
		if err := m.store.download(ctx, o, f.Path); err != nil {
			return err
		}
		m.stats.downloaded.Add(f.Bytes)
		return nil
	})
	if err != nil {
		done()
		return nil, err
	}
	return done, nil
}
