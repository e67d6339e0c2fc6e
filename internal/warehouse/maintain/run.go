package maintain

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// Job is what one run of maintenance does.
type Job struct {
	Root   string
	Policy Policy
	// Parquet are the options of the store; its clock is the job's.
	Parquet table.Options
	// DryRun lists the steps and takes none. What a step would leave is not known
	// then, and what would follow from it is not listed.
	DryRun bool
	// Done, if not nil, is called after every step.
	Done func(Step)
	// RowsInMemory bounds the rows in memory of files that are merged, a row group of
	// every file at some 70 bytes a row: as many while ids are left out, four times as
	// many while small files are merged, until they make a large one, and while files
	// are for a date to be added up; what is more is merged in more steps. Where a date
	// is added up or a service is taken out, twice as many whole rows are in memory, at
	// some 400 bytes each. Rows with histograms count as more. 0 is DefaultRowsInMemory.
	RowsInMemory int64
	// Fetch, if not nil, is asked for files before they are read, where the
	// directory need not hold all of them. They stay until done is called.
	Fetch func(ctx context.Context, files []parquet.File) (done func(), err error)
	// FetchBytes is how much Fetch brings at once, 0 for anything: a step takes fewer
	// files, and a date of more is not added up.
	FetchBytes int64
}

// Result is what a run did.
type Result struct {
	Steps []Step `json:"steps"`
	// Others are services that were met while rows of one were looked for, some of them
	// more than once.
	Others []string `json:"-"`
	// Kept counts the rows of dates that were added up which are as they were, because
	// their method has too many namespaces and environments.
	Kept int64 `json:"kept_rows,omitempty"`
	// Hostless counts the rows of processes whose sums do not name their host, because their
	// date has too many: they are billed by process.
	Hostless int64 `json:"process_rows_without_host,omitempty"`
	// Impossible says where numbers were that cannot be true.
	Impossible []Impossible `json:"impossible,omitempty"`
	// Removed counts the files of earlier runs that were deleted.
	Removed int `json:"removed_files"`
	// Bytes is the size of the warehouse afterwards, Doomed that of files which go
	// when the grace of their readers is over.
	Bytes  int64 `json:"bytes"`
	Doomed int64 `json:"doomed_bytes"`
}

// Join adds what another run did, as in another prefix of a bucket.
func (r *Result) Join(more *Result) {
	r.Steps = append(r.Steps, more.Steps...)
	r.Others = append(r.Others, more.Others...)
	r.Impossible = append(r.Impossible, more.Impossible...)
	r.Kept += more.Kept
	r.Hostless += more.Hostless
	r.Removed += more.Removed
	r.Bytes += more.Bytes
	r.Doomed += more.Doomed
}

// Run does what is due, oldest dates first. A date that fails does not keep the
// others from being looked after: all errors are returned together. It fails with
// an error of kind warehouse.ErrLocked if another run is under way.
func (j *Job) Run(ctx context.Context) (*Result, error) {
	return j.with(func(r *runner) error {
		dates, err := r.m.Dates()
		if err != nil {
			return err
		}
		if dates, err = r.drop(dates); err != nil {
			return err
		}
		// Sums can wait for what keeps the warehouse in shape.
		err = r.each(ctx, dates, r.maintainDate)
		if hopeless(ctx, err) {
			return err
		}
		return errors.Join(err, r.each(ctx, dates, r.lookForSums))
	})
}

// runner is a run under way.
type runner struct {
	*Job
	m      *table.Maintainer
	now    time.Time
	report Result
}

func (j *Job) fetch(ctx context.Context, files []parquet.File) (done func(), err error) {
	if j.Fetch == nil {
		return func() {}, nil
	}
	return j.Fetch(ctx, files)
}

// fetched reports what a file has that was fetched for it.
func (j *Job) fetched(ctx context.Context, f parquet.File, has func(parquet.File) (bool, error)) (bool, error) {
	done, err := j.fetch(ctx, []parquet.File{f})
	if err != nil {
		return false, err
	}
	defer done()
	return has(f)
}

