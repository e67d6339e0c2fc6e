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

// Loader stores rows by load jobs: a Write puts them into files on the local disk,
// from where they go to a bucket, and from there into the table, a few minutes
// later. Its methods may be called concurrently.
type Loader struct {
	common
	load     LoadOptions
	rest     *REST
	bucket   *bucket
	location string // of the table

	wake    chan struct{}
	stop    context.CancelFunc
	running sync.WaitGroup
	round   sync.Mutex // held for a round
	backoff int        // rounds that failed in a row

	mu       sync.Mutex // of lockFile too
	book     *book
	encoder  *parquet.ExchangeEncoder
	nextLoad time.Time
	// groups are halves of jobs that were refused.
	groups  [][]string
	turn    int
	stats   Stats
	buried  int64 // bytes of files that were given up
	trouble error // of the last round that failed, until a job succeeds
	watch   func(error)
}

// NewLoader opens the directory, makes sure of table and bucket, and goes on with
// what the last run left. It fails with a *warehouse.Error.
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
	if err := nothingPending(l.opts.Directory); err != nil {
		return err
	}
	if l.book, err = openBook(l.opts.Directory, l.intake); err != nil {
		return l.fail("read the journal", warehouse.ErrCorrupt, err)
	}
	if err := l.book.fill(l.opts.Dataset.table()); err != nil {
		return err
	}
	if err := l.recover(); err != nil {
		return err
	}
	credentials := sourceOf(l.opts.Credentials)
	if l.rest, err = NewREST(l.opts.Endpoints, credentials); err != nil {
		return err
	}
	if l.bucket, err = openBucket(l.opts.Endpoints, l.load.Bucket, l.load.Prefix, credentials); err != nil {
		return err
	}
	if err := l.opts.prepare(ctx, l.rest); err != nil {
		return err
	}
	if l.location, err = l.rest.loadable(ctx, l.opts.Dataset); err != nil {
		return err
	}
	return l.bucket.probe(ctx)
}

// Write spools the items it is given: when it returns they are on the local disk
// and will be loaded. See table.Writer.Write for what its errors mean.
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
	line := &bookLine{At: l.now(), Files: files, Items: batch.IDs}
	if err := l.book.note(line, true); err != nil {
		if l.book.torn { // a start may find the line, so its files stay
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

// Stats tells what happened so far, and what waits.
func (l *Loader) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stats
	if l.book != nil {
		s.SpoolBytes, s.SpoolRows, s.LoadsRunning = l.book.bytes, l.book.rows, int64(len(l.book.plans))
		if len(l.book.files) > 0 {
			s.SpooledSince = l.book.files[0].At
		}
	}
	return s
}

// Watch has changes of Trouble told to f: an error when loading begins to fail,
// nil when it works again.
func (l *Loader) Watch(f func(error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watch = f
	if l.trouble != nil {
		f(l.trouble)
	}
}

// Close loads what is spooled if that is quick, and releases the directory. What
// is left is loaded after the next start. It may be called more than once.
func (l *Loader) Close() error {
	l.stop()
	l.running.Wait()
	l.mu.Lock()
	open, waiting := l.lockFile != nil, l.book != nil && len(l.book.files) > 0
	l.mu.Unlock()
	if !open {
		return nil
	}
	if waiting {
		ctx, cancel := context.WithTimeout(context.Background(), l.load.closeWithin)
		l.finish(ctx)
		cancel()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return multierr.Append(l.book.compact(), l.release())
}

func (l *Loader) release() error {
	var errs error
	if l.book != nil && l.book.file != nil {
		errs = multierr.Append(errs, l.book.file.Close())
		l.book.file = nil
	}
	if l.lockFile != nil {
		errs = multierr.Append(errs, l.lockFile.Close())
		l.lockFile = nil
	}
	return errs
}

// path is where a spooled file is.
func (l *Loader) path(name string) string { return filepath.Join(l.opts.Directory, "spool", name) }

// deadPath is where a file is that was given up.
func (l *Loader) deadPath(name string) string { return filepath.Join(l.opts.Directory, "dead", name) }
