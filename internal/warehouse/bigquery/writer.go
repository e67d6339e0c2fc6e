package bigquery

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"go.uber.org/multierr"
	"google.golang.org/grpc"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
)

// Reasons for which BigQuery refuses a row, in addition to those of package warehouse.
const (
	// Invalid: the service does not take it; it is in the file of dead letters.
	Invalid warehouse.Reason = "invalid"
	// TooLarge: it does not fit into a request.
	TooLarge warehouse.Reason = "too_large"
)

// Stats are counters since the writer was opened.
type Stats struct {
	Reconnects         int64 // calls that broke and were made again
	DeadLetters        int64 // rows in the file
	DeadLettersDropped int64 // rows it had no room for
	// UnknownRows may or may not be stored and will not be sent again: the stream
	// that they went to is gone.
	UnknownRows int64

	// Of a Loader only.
	SpoolBytes, SpoolRows int64     // what waits to be loaded
	SpooledSince          time.Time // of the oldest of it; zero if nothing waits
	LoadsRunning          int64
	Loads, LoadsFailed    int64
	LoadedRows            int64
	ObjectsLeft           int64 // objects that could not be deleted
}

// Writer stores rows through the Storage Write API, on a committed stream of its
// own. Its methods may be called concurrently; writes happen one after the other.
type Writer struct {
	common

	reconnects, kept, dropped, unknown atomic.Int64

	mu      sync.Mutex // of lockFile too
	journal *journal
	channel *grpc.ClientConn
	client  storagepb.BigQueryWriteClient
	restAPI *REST
	conn    *connection
	encoder encoder
	stream  string // "" = to be made
	offset  int64  // of the next row in it
	pending *pending
}

// NewWriter opens the directory and makes sure that the table is there and has
// all columns. It fails with a *warehouse.Error, of kind ErrLocked if another
// process uses the directory.
func NewWriter(ctx context.Context, opts Options) (*Writer, error) {
	opts = opts.withDefaults()
	if err := opts.Dataset.Check(); err != nil {
		return nil, err
	}
	intake, err := warehouse.NewIntake(opts.Intake)
	if err != nil {
		return nil, err
	}
	w := &Writer{common: common{opts: opts, intake: intake}}
	if err := w.open(ctx); err != nil {
		return nil, multierr.Append(err, w.release())
	}
	return w, nil
}

func (w *Writer) open(ctx context.Context) error {
	if err := os.MkdirAll(w.opts.Directory, 0o755); err != nil {
		return w.fail("create directory", nil, err)
	}
	var err error
	if w.lockFile, err = warehouse.LockDirectory(w.opts.Directory); err != nil {
		return err
	}
	if err := nothingSpooled(w.opts.Directory); err != nil {
		return err
	}
	if w.journal, err = openJournal(w.opts.Directory, w.intake); err != nil {
		return w.fail("read the journal", warehouse.ErrCorrupt, err)
	}
	source := sourceOf(w.opts.Credentials)
	if w.restAPI, err = NewREST(w.opts.Endpoints, source); err != nil {
		return err
	}
	if err := w.opts.prepare(ctx, w.restAPI); err != nil {
		return err
	}
	if w.channel, err = dial(w.opts.Endpoints.Write, source); err != nil {
		return err
	}
	w.client = storagepb.NewBigQueryWriteClient(w.channel)
	if w.journal.open == nil {
		return nil
	}
	if err := w.settleOpen(ctx); err != nil {
		return err
	}
	return w.journal.compact()
}

// settleOpen finds out what became of the request that the last run sent last.
func (w *Writer) settleOpen(ctx context.Context) error {
	in, done := w.journal.open, true
	if in.Stream != "" { // there was something to send
		n, known, err := w.finalize(ctx, in.Stream)
		if err != nil {
			return w.fail("ask how far the last run got", nil, err)
		}
		if !known {
			w.unknown.Add(int64(in.Rows))
		}
		// What is not known is not sent again: a repeat would count twice.
		done = !known || n >= in.Offset+int64(in.Rows)
	}
	if done {
		w.bury(in.Letters)
	}
	w.journal.open = nil
	w.journal.end(in, done)
	return nil
}