func (j *Job) with(do func(*runner) error) (*Result, error) {
	if j.Fetch == nil {
		if err := table.Spooled(j.Root); err != nil {
			return &Result{Steps: []Step{}}, err
		}
	}
	m, err := table.NewMaintainer(j.Root, j.Parquet)
	if err != nil {
		return &Result{Steps: []Step{}}, err
	}
	r := &runner{Job: j, m: m, now: time.Now(), report: Result{Steps: []Step{}}}
	if j.Parquet.Now != nil {
		r.now = j.Parquet.Now()
	}
	err = do(r)
	r.report.Removed = m.Removed()
	var serr error
	r.report.Bytes, r.report.Doomed, serr = m.Size()
	return &r.report, errors.Join(err, serr, m.Close())
}

// withDates does something to every date of the warehouse.
func (j *Job) withDates(ctx context.Context, do func(*runner, *table.Date) error) (*Result, error) {
	return j.with(func(r *runner) error {
		dates, err := r.m.Dates()
		if err != nil {
			return err
		}
		return r.each(ctx, dates, func(_ context.Context, d *table.Date) error { return do(r, d) })
	})
}

// each does something to every date and goes on when one fails, unless nothing
// else can succeed.
func (r *runner) each(ctx context.Context, dates []table.Date, do func(context.Context, *table.Date) error) error {
	var errs []error
	for i := range dates {
		if err := do(ctx, &dates[i]); err != nil {
			errs = append(errs, err)
			if hopeless(ctx, err) {
				break
			}
		}
	}
	return errors.Join(errs...)
}

// hopeless reports whether nothing else can succeed either.
func hopeless(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, warehouse.ErrFull) || errors.Is(err, warehouse.ErrUnknown)
}

// drop drops the dates that are too old or that there is no room for.
func (r *runner) drop(dates []table.Date) ([]table.Date, error) {
	var expired []table.Date
	for i := range dates {
		d := &dates[i]
		if len(d.Files) > 0 && r.Policy.expired(d, r.now) || r.m.Forgotten(d) {
			expired = append(expired, dates[i])
		}
	}
	counting, doomed, err := r.m.Size()
	if err != nil {
		return nil, err
	}
	left := without(dates, expired)
	for i := range expired {
		counting -= bytesOf(&expired[i])
		doomed += bytesOf(&expired[i])
	}
	free, known := warehouse.FreeBytes(r.Root)
	if err := r.dropAll(Expire, expired); err != nil {
		return nil, err
	}
	var sums int64
	if r.Policy.over(counting, doomed, free, known) > 0 {
		if sums, err = r.dropSums(left); err != nil {
			return nil, err
		}
		counting, doomed = counting-sums, doomed+sums
	}
	shed := r.Policy.sheds(left, r.now, counting, doomed, free, known)
	if err := r.dropAll(Shed, shed); err != nil || r.DryRun {
		return without(left, shed), err
	}
	if len(expired)+len(shed) == 0 && sums == 0 {
		return dates, nil
	}
	return r.m.Dates() // some may have stayed, see Drop
}

// dropSums takes out what rows can do without, and tells how much it is.
func (r *runner) dropSums(dates []table.Date) (bytes int64, err error) {
	var with []table.Date
	for _, d := range dates {
		if d.Sums != nil && d.Sums.Rows > 0 {
			with = append(with, d)
		}
	}
	if len(with) == 0 {
		return 0, nil
	}
	if !r.DryRun {
		if err := r.m.DropSums(with); err != nil {
			return 0, err
		}
	}
	for _, d := range with {
		r.done(newStep(NoSums, d.Date, []parquet.File{d.Sums.File}))
		bytes += d.Sums.Bytes
	}
	for i := range dates {
		dates[i].Sums = nil
	}
	return bytes, nil
}

