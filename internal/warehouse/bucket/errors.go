package bucket

import (
	"context"
	"errors"

	"github.com/corehour/corehour/internal/warehouse"
)

// Kinds of failure in addition to those of internal/warehouse.
var (
	// ErrRefused: the store answers and says no; trying again does not help.
	ErrRefused = errors.New("the object store refuses it")
	// ErrTaken: another collector or command holds the prefix, or has taken it over.
	ErrTaken = errors.New("the prefix is taken")
)

// errBusy: who holds the prefix may give it back.
var errBusy = errors.New("it is not given back yet")

// errReplaced means that a directory is not the one that was followed.
var errReplaced = errors.New("it was removed or replaced while it was in use")

// errExists means that an object of this name is there already.
var errExists = errors.New("there is such an object already")

// errNotFound means that there is no such object.
var errNotFound = errors.New("there is no such object")

// fail types an error of a request. Path is the address of the object.
func (b *Bucket) fail(ctx context.Context, op, key string, err error) error {
	e := &warehouse.Error{Op: op, Path: b.show(key), Err: err, Hint: "the store does not answer as it should"}
	hint, lasting := b.refusal(err)
	switch cause := b.unidentified(ctx); {
	case cause != nil:
		e.Err, e.Hint = cause, noCredentials
		if !isTemporary(cause) {
			e.Kind = ErrRefused
		}
	case lasting:
		e.Kind, e.Hint = ErrRefused, hint
	case errors.Is(err, context.DeadlineExceeded):
		e.Hint = "the store took too long: check that it can be reached from here, at the address and its `endpoint`"
	}
	return e
}

// show is the address of an object.
func (b *Bucket) show(key string) string {
	l := b.location
	l.base = ""
	return l.String() + "/" + key
}

// permanent reports whether trying again is of no use until somebody does something. An object
// that is gone may be one that a newer commit has replaced.
func permanent(err error) bool {
	return errors.Is(err, ErrRefused) || errors.Is(err, ErrTaken) || errors.Is(err, warehouse.ErrCorrupt) && !errors.Is(err, errNotFound) ||
		errors.Is(err, warehouse.ErrNewer) || errors.Is(err, warehouse.ErrLocked)
}
