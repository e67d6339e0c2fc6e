package bigquery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"go.uber.org/multierr"
)

// fileFaultReasons are the reasons of failed jobs that can be caused by the files. All other
// reasons are faults of the service, a quota or permissions, and the same files are tried again.
var fileFaultReasons = []string{"invalid", "resourcesExceeded"}

// maxGroups bounds how many parts of refused jobs are tried separately before any job has proven
// that the files are at fault.
const maxGroups = 16

// jobFailed ends a job that failed, so it has stored nothing. Its files wait for another job with
// another id. If the files can be at fault they are separated from the others and halved, which
// finds one bad file among many in a few jobs.
func (l *Loader) jobFailed(ctx context.Context, p *loadPlan, e *JobError) error {
	bad, err := l.recordFailure(p, e)
	if e.Reason == "notFound" { // a file or the table
		err = multierr.Append(err, l.opts.recreateTable(ctx, l.rest))
	}
	if bad == nil {
		return err
	}
	left := int64(0)
	if l.bucket.remove(ctx, bad.Name) != nil {
		left = 1
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stats.ObjectsLeft += left
	return err
}

// recordFailure records the failed job. It also returns the file that was given up, if any.
func (l *Loader) recordFailure(p *loadPlan, e *JobError) (buried *spooledFile, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	failure := fmt.Errorf("job %s failed: %s (%s)", p.ID, cutText(e.Message, maxDetail), e.Reason)
	if err := l.journal.record(&loadLine{At: l.now(), Failed: p.ID}, true); err != nil {
		return nil, l.fail("write the journal", nil, err)
	}
	l.stats.LoadsFailed++
	files := l.journal.filesNamed(p.Files)
	for _, f := range files {
		f.uploaded = e.Reason != "notFound" // notFound: the bucket may have lost the file
	}
	l.removeGroup(p.Files)
	if slices.Contains(fileFaultReasons, e.Reason) {
		if bad := l.splitRefused(files); bad != nil {
			if err := l.giveUpFile(bad, e); err != nil {
				return nil, err
			}
			return bad, fmt.Errorf("BigQuery refuses %d rows of %s, which are given up: %s", bad.Rows, bad.Name, cutText(e.Message, maxDetail))
		}
	}
	l.load.step("failed")
	return nil, failure
}

// splitRefused puts the files of a refused job into groups of their own. It returns a file that was
// refused alone although other files were loaded in between: table, bucket and permissions are in
// order, so the file is bad.
func (l *Loader) splitRefused(files []*spooledFile) (bad *spooledFile) {
	proven := true
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.Name
		proven = proven && f.firstRefused >= 0 && f.firstRefused < l.stats.Loads
		if f.firstRefused < 0 {
			f.firstRefused = l.stats.Loads
		}
	}
	switch n := len(files); {
	case n == 1 && proven:
		return files[0]
	case n == 0 || len(l.refusedGroups) >= maxGroups && !proven:
	case n == 1:
		l.refusedGroups = append(l.refusedGroups, names)
	default:
		l.refusedGroups = append(l.refusedGroups, names[:n/2:n/2], names[n/2:])
	}
	return nil
}

// removeGroup removes the group that a job was made of.
func (l *Loader) removeGroup(files []string) {
	l.refusedGroups = slices.DeleteFunc(l.refusedGroups, func(g []string) bool { return slices.Contains(files, g[0]) })
}

// buriedFile is the note next to a file that was given up.
type buriedFile struct {
	Time   time.Time `json:"time"`
	Reason string    `json:"reason"`
	Detail string    `json:"detail"`
	Rows   int       `json:"rows"`
}

// giveUpFile moves the file out of the spool, as long as the directory for refused files has room.
// It can be loaded by hand.
func (l *Loader) giveUpFile(f *spooledFile, e *JobError) error {
	// An earlier round may have moved it and failed to record that.
	_, err := os.Stat(l.deadPath(f.Name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return l.fail("read the dead letters", nil, err)
	}
	moved := err == nil
	kept := moved || l.deadBytes+f.Bytes <= l.opts.DeadLetters
	if kept && !moved {
		note, err := json.Marshal(buriedFile{l.now().UTC(), e.Reason, cutText(e.Message, maxDetail), f.Rows})
		if err != nil {
			return err
		}
		if err := createDurably(l.deadPath(f.Name+".json"), note); err != nil {
			return l.fail("keep a file that was refused", nil, err)
		}
		if err := os.Rename(l.path(f.Name), l.deadPath(f.Name)); err != nil {
			return l.fail("keep a file that was refused", nil, err)
		}
		l.load.step("moved")
		l.deadBytes += f.Bytes
	}
	if err := l.journal.record(&loadLine{At: l.now(), Buried: f.Name}, true); err != nil {
		return l.fail("write the journal", nil, err)
	}
	if kept {
		l.stats.DeadLetters += int64(f.Rows)
	} else {
		l.stats.DeadLettersDropped += int64(f.Rows)
		_ = os.Remove(l.path(f.Name)) // if this fails, the next start removes it
	}
	return nil
}
