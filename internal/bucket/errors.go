package bucket

import (
	"context"
	"errors"
	"io/fs"

	"gocloud.dev/gcerrors"

	"github.com/corehour/corehour/internal/parquet"
)

// Kinds of failure beside those of internal/parquet.
var (
	// ErrRefused: the store answers and says no; trying again does not help.
	ErrRefused = errors.New("the object store refuses it")
	// ErrTaken: another collector holds the prefix, or has taken it over.
	ErrTaken = errors.New("the prefix belongs to another collector")
)

// errExists means that an object of this name is there already.
var errExists = errors.New("there is such an object already")

// errAbsent means that there is no such object.
var errAbsent = errors.New("there is no such object")

// fail types an error of a request. Path is the address of the object.
func (b *Bucket) fail(op, key string, err error) error {
	e := &parquet.Error{Op: op, Path: b.show(key), Err: err, Hint: "the store does not answer as it should: it is tried again"}
	switch gcerrors.Code(err) {
	case gcerrors.NotFound:
		e.Kind, e.Hint = ErrRefused, "check that the bucket exists and that the credentials may list, read, create and delete objects in it"
	case gcerrors.PermissionDenied:
		e.Kind, e.Hint = ErrRefused, "give the credentials of the environment the right to list, read, create and delete objects there"
	case gcerrors.InvalidArgument, gcerrors.Unimplemented:
		e.Kind, e.Hint = ErrRefused, "check the address of the bucket"
	}
	if errors.Is(err, context.DeadlineExceeded) {
		e.Kind, e.Hint = nil, "the store took too long: it is tried again"
	}
	if errors.Is(err, fs.ErrPermission) {
		e.Kind, e.Hint = ErrRefused, "the directory must be writable for this user"
	}
	return e
}

// show is the address of an object.
func (b *Bucket) show(key string) string {
	l := b.location
	l.base = ""
	return l.String() + "/" + key
}

// permanent tells whether trying again is of no use until somebody does something.
func permanent(err error) bool {
	return errors.Is(err, ErrRefused) || errors.Is(err, ErrTaken) || errors.Is(err, parquet.ErrCorrupt) || errors.Is(err, parquet.ErrLocked)
}
