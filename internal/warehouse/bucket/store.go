package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// Store is one collector's prefix of a bucket.
type Store struct {
	*Bucket
	name string
}

// Store returns the prefix with the given name.
func (b *Bucket) Store(name string) *Store { return &Store{b, name} }

// Address returns the address of the prefix for messages.
func (s *Store) Address() string { return s.location.String() + "/" + s.name }

func (s *Store) key(path string) string { return s.location.key(s.name + "/" + path) }

const (
	// maxObject bounds the size of objects read into memory: commits and manifests.
	maxObject = 256 << 20
	// A request is cancelled after patience plus the time that its bytes take at pace.
	patience = time.Minute
	pace     = 256 << 10 // bytes a second
	// partBytes is how much of an upload is in memory at a time.
	partBytes = 8 << 20
)

func timeFor(bytes int64) time.Duration {
	return patience + time.Duration(bytes/pace)*time.Second
}

func (b *Bucket) step(op, key string, do func() error) error {
	if b.inject != nil {
		if err := b.inject(op, key, false); err != nil {
			return err
		}
	}
	if err := do(); err != nil {
		return err
	}
	if b.inject != nil {
		return b.inject(op, key, true)
	}
	return nil
}

// createText creates an object from a text, like create.
func (s *Store) createText(ctx context.Context, path string, text []byte) error {
	return s.create(ctx, path, int64(len(text)), func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(text)), nil
	})
}

// create creates an object from a whole file or text, atomically. It returns errExists if the object exists.
// After any other error the object may or may not exist.
func (s *Store) create(ctx context.Context, path string, size int64, open func() (io.ReadCloser, error)) error {
	key := s.key(path)
	err := s.step("create", key, func() error {
		ctx, cancel := context.WithTimeout(ctx, timeFor(size))
		defer cancel()
		from, err := open()
		if err != nil {
			return err
		}
		defer from.Close()
		if s.scheme == schemeFile {
			return link(ctx, filepath.Join(s.location.name, filepath.FromSlash(key)), from)
		}
		w, err := s.blobs.NewWriter(ctx, key, &blob.WriterOptions{
			IfNotExist: true, ContentType: "application/octet-stream", BufferSize: partBytes, MaxConcurrency: 2,
		})
		if err != nil {
			return err
		}
		if _, err := io.Copy(w, from); err != nil {
			cancel() // closing would finish the object
			return errors.Join(err, ignore(w.Close()))
		}
		return w.Close()
	})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errExists), gcerrors.Code(err) == gcerrors.FailedPrecondition:
		return errExists
	}
	if status, _ := answerOf(err); status == http.StatusConflict { // of creators at once, the other was quicker
		return errExists
	}
	return s.fail(ctx, "create", key, err)
}

// ignore discards an expected error without information.
func ignore(error) error { return nil }

// read is the contents of a small object; errAbsent if there is none.
func (s *Store) read(ctx context.Context, path string) ([]byte, error) {
	var data []byte
	err := s.get(ctx, path, 0, func(r io.Reader) error {
		var err error
		data, err = io.ReadAll(io.LimitReader(r, maxObject+1))
		if err == nil && len(data) > maxObject {
			err = fmt.Errorf("it is larger than %d bytes", maxObject)
		}
		return err
	})
	return data, err
}

func (s *Store) get(ctx context.Context, path string, size int64, use func(io.Reader) error) error {
	key := s.key(path)
	err := s.step("read", key, func() error {
		ctx, cancel := context.WithTimeout(ctx, timeFor(size))
		defer cancel()
		r, err := s.blobs.NewReader(ctx, key, nil)
		if err != nil {
			return err
		}
		return errors.Join(use(r), r.Close())
	})
	switch {
	case err == nil:
		return nil
	case isNotFound(err):
		return fmt.Errorf("%s: %w", s.show(key), errNotFound)
	}
	return s.fail(ctx, "read", key, err)
}

