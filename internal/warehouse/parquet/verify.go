package parquet

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/corehour/corehour/internal/regular"
	"github.com/corehour/corehour/internal/warehouse"
)

// Verify compares the size and checksum of a file with those committed. If they differ it returns a
// *warehouse.Error of kind ErrCorrupt that names the file.
func (f *File) Verify(ctx context.Context) error {
	file, err := regular.Open(f.Path)
	if err != nil {
		return f.unreadable(err)
	}
	defer file.Close()
	return f.verify(ctx, file)
}

func (f *File) verifySize(n int64) error {
	if n != f.Bytes {
		return f.damaged("verify", fmt.Errorf("it has %d bytes, %d were committed", n, f.Bytes))
	}
	return nil
}

func (f *File) verify(ctx context.Context, r io.Reader) error {
	sum := crc32.New(castagnoli)
	n, err := io.Copy(sum, &cancelable{ctx, r})
	if ctx.Err() != nil {
		return &warehouse.Error{Op: "verify", Path: f.Path, Err: ctx.Err()}
	}
	if err != nil {
		return f.unreadable(err)
	}
	if err := f.verifySize(n); err != nil {
		return err
	}
	if got := FormatChecksum(sum.Sum32()); got != f.Checksum {
		return f.damaged("verify", fmt.Errorf("its checksum is %s, %s was committed", got, f.Checksum))
	}
	return nil
}

func (f *File) unreadable(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return f.damaged("read file", err)
	}
	return &warehouse.Error{Op: "read file", Path: f.Path, Err: err, Hint: "check that the file is readable"}
}

func (f *File) damaged(op string, err error) *warehouse.Error {
	return warehouse.DamagedRows(op, f.Path, err)
}

// cancelable is a reader that fails once the context is canceled.
type cancelable struct {
	ctx context.Context
	r   io.Reader
}

func (c *cancelable) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