func (r *runner) dropAll(action Action, dates []table.Date) (err error) {
	if !r.DryRun {
		if dates, err = r.m.Drop(dates); err != nil {
			return err
		}
	}
	for _, d := range dates {
		r.done(newStep(action, d.Date, d.Files))
	}
	return nil
}

func without(dates, gone []table.Date) []table.Date {
	return slices.DeleteFunc(slices.Clone(dates), func(d table.Date) bool {
		return slices.ContainsFunc(gone, func(g table.Date) bool { return g.Date == d.Date })
	})
}

func (r *runner) done(s Step) {
	r.report.Steps = append(r.report.Steps, s)
	if r.Done != nil {
		r.Done(s)
	}
}

// maintainDate does to one date what is due, one thing after the other.
func (r *runner) maintainDate(ctx context.Context, d *table.Date) error {
	policy := r.Policy
	var tooLarge error
	for {
		action := policy.due(d, r.now)
		if action == "" || action == Merge && len(r.batch(small(d.Files), merging)) < 2 {
			return tooLarge
		}
		err := r.act(ctx, d, action)
		if rolls := action == Hour || action == Minute; rolls && errors.Is(err, warehouse.ErrTooLarge) {
			// Its rows stay as they are; what else is due to them takes less.
			policy.MinuteAfter, policy.HourAfter, tooLarge = 0, 0, err
			continue
		}
		if err != nil || r.DryRun {
			return errors.Join(tooLarge, err)
		}
	}
}

func (r *runner) act(ctx context.Context, d *table.Date, action Action) error {
	switch action {
	case Hour:
		return r.roll(ctx, d, action, methodspan.LevelHour)
	case Minute:
		return r.roll(ctx, d, action, methodspan.LevelMinute)
	case DropIDs:
		return r.replace(ctx, d, action, r.batch(withIDs(d.Files), stripping), func(files []parquet.File) (parquet.File, error) {
			return r.m.Merge(ctx, d.Date, files, output(files, true), ids...)
		})
	}
	return r.merge(ctx, d, r.batch(small(d.Files), merging))
}

// roll adds a date up. All its files go in, so that it has one file afterwards, but for
// coarser sums, which stay what they are.
func (r *runner) roll(ctx context.Context, d *table.Date, action Action, level string) error {
	files := notCoarser(d.Files, level)
	if err := r.tooLarge(d.Date, files); err != nil {
		return err
	}
	files, err := r.prepare(ctx, d, level)
	if err != nil {
		return err
	}
	var b beyond
	err = r.replace(ctx, d, action, files, func(files []parquet.File) (file parquet.File, err error) {
		file, b, err = roll(ctx, into{put: r.m.Replace, until: methodspan.Until(r.now)}, d.Date, files, level)
		return file, err
	})
	if err == nil {
		r.report.Kept += b.kept
		r.report.Hostless += b.hostless
	}
	return err
}

// prepare merges files of a date, as many as it takes until all that can be added up to a
// level can be read side by side, and lists these. Weights are made of all raw rows of a
// date at once, and only so many files can be read side by side.
func (r *runner) prepare(ctx context.Context, d *table.Date, level string) ([]parquet.File, error) {
	files := notCoarser(d.Files, level)
	for !r.DryRun && !r.fits(files, wholeRows) {
		some := r.asFewAsNeeded(files, r.batch(mostOfOneLevel(files), preparing))
		if len(some) < 2 {
			break
		}
		if err := r.merge(ctx, d, some); err != nil {
			return nil, err
		}
		files = notCoarser(d.Files, level)
	}
	return files, nil
}

