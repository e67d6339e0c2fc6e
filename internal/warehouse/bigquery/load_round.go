package bigquery

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"
)

// maxRetryAfter bounds the pause after failed rounds.
const maxRetryAfter = time.Minute

// loadRounds makes rounds until the context ends.
func (l *Loader) loadRounds(ctx context.Context) {
	for {
		_ = l.Round(ctx, false) // Round records its error
		timer := time.NewTimer(l.untilNextRound())
		select {
		case <-ctx.Done():
		case <-l.wake:
		case <-timer.C:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// untilNextRound returns the pause before the next round, unless rows arrive.
func (l *Loader) untilNextRound() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.backoff > 0 {
		const doublings = 4
		return min(l.load.retryAfter<<min(l.backoff-1, doublings), maxRetryAfter)
	}
	switch {
	case len(l.journal.plans) > 0:
		return l.load.pollEvery
	case len(l.journal.files) == 0:
		return time.Hour // a Write ends the pause
	}
	return max(l.nextLoad.Sub(l.now()), l.load.pollEvery)
}

// Round uploads files, starts jobs if the interval is over or if now is set, and checks the running
// jobs.
func (l *Loader) Round(ctx context.Context, now bool) error {
	l.round.Lock()
	defer l.round.Unlock()
	err := errors.Join(l.uploadFiles(ctx), l.planJobs(now), l.advanceJobs(ctx))
	if ctx.Err() != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		l.backoff = 0
		return nil
	}
	l.backoff++
	if l.loadError == nil {
		l.watch(err)
	}
	l.loadError = err
	return err
}

// uploadFiles uploads the files that are not in the bucket.
func (l *Loader) uploadFiles(ctx context.Context) error {
	l.mu.Lock()
	var missing []*spooledFile
	for _, f := range l.journal.files {
		if !f.uploaded && f.job == "" {
			missing = append(missing, f)
		}
	}
	l.mu.Unlock()
	for _, f := range missing {
		data, err := os.ReadFile(l.path(f.Name))
		if errors.Is(err, fs.ErrNotExist) {
			l.mu.Lock()
			err = l.recordMissing(f)
			l.mu.Unlock()
			return errors.Join(fmt.Errorf("the spooled file %s is missing", f.Name), err)
		}
		if err == nil {
			err = l.bucket.upload(ctx, f.Name, data)
		}
		if err != nil {
			return fmt.Errorf("upload %s: %w", l.bucket.uri(f.Name), err)
		}
		l.load.step("uploaded")
		l.mu.Lock()
		f.uploaded = true
		l.mu.Unlock()
	}
	return nil
}

// planJobs records the files of the next jobs. The id of a job is on disk before the service
// receives it, and no id is used for two lists of files.
func (l *Loader) planJobs(now bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !now && l.now().Before(l.nextLoad) {
		return nil
	}
	free := l.load.Jobs - len(l.journal.plans)
	l.turn++
	for _, names := range l.jobLists(free) {
		if free <= 0 {
			break
		}
		p := &loadPlan{ID: "corehour_load_" + l.now().UTC().Format("20060102_150405_") + rand.Text(), Files: names, At: l.now().UTC()}
		if err := l.journal.record(&loadLine{At: l.now(), Plan: p}, true); err != nil {
			return l.fail("write the journal", nil, err)
		}
		free--
		l.nextLoad = l.now().Add(l.load.Interval)
		l.load.step("planned")
	}
	return nil
}

// jobLists returns the files that wait in the bucket, one list per job. Files that were never in a
// refused job come first. The halves of refused jobs, and other files of these, follow in turn. If
// only one job can start, both kinds take turns.
func (l *Loader) jobLists(free int) [][]string {
	halves := map[string]bool{}
	for _, g := range l.refusedGroups {
		for _, name := range g {
			halves[name] = true
		}
	}
	ready := map[string]bool{}
	var fresh, refused []string
	for _, f := range l.journal.files {
		switch {
		case !f.uploaded || f.job != "":
			continue
		case halves[f.Name]:
		case f.firstRefused < 0:
			fresh = append(fresh, f.Name)
		default:
			refused = append(refused, f.Name)
		}
		ready[f.Name] = true
	}
	var suspects [][]string
	for _, g := range l.refusedGroups {
		if ready[g[0]] {
			suspects = append(suspects, g)
		}
	}
	suspects = slices.AppendSeq(suspects, slices.Chunk(refused, filesPerJob))
	lists := slices.Collect(slices.Chunk(fresh, filesPerJob))
	if n := len(suspects); n > 0 {
		suspects = append(suspects[l.turn%n:n:n], suspects[:l.turn%n]...)
	}
	if free == 1 && l.turn%2 == 0 {
		return append(suspects, lists...)
	}
	return append(lists, suspects...)
}

// advanceJobs starts planned jobs and checks running ones.
func (l *Loader) advanceJobs(ctx context.Context) error {
	l.mu.Lock()
	plans := slices.Clone(l.journal.plans)
	l.mu.Unlock()
	var errs []error
	for _, p := range plans {
		if !p.started {
			if err := l.startJob(ctx, p); err != nil {
				errs = append(errs, err)
				continue
			}
			l.mu.Lock() // a concurrent Write may copy the plans
			p.started = true
			l.mu.Unlock()
			l.load.step("started")
		}
		errs = append(errs, l.checkJob(ctx, p))
	}
	return errors.Join(errs...)
}

// checkJob asks the service for a job and handles its end.
func (l *Loader) checkJob(ctx context.Context, p *loadPlan) error {
	within, cancel := context.WithTimeout(ctx, l.opts.answerWithin)
	defer cancel()
	job, err := l.rest.getJob(within, l.opts.Dataset, p.ID, l.location)
	if err != nil {
		return fmt.Errorf("get job %s: %w", p.ID, err)
	}
	if job.Status.State != "DONE" {
		return nil
	}
	l.load.step("done")
	if e := job.Status.ErrorResult; e != nil {
		return l.jobFailed(ctx, p, e)
	}
	return l.jobLoaded(ctx, p, job)
}

// jobLoaded ends a job that succeeded. It deletes the job's objects and files; nothing loads them
// again if that fails.
func (l *Loader) jobLoaded(ctx context.Context, p *loadPlan, job *Job) error {
	l.mu.Lock()
	rows := 0
	for _, f := range l.journal.filesNamed(p.Files) {
		rows += f.Rows
	}
	l.mu.Unlock()
	left := 0
	for _, name := range p.Files {
		if err := l.bucket.remove(ctx, name); err != nil {
			left++
		}
	}
	if ctx.Err() != nil {
		return ctx.Err() // the next start checks the job again and deletes the rest
	}
	l.load.step("removed objects")
	// The deleted files make room for the journal line on a full disk. Until the line is written,
	// later rounds check the job and not its files.
	for _, name := range p.Files {
		_ = os.Remove(l.path(name)) // if this fails, the next start removes it
	}
	l.load.step("removed files")
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.journal.record(&loadLine{At: l.now(), Loaded: p.ID}, false); err != nil {
		return l.fail("write the journal", nil, err)
	}
	l.load.step("ended")
	l.removeGroup(p.Files)
	l.stats.Loads++
	l.stats.LoadedRows += int64(rows)
	l.stats.ObjectsLeft += int64(left)
	if l.loadError != nil {
		l.loadError = nil
		l.watch(nil)
	}
	return l.compareRows(p, job, rows)
}

// compareRows returns an error if the service has stored another number of rows than were sent.
func (l *Loader) compareRows(p *loadPlan, job *Job, rows int) error {
	stored, known := job.outputRows()
	if !known || stored == int64(rows) {
		return nil
	}
	l.stats.UnknownRows += max(stored-int64(rows), int64(rows)-stored)
	return fmt.Errorf("job %s stored %d rows, want %d", p.ID, stored, rows)
}

// loadUntilEmpty makes rounds until the spool is empty, a round fails, or the context ends.
func (l *Loader) loadUntilEmpty(ctx context.Context) {
	for ctx.Err() == nil {
		if err := l.Round(ctx, true); err != nil {
			return
		}
		l.mu.Lock()
		left := len(l.journal.files)
		l.mu.Unlock()
		if left == 0 || !pause(ctx, l.load.pollEvery/4) {
			return
		}
	}
}
