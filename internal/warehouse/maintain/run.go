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

// Job describes one run of maintenance.
type Job struct {
	Root   string
	Policy Policy
	// Parquet are the options of the store; its clock is the job's.
	Parquet table.Options
	// DryRun lists the steps without taking them. Steps that would depend on the result of another
	// step are not listed.
	DryRun bool
	// Done, if not nil, is called after every step.
	Done func(Step)
	// RowsInMemory bounds the rows in memory, a row group of every open file. Removing ids holds
	// up to RowsInMemory rows at about 70 bytes each; merging holds four times as many of them,
	// and takes more steps for more rows. A rollup or the removal of a service holds twice as many
	// whole rows, at about 400 bytes each. Rows with histograms count as several. 0 is
	// DefaultRowsInMemory.
	RowsInMemory int64
	// Fetch, if not nil, downloads files before they are read, for a directory that does not hold
	// all of them. The files stay until done is called.
	Fetch func(ctx context.Context, files []parquet.File) (done func(), err error)
	// FetchBytes is the maximum size of the files of one Fetch, 0 for no limit. Steps take as many
	// files as fit, and a date that does not fit is not rolled up.
	FetchBytes int64
}

// Result reports the steps of a run.
type Result struct {
	Steps []Step `json:"steps"`
	// Others are other services in the files that were searched for a service. It can have
	// duplicates.
	Others []string `json:"-"`
	// Kept counts the rows that a rollup did not aggregate, because their method has too many
	// namespaces and environments.
	Kept int64 `json:"kept_rows,omitempty"`
	// Hostless counts the process rows whose sums do not name their host, because their date has
	// too many hosts. Their processes are billed by process.
	Hostless int64 `json:"process_rows_without_host,omitempty"`
	// Impossible lists the services and files with impossible numbers.
	Impossible []Impossible `json:"impossible,omitempty"`
	// Removed counts the files of earlier runs that were deleted.
	Removed int `json:"removed_files"`
	// Bytes is the size of the warehouse after the run, Doomed the size of the files that are
	// deleted when the grace of their readers is over.
	Bytes  int64 `json:"bytes"`
	Doomed int64 `json:"doomed_bytes"`
}

// Join adds the result of another run, such as one on another prefix of a bucket.
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

// Run takes all steps that are due, oldest dates first. It goes on after a date that fails and
// returns all errors joined. The error is of kind warehouse.ErrLocked if another run is in
// progress.
func (j *Job) Run(ctx context.Context) (*Result, error) {
	return j.with(func(r *runner) error {
		dates, err := r.m.Dates()
		if err != nil {
			return err
		}
		if dates, err = r.drop(dates); err != nil {
			return err
		}
		// Pre-aggregated rollups come last, because only query time depends on them.
		err = r.each(ctx, dates, r.maintainDate)
		if hopeless(ctx, err) {
			return err
		}
		return errors.Join(err, r.each(ctx, dates, r.preaggregate))
	})
}

// runner is one run in progress.
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

// fetched fetches a file and returns the result of has.
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

// withDates calls do for every date of the warehouse.
func (j *Job) withDates(ctx context.Context, do func(*runner, *table.Date) error) (*Result, error) {
	return j.with(func(r *runner) error {
		dates, err := r.m.Dates()
		if err != nil {
			return err
		}
		return r.each(ctx, dates, func(_ context.Context, d *table.Date) error { return do(r, d) })
	})
}

// each calls do for every date. It goes on after a date that fails, unless the error is hopeless.
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

// hopeless reports whether all further steps would fail too.
func hopeless(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, warehouse.ErrFull) || errors.Is(err, warehouse.ErrUnknown)
}

// drop drops the dates that are expired or exceed the limits of the disk, and returns the others.
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

// dropSums drops the pre-aggregated rollups of dates and returns their size.
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

// maintainDate takes all steps that are due for a date.
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
			// Its rows stay as they are; other steps need fewer files at once.
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

// roll replaces all files of a date that are not coarser than level by one rollup.
func (r *runner) roll(ctx context.Context, d *table.Date, action Action, level string) error {
	files := notCoarser(d.Files, level)
	if err := r.tooLarge(d.Date, files); err != nil {
		return err
	}
	files, err := r.prepare(ctx, d, level)
	if err != nil {
		return err
	}
	var overflow rollupOverflow
	err = r.replace(ctx, d, action, files, func(files []parquet.File) (file parquet.File, err error) {
		file, overflow, err = roll(ctx, rollupTarget{put: r.m.Replace, until: methodspan.Until(r.now)}, d.Date, files, level)
		return file, err
	})
	if err == nil {
		r.report.Kept += overflow.kept
		r.report.Hostless += overflow.hostless
	}
	return err
}

// prepare merges files of a date until all files that are not coarser than level can be read at
// the same time, and returns these files. A rollup needs that, because weights are computed from
// all raw rows of a date.
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

// preaggregate writes a pre-aggregated hourly rollup of a date, if it is due. Queries do not need
// it, so a date that does not fit into memory or into the directory is skipped.
func (r *runner) preaggregate(ctx context.Context, d *table.Date) error {
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
		// The overflow is not reported, because the rows stay stored.
		file, _, err := roll(ctx, rollupTarget{put: r.m.AddPreaggregated, named: true, until: methodspan.Until(r.now), most: max(rowsOf(files)/worthwhile, fewSums)}, d.Date, files, methodspan.LevelHour)
		return file, err
	})
	if errors.Is(err, errTooMany) {
		return r.m.WithoutSums(d.Date, files)
	}
	return err
}

// tooLarge returns an error if the files of a date cannot be fetched at once.
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

// merge replaces several files of one level by one with the same rows. Rows keep their item and
// place in it, by which repeats are recognised.
func (r *runner) merge(ctx context.Context, d *table.Date, files []parquet.File) error {
	return r.replace(ctx, d, Merge, files, func(files []parquet.File) (parquet.File, error) {
		return r.m.Merge(ctx, d.Date, files, output(files, haveNoIDs(files)))
	})
}

// replace takes a step that replaces several files by one.
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

// step takes one step: do writes one file from several.
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
