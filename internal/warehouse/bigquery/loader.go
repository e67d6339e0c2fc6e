package bigquery

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.uber.org/multierr"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/parquet"
)

// Loader stores rows by load jobs. A Write puts them into files on the local disk. From there they
// go to a bucket and then into the table, a few minutes later. Its methods may be called
// concurrently.
type Loader struct {
	common
	load     LoadOptions
	rest     *REST
	bucket   *bucket
	location string // of the table

	wake    chan struct{}
	stop    context.CancelFunc
	running sync.WaitGroup
	round   sync.Mutex // held during a round
	backoff int        // failed rounds in a row

	mu       sync.Mutex // also guards lockFile
	journal  *loadJournal
	encoder  *parquet.ExchangeEncoder
	nextLoad time.Time
	// refusedGroups are the halves of refused jobs.
	refusedGroups [][]string
	turn          int
	stats         Stats
	deadBytes     int64 // of files that were given up
	loadError     error // of the last failed round, nil once a job has succeeded
	watch         func(error)
}

// NewLoader opens the directory, prepares the table, checks the bucket, and resumes the work of the
// last run. Its errors are of type *warehouse.Error.
func NewLoader(ctx context.Context, opts Options, load LoadOptions) (*Loader, error) {
	opts, load = opts.withDefaults(), load.withDefaults()
	if err := errors.Join(opts.Dataset.Check(), load.check()); err != nil {
		return nil, err
	}
	intake, err := warehouse.NewIntake(opts.Intake)
	if err != nil {
		return nil, err
	}
	l := &Loader{
		common: common{opts: opts, intake: intake}, load: load, encoder: parquet.NewExchangeEncoder(),
		wake: make(chan struct{}, 1), stop: func() {}, watch: func(error) {},
	}
	if err := l.open(ctx); err != nil {
		return nil, multierr.Append(err, l.release())
	}
	l.nextLoad = l.now().Add(load.Interval)
	if !load.byHand {
		run, stop := context.WithCancel(context.Background())
		l.stop = stop
		l.running.Go(func() { l.loadRounds(run) })
	}
	return l, nil
}

func (l *Loader) open(ctx context.Context) error {
	for _, dir := range []string{l.opts.Directory, l.path(""), l.deadPath("")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return l.fail("create directory", nil, err)
		}
	}
	var err error
	if l.lockFile, err = warehouse.LockDirectory(l.opts.Directory); err != nil {
		return err
	}
	if err := checkNothingPending(l.opts.Directory); err != nil {
		return err
	}
	if l.journal, err = openLoadJournal(l.opts.Directory, l.intake); err != nil {
		return l.fail("read the journal", warehouse.ErrCorrupt, err)
	}
	if err := l.journal.setTable(l.opts.Dataset.table()); err != nil {
		return err
	}
	if err := l.reconcileSpool(); err != nil {
		return err
	}
	credentials := credentialSource(l.opts.Credentials)
	if l.rest, err = NewREST(l.opts.Endpoints, credentials); err != nil {
		return err
	}
	if l.bucket, err = openBucket(l.opts.Endpoints, l.load.Bucket, l.load.Prefix, credentials); err != nil {
		return err
	}
	if err := l.opts.prepare(ctx, l.rest); err != nil {
		return err
	}
	if l.location, err = l.rest.checkLoadable(ctx, l.opts.Dataset); err != nil {
		return err
	}
	return l.bucket.probe(ctx)
}

// Write spools items. When it returns, their rows are on the local disk and will be loaded.
// table.Writer.Write documents its errors.
func (l *Loader) Write(ctx context.Context, items []methodspan.Item) (warehouse.Result, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lockFile == nil {
		return warehouse.Result{}, l.fail("write", warehouse.ErrClosed, nil)
	}
	if err := ctx.Err(); err != nil {
		return warehouse.Result{}, l.fail("write", nil, err)
	}
	batch, res, refused := l.intake.Gather(items)
	if len(batch.IDs) == 0 {
		return res, multierr.Combine(refused...)
	}
	files, err := l.spool(batch.Rows)
	if err != nil {
		return warehouse.Result{}, err
	}
	line := &loadLine{At: l.now(), Files: files, Items: batch.IDs}
	if err := l.journal.record(line, true); err != nil {
		if l.journal.torn { // a start may find the line, so its files stay
			return warehouse.Result{}, l.fail("write the journal", warehouse.ErrUnknown, err)
		}
		l.unspool(files)
		return warehouse.Result{}, l.fail("write the journal", nil, err)
	}
	l.load.step("noted")
	for _, f := range files {
		res.Rows += f.Rows
		res.Bytes += f.Bytes
		res.Files++
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return res, multierr.Combine(refused...)
}

// Stats returns the counters since the start and the state of the spool.
func (l *Loader) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stats
	if l.journal != nil {
		s.SpoolBytes, s.SpoolRows, s.LoadsRunning = l.journal.bytes, l.journal.rows, int64(len(l.journal.plans))
		if len(l.journal.files) > 0 {
			s.SpooledSince = l.journal.files[0].At
		}
	}
	return s
}

// Watch registers f, which is called with an error when loading begins to fail and with nil when it
// works again.
func (l *Loader) Watch(f func(error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watch = f
	if l.loadError != nil {
		f(l.loadError)
	}
}

// Close tries for a short time to load the spooled rows, and releases the directory. Remaining rows
// are loaded after the next start. It may be called more than once.
func (l *Loader) Close() error {
	l.stop()
	l.running.Wait()
	l.mu.Lock()
	open, waiting := l.lockFile != nil, l.journal != nil && len(l.journal.files) > 0
	l.mu.Unlock()
	if !open {
		return nil
	}
	if waiting {
		ctx, cancel := context.WithTimeout(context.Background(), l.load.closeWithin)
		l.loadUntilEmpty(ctx)
		cancel()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return multierr.Append(l.journal.compact(), l.release())
}

func (l *Loader) release() error {
	var errs error
	if l.journal != nil && l.journal.file != nil {
		errs = multierr.Append(errs, l.journal.file.Close())
		l.journal.file = nil
	}
	if l.lockFile != nil {
		errs = multierr.Append(errs, l.lockFile.Close())
		l.lockFile = nil
	}
	return errs
}

// path returns the path of a spooled file.
func (l *Loader) path(name string) string { return filepath.Join(l.opts.Directory, "spool", name) }

// deadPath returns the path of a file that was given up.
func (l *Loader) deadPath(name string) string { return filepath.Join(l.opts.Directory, "dead", name) }
