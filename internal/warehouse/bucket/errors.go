package bucket

import (
	"context"
	"errors"

	"github.com/corehour/corehour/internal/warehouse"
)

// Kinds of failure in addition to those of internal/warehouse.
var (
	// ErrRefused means that the object store refuses the request and a retry does not help.
	ErrRefused = errors.New("the object store refuses it")
	// ErrTaken means that another collector or command holds the prefix or has taken it over.
	ErrTaken = errors.New("the prefix is taken")
)

// errBusy means that the holder of the prefix can still release it.
var errBusy = errors.New("it is not given back yet")

// errReplaced means that the local directory was removed or replaced while a Mirror used it.
var errReplaced = errors.New("it was removed or replaced while it was in use")

// errExists means that an object of this name already exists.
var errExists = errors.New("there is such an object already")

// errNotFound means that no object of this name exists.
var errNotFound = errors.New("there is no such object")

// fail adds the kind of failure and the address of the object to the error of a request.
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

// show returns the address of an object.
func (b *Bucket) show(key string) string {
	l := b.location
	l.base = ""
	return l.String() + "/" + key
}

// permanent reports whether a retry is useless until an operator acts. A missing object is not permanent:
// a newer commit can have replaced it.
func permanent(err error) bool {
	return errors.Is(err, ErrRefused) || errors.Is(err, ErrTaken) || errors.Is(err, warehouse.ErrCorrupt) && !errors.Is(err, errNotFound) ||
		errors.Is(err, warehouse.ErrNewer) || errors.Is(err, warehouse.ErrLocked)
}