// Write stores the items it is given; see table.Writer.Write for what its
// errors mean. One that fails when a part is stored is of kind ErrUnknown, too; its
// Items are those of the given ones that it is really about. Its result has the rows that
// the service refused of what is stored.
func (w *Writer) Write(ctx context.Context, items []methodspan.Item) (warehouse.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lockFile == nil {
		return warehouse.Result{}, w.fail("write", warehouse.ErrClosed, nil)
	}
	if err := ctx.Err(); err != nil {
		return warehouse.Result{}, w.unknownOutcome(items, false, w.fail("write", nil, err))
	}
	t := &writeResult{}
	if err := w.settlePending(ctx, t); err != nil {
		return t.failed(w.unknownOutcome(items, false, err))
	}
	given, skipped := items, w.storedRows(items)
	written := w.writtenBefore(skipped)
	items = w.rest(items)
	batch, res, refused := w.intake.Gather(items)
	t.res, t.errs = res, refused
	cut := &requestBuilder{encoder: &w.encoder, items: chosen(items, batch), rows: batch.Rows, skipped: skipped, limit: w.opts.requestBytes, tooLarge: w.tooLarge}
	wrote := false
	for r := cut.next(); r != nil; r = cut.next() {
		if err := w.store(ctx, r, t); err != nil {
			return t.failed(w.unknownOutcome(given, wrote, err))
		}
		wrote = true
	}
	t.res.Rows += written // which a write that failed did not count
	return t.done()
}

// store sends one request and makes sure of its outcome.
func (w *Writer) store(ctx context.Context, r *request, t *writeResult) error {
	if len(r.ends) > 0 {
		return w.again(ctx, r, t)
	}
	in := w.intentOf(r)
	in.Stream = "" // there is nothing to send
	if err := w.journal.begin(in); err != nil {
		return w.fail("write the journal", nil, err)
	}
	w.finish(r, in, t)
	return nil
}

func (w *Writer) intentOf(r *request) *intent {
	return &intent{At: w.now(), Stream: w.stream, Offset: w.offset, Rows: len(r.ends), Items: r.ids, Part: r.part, Stored: r.partRows, Refused: w.refusedOfPart(r), Letters: linesOf(r.letters)}
}

// finish notes that the items of a request are settled, and what was refused of them.
// A start does it if a crash comes before the end of it.
func (w *Writer) finish(r *request, in *intent, t *writeResult) {
	w.bury(in.Letters)
	w.dropped.Add(int64(len(r.letters) - len(in.Letters)))
	for _, l := range r.letters {
		t.refused(l.item, l.reason, l.detail)
	}
	w.journal.end(in, true)
}

// Stats tells what happened so far.
func (w *Writer) Stats() Stats {
	return Stats{Reconnects: w.reconnects.Load(), DeadLetters: w.kept.Load(), DeadLettersDropped: w.dropped.Load(), UnknownRows: w.unknown.Load()}
}

// closeWithin bounds what Close asks of the service.
const closeWithin = 5 * time.Second

// Close ends the stream and releases the directory. It may be called more than
// once.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lockFile == nil {
		return nil
	}
	var err error
	if w.pending == nil {
		err = w.journal.compact()
		if w.stream != "" {
			ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
			_, _, _ = w.finalize(ctx, w.stream) // else the service does, some day
			cancel()
		}
	}
	return multierr.Append(err, w.release())
}

func (w *Writer) release() error {
	if w.conn != nil {
		w.conn.close()
		w.conn = nil
	}
	var errs error
	if w.channel != nil {
		errs = multierr.Append(errs, w.channel.Close())
		w.channel = nil
	}
	if w.journal != nil && w.journal.file != nil {
		errs = multierr.Append(errs, w.journal.file.Close())
		w.journal.file = nil
	}
	if w.lockFile != nil {
		errs = multierr.Append(errs, w.lockFile.Close())
		w.lockFile = nil
	}
	return errs
}