// download downloads an object to a file. The file appears only when it is complete and its checksum matches.
// Concurrent downloads of one file are safe.
func (s *Store) download(ctx context.Context, o table.Object, to string) error {
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	tmp, err := writeTemporary(filepath.Dir(to), "."+filepath.Base(to)+"-*.tmp", func(f *os.File) error {
		return s.get(ctx, o.Path, o.Bytes, func(r io.Reader) error {
			_, err := io.Copy(io.MultiWriter(f, sum), r)
			return err
		})
	})
	if errors.Is(err, errNotFound) {
		return s.damaged(o, errNotFound)
	}
	if err != nil {
		return err
	}
	defer os.Remove(tmp)
	if got := parquet.FormatChecksum(sum.Sum32()); got != o.Checksum {
		return s.damaged(o, fmt.Errorf("its checksum is %s, %s was committed", got, o.Checksum))
	}
	if err := os.Chmod(tmp, 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, to)
}

// damaged returns the error for an object that is missing or differs from the committed one.
func (s *Store) damaged(o table.Object, err error) error {
	of := warehouse.DamagedRows
	if strings.HasPrefix(o.Path, manifestDir) {
		of = warehouse.Damaged
	}
	return of("download", s.show(s.key(o.Path)), err)
}

// removeUnfinished deletes the temporary files of killed downloads in a directory.
func removeUnfinished(directory string) {
	for _, dir := range []string{"date=*", "_manifest"} {
		left, _ := fs.Glob(os.DirFS(directory), dir+"/.*.tmp") // the pattern is a good one
		for _, name := range left {
			_ = os.Remove(filepath.Join(directory, filepath.FromSlash(name))) // else the next start tries again
		}
	}
}

// listed is an object of the store.
type listed struct {
	path  string // below the prefix
	bytes int64
	at    time.Time // by the store's clock
}

// list lists the objects whose path begins with the prefix begin.
func (s *Store) list(ctx context.Context, begin string) ([]listed, error) {
	all, err := s.listed(ctx, &blob.ListOptions{Prefix: s.key(begin)}, patience)
	if err != nil {
		return nil, err
	}
	var found []listed
	for _, o := range all {
		if !o.IsDir {
			found = append(found, listed{strings.TrimPrefix(o.Key, s.key("")), o.Size, o.ModTime})
		}
	}
	return found, nil
}

// listed returns all objects of a listing. first bounds the wait for its first page.
func (b *Bucket) listed(ctx context.Context, o *blob.ListOptions, first time.Duration) ([]*blob.ListObject, error) {
	var found []*blob.ListObject
	err := b.step("list", o.Prefix, func() error {
		var err error
		for range maxListRetries {
			// The driver for directories fails if a file is deleted between the listing and its stat call.
			if found, err = b.pages(ctx, o, first); err == nil || b.scheme != schemeFile || !isNotFound(err) {
				break
			}
		}
		return err
	})
	if err != nil {
		return nil, b.fail(ctx, "list", o.Prefix, err)
	}
	return found, nil
}

// pages requests all pages: the first one within its own bound, the others within the usual patience.
func (b *Bucket) pages(ctx context.Context, o *blob.ListOptions, within time.Duration) (found []*blob.ListObject, err error) {
	it := b.blobs.List(o)
	for {
		page, cancel := context.WithTimeout(ctx, within)
		next, err := nextOf(page, it)
		late := page.Err() != nil && ctx.Err() == nil
		cancel()
		switch {
		case errors.Is(err, io.EOF):
			return found, nil
		case err != nil && late:
			return nil, fmt.Errorf("no answer within %s: %w", within, context.DeadlineExceeded)
		case err != nil:
			return nil, err
		}
		found, within = append(found, next), patience
	}
}

// nextOf returns the next object of a listing. The S3 driver panics if an answer has no time of an object.
func nextOf(ctx context.Context, it *blob.ListIterator) (o *blob.ListObject, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			o, err = nil, fmt.Errorf("the store's list of objects is incomplete, such as without LastModified: %v", fault)
		}
	}()
	return it.Next(ctx)
}

// remove deletes an object. A missing object is no error.
func (s *Store) remove(ctx context.Context, path string) error {
	key := s.key(path)
	err := s.step("remove", key, func() error {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		return s.blobs.Delete(ctx, key)
	})
	if err != nil && !isNotFound(err) {
		return s.fail(ctx, "delete", key, err)
	}
	return nil
}
