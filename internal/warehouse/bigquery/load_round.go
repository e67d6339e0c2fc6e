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

// maxRetryAfter bounds the pause after rounds that fail.
const maxRetryAfter = time.Minute

// loadRounds makes rounds until the context ends.
func (l *Loader) loadRounds(ctx context.Context) {
	for {
		_ = l.Round(ctx, false) // noted there
		timer := time.NewTimer(l.untilNext())
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

// untilNext is how long there is nothing to do if no rows come.
func (l *Loader) untilNext() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.backoff > 0 {
		const doublings = 4
		return min(l.load.retryAfter<<min(l.backoff-1, doublings), maxRetryAfter)
	}
	switch {
	case len(l.book.plans) > 0:
		return l.load.pollEvery
	case len(l.book.files) == 0:
		return time.Hour // a Write ends the wait
	}
	return max(l.nextLoad.Sub(l.now()), l.load.pollEvery)
}

// Round does what is due: it uploads files, begins a job if the last one was long
// enough ago, or now, and asks what became of those that run.
func (l *Loader) Round(ctx context.Context, now bool) error {
	l.round.Lock()
	defer l.round.Unlock()
	err := errors.Join(l.upload(ctx), l.plan(now), l.advance(ctx))
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
	if l.trouble == nil {
		l.watch(err)
	}
	l.trouble = err
	return err
}

// upload puts files into the bucket that are not there.
func (l *Loader) upload(ctx context.Context) error {
	l.mu.Lock()
	var missing []*spooledFile
	for _, f := range l.book.files {
		if !f.stored && f.job == "" {
			missing = append(missing, f)
		}
	}
	l.mu.Unlock()
	for _, f := range missing {
		data, err := os.ReadFile(l.path(f.Name))
		if errors.Is(err, fs.ErrNotExist) {
			l.mu.Lock()
			err = l.gone(f)
			l.mu.Unlock()
			return errors.Join(fmt.Errorf("the spooled file %s is gone", f.Name), err)
		}
		if err == nil {
			err = l.bucket.put(ctx, f.Name, data)
		}
		if err != nil {
			return fmt.Errorf("upload %s: %w", l.bucket.uri(f.Name), err)
		}
		l.load.step("uploaded")
		l.mu.Lock()
		f.stored = true
		l.mu.Unlock()
	}
	return nil
}

// plan notes which files the next jobs load. The id of a job is on disk before the
// service hears of it, and no id is used for two lists of files.
func (l *Loader) plan(now bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !now && l.now().Before(l.nextLoad) {
		return nil
	}
	free := l.load.Jobs - len(l.book.plans)
	l.turn++
	for _, names := range l.lists(free) {
		if free <= 0 {
			break
		}
		p := &loadPlan{ID: "corehour_load_" + l.now().UTC().Format("20060102_150405_") + rand.Text(), Files: names, At: l.now().UTC()}
		if err := l.book.note(&bookLine{At: l.now(), Plan: p}, true); err != nil {
			return l.fail("write the journal", nil, err)
		}
		free--
		l.nextLoad = l.now().Add(l.load.Interval)
		l.load.step("planned")
	}
	return nil
}

// lists are the files that wait in the bucket, by the jobs that are to load them:
// first those that no job was refused for, then, taking turns, the halves of refused
// jobs and the rest of these. Where there is one job at a time, both take turns.
func (l *Loader) lists(free int) [][]string {
	halves := map[string]bool{}
	for _, g := range l.groups {
		for _, name := range g {
			halves[name] = true
		}
	}
	ready := map[string]bool{}
	var fresh, refused []string
	for _, f := range l.book.files {
		switch {
		case !f.stored || f.job != "":
			continue
		case halves[f.Name]:
		case f.refused < 0:
			fresh = append(fresh, f.Name)
		default:
			refused = append(refused, f.Name)
		}
		ready[f.Name] = true
	}
	var suspects [][]string
	for _, g := range l.groups {
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

// advance starts jobs and asks for those that run.
func (l *Loader) advance(ctx context.Context) error {
	l.mu.Lock()
	plans := slices.Clone(l.book.plans)
	l.mu.Unlock()
	var errs []error
	for _, p := range plans {
		if !p.started {
			if err := l.start(ctx, p); err != nil {
				errs = append(errs, err)
				continue
			}
			l.mu.Lock() // a Write may be copying the plans
			p.started = true
			l.mu.Unlock()
			l.load.step("started")
		}
		errs = append(errs, l.ask(ctx, p))
	}
	return errors.Join(errs...)
}

// ask finds out whether a job has ended, and acts on it.
func (l *Loader) ask(ctx context.Context, p *loadPlan) error {
	within, cancel := context.WithTimeout(ctx, l.opts.answerWithin)
	defer cancel()
	job, err := l.rest.loadJob(within, l.opts.Dataset, p.ID, l.location)
	if err != nil {
		return fmt.Errorf("ask for job %s: %w", p.ID, err)
	}
	if job.Status.State != "DONE" {
		return nil
	}
	l.load.step("done")
	if e := job.Status.ErrorResult; e != nil {
		return l.failed(ctx, p, e)
	}
	return l.loaded(ctx, p, job)
}

// loaded ends a job that has done its work. Its objects and files are of no use
// any more; were they to stay, nothing would load them again.
func (l *Loader) loaded(ctx context.Context, p *loadPlan, job *Job) error {
	l.mu.Lock()
	rows := 0
	for _, f := range l.book.named(p.Files) {
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
		return ctx.Err() // the next start asks for the job and goes on with them
	}
	l.load.step("removed objects")
	// On a full disk they make room for the note. While it is missing the job is asked
	// again, and not its files.
	for _, name := range p.Files {
		_ = os.Remove(l.path(name)) // else a start does
	}
	l.load.step("removed files")
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.book.note(&bookLine{At: l.now(), Loaded: p.ID}, false); err != nil {
		return l.fail("write the journal", nil, err)
	}
	l.load.step("ended")
	l.ungroup(p.Files)
	l.stats.Loads++
	l.stats.LoadedRows += int64(rows)
	l.stats.ObjectsLeft += int64(left)
	if l.trouble != nil {
		l.trouble = nil
		l.watch(nil)
	}
	return l.compare(p, job, rows)
}

// compare tells if the service has stored another number of rows than were sent.
func (l *Loader) compare(p *loadPlan, job *Job, rows int) error {
	stored, known := job.outputRows()
	if !known || stored == int64(rows) {
		return nil
	}
	l.stats.UnknownRows += max(stored-int64(rows), int64(rows)-stored)
	return fmt.Errorf("job %s stored %d rows of %d", p.ID, stored, rows)
}

// finish loads what is spooled, as far as the context lets it.
func (l *Loader) finish(ctx context.Context) {
	for ctx.Err() == nil {
		if err := l.Round(ctx, true); err != nil {
			return
		}
		l.mu.Lock()
		left := len(l.book.files)
		l.mu.Unlock()
		if left == 0 || !pause(ctx, l.load.pollEvery/4) {
			return
		}
	}
}