// lookForSums keeps hourly rollups of the files of a date, if they are due. Queries can do
// without them, so a date that does not fit into memory, or into the directory, is left alone.
func (r *runner) lookForSums(ctx context.Context, d *table.Date) error {
	if !r.Policy.sumsDue(d, r.now) || !r.fetchable(notCoarser(d.Files, methodspan.LevelHour)) || r.DryRun && r.Policy.due(d, r.now) != "" {
		return nil
	}
	counting, doomed, err := r.m.Size()
	if err != nil {
		return err
	}
	free, known := warehouse.FreeBytes(r.Root)
	if !r.Policy.roomForSums(sizeOf(notCoarser(d.Files, methodspan.LevelHour)), counting, doomed, free, known) {
		return nil
	}
	files, err := r.prepare(ctx, d, methodspan.LevelHour)
	if err != nil || !r.DryRun && !(r.fits(files, wholeRows) && r.fetchable(files)) {
		return err
	}
	_, err = r.step(ctx, d, Sum, files, func(files []parquet.File) (parquet.File, error) {
		// Rows that could not be added up lose nothing by it, so nobody is notified of them.
		file, _, err := roll(ctx, into{put: r.m.AddPreaggregated, named: true, until: methodspan.Until(r.now), most: max(rowsOf(files)/worthwhile, fewSums)}, d.Date, files, methodspan.LevelHour)
		return file, err
	})
	if errors.Is(err, errTooMany) {
		return r.m.WithoutSums(d.Date, files)
	}
	return err
}

// tooLarge reports whether files of a date are more than can be fetched at once.
func (r *runner) tooLarge(date string, files []parquet.File) error {
	if r.fetchable(files) {
		return nil
	}
	return &warehouse.Error{Op: "add up", Path: filepath.Join(r.Root, "date="+date), Kind: warehouse.ErrTooLarge,
		Hint: fmt.Sprintf("its files have %d bytes, and %d may be on the local disk: raise the limit (`local_bytes` of a collector, `--cache-size` of a command); until then its rows stay as they are", sizeOf(files), r.FetchBytes)}
}

func mostOfOneLevel(files []parquet.File) []parquet.File {
	byLevel := map[string][]parquet.File{}
	var most []parquet.File
	for _, f := range files {
		same := append(byLevel[f.Level], f)
		byLevel[f.Level] = same
		if len(same) > len(most) {
			most = same
		}
	}
	return most
}

// merge makes one file of several of one level. It adds no rows: each keeps its place in its
// queue item, by which a repeat is recognised.
func (r *runner) merge(ctx context.Context, d *table.Date, files []parquet.File) error {
	return r.replace(ctx, d, Merge, files, func(files []parquet.File) (parquet.File, error) {
		return r.m.Merge(ctx, d.Date, files, output(files, haveNoIDs(files)))
	})
}

// replace takes one step that puts one file in the place of several.
func (r *runner) replace(ctx context.Context, d *table.Date, action Action, files []parquet.File, do func([]parquet.File) (parquet.File, error)) error {
	file, err := r.step(ctx, d, action, files, do)
	if err != nil || r.DryRun {
		return err
	}
	gone := func(path string) bool {
		return slices.ContainsFunc(files, func(f parquet.File) bool { return f.Path == path })
	}
	left := filter(d.Files, func(f parquet.File) bool { return !gone(f.Path) })
	if file.Rows > 0 {
		left = append([]parquet.File{file}, left...)
	}
	d.Files = left
	if d.Sums != nil && slices.ContainsFunc(d.Sums.Of, gone) {
		d.Sums = nil
	}
	return nil
}

// step takes one step: do makes one file of several.
func (r *runner) step(ctx context.Context, d *table.Date, action Action, files []parquet.File, do func([]parquet.File) (parquet.File, error)) (file parquet.File, err error) {
	if err := ctx.Err(); err != nil {
		return file, err
	}
	step := newStep(action, d.Date, files)
	if r.DryRun {
		r.done(step)
		return file, nil
	}
	begin := time.Now()
	fetched, err := r.fetch(ctx, files)
	if err != nil {
		return file, err
	}
	file, err = do(files)
	fetched()
	if err != nil {
		return file, err
	}
	step.OutRows, step.OutBytes, step.Seconds = file.Rows, file.Bytes, time.Since(begin).Seconds()
	r.done(step)
	return file, nil
}
