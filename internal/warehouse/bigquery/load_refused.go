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

// faultOfFiles are the reasons for which a job fails that may lie in its files. All
// others lie in the service, a quota or the privileges, and the same files are
// tried again.
var faultOfFiles = []string{"invalid", "resourcesExceeded"}

// maxGroups bounds how many parts of refused jobs are tried by themselves while it
// is not known whether the fault is the files' at all.
const maxGroups = 16

// failed ends a job that has stored nothing, as the service says. Its files wait
// for another one, with another id. If the fault may be theirs they are loaded apart
// from others and halved, which finds one bad file among many in a few jobs.
func (l *Loader) failed(ctx context.Context, p *loadPlan, e *JobError) error {
	bad, err := l.endFailed(p, e)
	if e.Reason == "notFound" { // of a file, or the table
		err = multierr.Append(err, l.opts.remake(ctx, l.rest))
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

// endFailed also tells which file was given up.
func (l *Loader) endFailed(p *loadPlan, e *JobError) (buried *spooledFile, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	failure := fmt.Errorf("job %s failed: %s (%s)", p.ID, cutText(e.Message, maxDetail), e.Reason)
	if err := l.book.note(&bookLine{At: l.now(), Failed: p.ID}, true); err != nil {
		return nil, l.fail("write the journal", nil, err)
	}
	l.stats.LoadsFailed++
	files := l.book.named(p.Files)
	for _, f := range files {
		f.stored = e.Reason != "notFound" // of a file that the bucket has lost
	}
	l.ungroup(p.Files)
	if slices.Contains(faultOfFiles, e.Reason) {
		if bad := l.suspect(files); bad != nil {
			if err := l.bury(bad, e); err != nil {
				return nil, err
			}
			return bad, fmt.Errorf("%d rows are given up, which BigQuery refuses: %s", bad.Rows, cutText(e.Message, maxDetail))
		}
	}
	l.load.step("failed")
	return nil, failure
}

// suspect sets the files of a refused job apart. One that was refused alone, before
// and after others were loaded, is handed back: table, bucket and privileges are in
// order, so it is the file.
func (l *Loader) suspect(files []*spooledFile) (bad *spooledFile) {
	proven := true
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.Name
		proven = proven && f.refused >= 0 && f.refused < l.stats.Loads
		if f.refused < 0 {
			f.refused = l.stats.Loads
		}
	}
	switch n := len(files); {
	case n == 1 && proven:
		return files[0]
	case n == 0 || len(l.groups) >= maxGroups && !proven:
	case n == 1:
		l.groups = append(l.groups, names)
	default:
		l.groups = append(l.groups, names[:n/2:n/2], names[n/2:])
	}
	return nil
}

// ungroup forgets the group that a job was made of.
func (l *Loader) ungroup(files []string) {
	l.groups = slices.DeleteFunc(l.groups, func(g []string) bool { return slices.Contains(files, g[0]) })
}

// buriedFile is written next to a file that was given up.
type buriedFile struct {
	Time   time.Time `json:"time"`
	Reason string    `json:"reason"`
	Detail string    `json:"detail"`
	Rows   int       `json:"rows"`
}

// bury gives a file up: it is kept next to the spool as long as there is room, and
// can be loaded by hand.
func (l *Loader) bury(f *spooledFile, e *JobError) error {
	// A round whose note failed may have moved it.
	_, err := os.Stat(l.deadPath(f.Name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return l.fail("read the dead letters", nil, err)
	}
	moved := err == nil
	kept := moved || l.buried+f.Bytes <= l.opts.DeadLetters
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
		l.buried += f.Bytes
	}
	if err := l.book.note(&bookLine{At: l.now(), Buried: f.Name}, true); err != nil {
		return l.fail("write the journal", nil, err)
	}
	if kept {
		l.stats.DeadLetters += int64(f.Rows)
	} else {
		l.stats.DeadLettersDropped += int64(f.Rows)
		_ = os.Remove(l.path(f.Name)) // else a start does
	}
	return nil
}
