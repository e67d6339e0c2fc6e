package bucket

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// abandonedAfter is how long a prefix that was not given back must be silent before
// maintenance by a command takes it: its collector may yet come back with rows that
// only its own directory has. One whose directory was scratch can't, see mayHave.
const abandonedAfter = 24 * time.Hour

// Maintain takes a prefix as a collector would, to a new directory below scratch,
// uploads what do makes of it and gives the prefix back. It fails with an error of
// kind ErrTaken while a collector has it.
func Maintain(ctx context.Context, b *Bucket, name, scratch string, localBytes int64, do func(directory string, m *Mirror) error) error {
	directory, err := newScratch(scratch, compactScratch)
	if err != nil {
		return err
	}
	defer directory.remove()
	root := filepath.Join(directory.path, "warehouse")
	m, err := NewMirror(ctx, b, Options{
		Address: b.String(), Prefix: name, Directory: root, LocalBytes: localBytes, Abandoned: abandonedAfter, CloseWithin: patience, Scratch: true,
	})
	if err != nil {
		return err
	}
	m.Start(func(error) {}) // the last upload says what fails
	err = do(root, m)
	if perr := m.Push(ctx); perr != nil {
		err = errors.Join(err, fmt.Errorf("%s: %w", m.Address(), perr))
	}
	return errors.Join(err, m.Close())
}
