package bucket

import (
	"context"
	"errors"
	"fmt"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// Writer writes to a directory that a Mirror uploads.
type Writer struct {
	*table.Writer
	*Mirror
	bucket *Bucket
}

// NewWriter opens the bucket and the directory. Nothing is uploaded until Start.
func NewWriter(ctx context.Context, o Options, p table.Options) (*Writer, error) {
	b, err := Open(ctx, o.Address)
	if err != nil {
		return nil, err
	}
	b.warn = o.Warn
	w, err := b.Writer(ctx, o, p)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return w, nil
}

// Writer opens a directory that is uploaded to the bucket. Its Close also closes the bucket. While the store
// does not answer, a directory that was uploaded before can be written to; the changes of the prefix are
// merged later.
func (b *Bucket) Writer(ctx context.Context, o Options, p table.Options) (*Writer, error) {
	var inner *table.Writer
	open := func() (w *table.Writer, err error) {
		if inner == nil {
			if w, err = table.NewWriter(o.Directory, p); err == nil {
				inner = w
			}
		}
		return inner, err
	}
	m, err := newMirror(ctx, b, o, open)
	if err == nil {
		if _, err = open(); err == nil {
			return &Writer{inner, m, b}, nil
		}
		err = errors.Join(err, m.Close())
	}
	if inner != nil {
		err = errors.Join(err, inner.Close())
	}
	return nil, err
}

// Write commits items to the directory; the upload follows. It fails while the directory is full of rows
// that are not uploaded, and permanently after another collector has taken the prefix.
func (w *Writer) Write(ctx context.Context, items []methodspan.Item) (warehouse.Result, error) {
	if err := w.Settle(); err != nil {
		return warehouse.Result{}, err
	}
	if err := w.Lost(); err != nil {
		return warehouse.Result{}, err
	}
	if waiting := w.stats.unsent(); waiting >= w.opts.LocalBytes {
		return warehouse.Result{}, &warehouse.Error{Op: "write", Path: w.opts.Directory, Kind: warehouse.ErrFull,
			Hint: fmt.Sprintf("%d bytes wait to be uploaded to %s, the limit is %d", waiting, w.store.Address(), w.opts.LocalBytes)}
	}
	res, err := w.Writer.Write(ctx, items)
	w.stats.written.Add(res.Bytes)
	return res, err
}

// Close uploads the remaining rows and releases the prefix.
func (w *Writer) Close() error {
	return errors.Join(w.Mirror.Close(), w.Writer.Close(), w.bucket.Close())
}
