package bigquery

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
)

// spool writes rows to files that are on disk, names and all, when it returns.
// Nothing counts them yet.
func (l *Loader) spool(rows []*methodspan.Row) ([]spooledFile, error) {
	if l.book.bytes >= l.load.SpoolBytes {
		return nil, l.spoolFull()
	}
	var files []spooledFile
	size := l.book.bytes
	err := l.encoder.Encode(rows, func(_ string, rows []*methodspan.Row, data []byte) error {
		if size += int64(len(data)); size > l.load.SpoolBytes {
			return l.spoolFull()
		}
		if err := l.room(int64(len(data))); err != nil {
			return err
		}
		f := spooledFile{
			Name: l.now().UTC().Format("20060102-150405-") + rand.Text() + ".parquet",
			Rows: len(rows), Bytes: int64(len(data)), At: l.now().UTC(), EndNS: endOf(rows),
		}
		if err := createDurably(l.path(f.Name)+tmpSuffix, data); err != nil {
			return err
		}
		files = append(files, f)
		return os.Rename(l.path(f.Name)+tmpSuffix, l.path(f.Name))
	})
	l.load.step("spooled")
	if err == nil && len(files) > 0 {
		err = syncDirectory(l.path(""))
	}
	if err == nil {
		return files, nil
	}
	l.unspool(files)
	if errors.Is(err, warehouse.ErrFull) {
		return nil, err
	}
	return nil, l.fail("spool", nil, err)
}

// room fails if a file would leave too little space. The journal needs some to plan the
// jobs that empty the spool.
func (l *Loader) room(size int64) error {
	free, known := l.load.free(l.path(""))
	if l.load.MinFree == 0 || !known || free-size >= l.load.MinFree {
		return nil
	}
	return &warehouse.Error{Op: "spool", Path: l.path(""), Kind: warehouse.ErrFull,
		Hint: fmt.Sprintf("the file system has %d bytes left, %d must stay free", free, l.load.MinFree)}
}

func (l *Loader) spoolFull() error {
	e := &warehouse.Error{Op: "spool", Path: l.path(""), Kind: warehouse.ErrFull,
		Hint: fmt.Sprintf("%d bytes wait for load jobs and %d may", l.book.bytes, l.load.SpoolBytes)}
	if l.trouble != nil {
		e.Err = fmt.Errorf("loading fails: %w", l.trouble)
	}
	return e
}

// unspool removes files that nothing counts. What stays is removed at a start.
func (l *Loader) unspool(files []spooledFile) {
	for _, f := range files {
		_ = os.Remove(l.path(f.Name) + tmpSuffix)
		_ = os.Remove(l.path(f.Name))
	}
}

// oldestShare of rows may have ended before the time that a file is said to be from.
const oldestShare = 400

// endOf is a time that all rows but one in 400 ended after.
func endOf(rows []*methodspan.Row) int64 {
	ends := make([]int64, len(rows))
	for i, r := range rows {
		ends[i] = r.EndNS
	}
	slices.Sort(ends)
	return ends[len(ends)/oldestShare]
}

// recover compares the spool with the book: files of writes that were never
// acknowledged go, and files that are gone are counted.
func (l *Loader) recover() error {
	there := map[string]bool{}
	entries, err := os.ReadDir(l.path(""))
	if err != nil {
		return l.fail("read the spool", nil, err)
	}
	known := map[string]bool{}
	for _, f := range l.book.files {
		known[f.Name] = true
	}
	for _, e := range entries {
		there[e.Name()] = true
		if !known[e.Name()] && (strings.HasSuffix(e.Name(), ".parquet") || strings.HasSuffix(e.Name(), tmpSuffix)) {
			if err := os.Remove(l.path(e.Name())); err != nil {
				return l.fail("clear the spool", nil, err)
			}
		}
	}
	if l.buried, err = sizeOf(l.deadPath("")); err != nil {
		return l.fail("read the dead letters", nil, err)
	}
	for _, f := range slices.Clone(l.book.files) {
		if there[f.Name] || f.job != "" { // a job's files may be gone: the job is asked
			continue
		}
		if err := l.gone(f); err != nil {
			return err
		}
	}
	return nil
}

// gone takes a file out of the book that is not in the spool any more: the last run
// gave it up and came to its end, or somebody has deleted it.
func (l *Loader) gone(f *spooledFile) error {
	_, err := os.Stat(l.deadPath(f.Name))
	switch {
	case err == nil:
		l.stats.DeadLetters += int64(f.Rows)
	case errors.Is(err, fs.ErrNotExist):
		l.stats.UnknownRows += int64(f.Rows)
	default:
		return l.fail("read the dead letters", nil, err)
	}
	if err := l.book.note(&bookLine{At: l.now(), Buried: f.Name}, true); err != nil {
		return l.fail("write the journal", nil, err)
	}
	return nil
}

func sizeOf(dir string) (n int64, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		info, infoErr := e.Info()
		if infoErr != nil {
			return n, infoErr
		}
		n += info.Size()
	}
	return n, err
}
