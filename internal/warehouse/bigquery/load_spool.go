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

// spool writes rows to files. The files and their names are on disk when it returns; the journal
// does not list them yet.
func (l *Loader) spool(rows []*methodspan.Row) ([]spooledFile, error) {
	if l.journal.bytes >= l.load.SpoolBytes {
		return nil, l.spoolFullError()
	}
	var files []spooledFile
	size := l.journal.bytes
	err := l.encoder.Encode(rows, func(_ string, rows []*methodspan.Row, data []byte) error {
		if size += int64(len(data)); size > l.load.SpoolBytes {
			return l.spoolFullError()
		}
		if err := l.checkFree(int64(len(data))); err != nil {
			return err
		}
		f := spooledFile{
			Name: l.now().UTC().Format("20060102-150405-") + rand.Text() + ".parquet",
			Rows: len(rows), Bytes: int64(len(data)), At: l.now().UTC(), EndNS: fileEndNS(rows),
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

// checkFree returns ErrFull if a file of size bytes would leave too little free space. The journal
// needs some to record the jobs that empty the spool.
func (l *Loader) checkFree(size int64) error {
	free, known := l.load.free(l.path(""))
	if l.load.MinFree == 0 || !known || free-size >= l.load.MinFree {
		return nil
	}
	return &warehouse.Error{Op: "spool", Path: l.path(""), Kind: warehouse.ErrFull,
		Hint: fmt.Sprintf("the file system has %d bytes left, %d must stay free", free, l.load.MinFree)}
}

func (l *Loader) spoolFullError() error {
	e := &warehouse.Error{Op: "spool", Path: l.path(""), Kind: warehouse.ErrFull,
		Hint: fmt.Sprintf("%d bytes wait for load jobs, the limit is %d", l.journal.bytes, l.load.SpoolBytes)}
	if l.loadError != nil {
		e.Err = fmt.Errorf("loading fails: %w", l.loadError)
	}
	return e
}

// unspool removes files that the journal does not list. The next start removes those that remain.
func (l *Loader) unspool(files []spooledFile) {
	for _, f := range files {
		_ = os.Remove(l.path(f.Name) + tmpSuffix)
		_ = os.Remove(l.path(f.Name))
	}
}

// oldestShare is the divisor of the share of rows, the oldest ones, that EndNS ignores.
const oldestShare = 400

// fileEndNS returns a time in ns since 1970 after which all but one in 400 of the rows ended.
func fileEndNS(rows []*methodspan.Row) int64 {
	ends := make([]int64, len(rows))
	for i, r := range rows {
		ends[i] = r.EndNS
	}
	slices.Sort(ends)
	return ends[len(ends)/oldestShare]
}

// reconcileSpool compares the spool with the journal. It removes files of writes that were never
// acknowledged, and counts files that are missing.
func (l *Loader) reconcileSpool() error {
	there := map[string]bool{}
	entries, err := os.ReadDir(l.path(""))
	if err != nil {
		return l.fail("read the spool", nil, err)
	}
	known := map[string]bool{}
	for _, f := range l.journal.files {
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
	if l.deadBytes, err = directorySize(l.deadPath("")); err != nil {
		return l.fail("read the dead letters", nil, err)
	}
	for _, f := range slices.Clone(l.journal.files) {
		if there[f.Name] || f.job != "" { // files of a running job can be missing: the job's state decides
			continue
		}
		if err := l.recordMissing(f); err != nil {
			return err
		}
	}
	return nil
}

// recordMissing removes a file from the journal that is no longer in the spool: the last run gave
// it up and ended before it recorded that, or somebody deleted the file.
func (l *Loader) recordMissing(f *spooledFile) error {
	_, err := os.Stat(l.deadPath(f.Name))
	switch {
	case err == nil:
		l.stats.DeadLetters += int64(f.Rows)
	case errors.Is(err, fs.ErrNotExist):
		l.stats.UnknownRows += int64(f.Rows)
	default:
		return l.fail("read the dead letters", nil, err)
	}
	if err := l.journal.record(&loadLine{At: l.now(), Buried: f.Name}, true); err != nil {
		return l.fail("write the journal", nil, err)
	}
	return nil
}

// directorySize returns the total size of the files in dir.
func directorySize(dir string) (n int64, err error) {
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
