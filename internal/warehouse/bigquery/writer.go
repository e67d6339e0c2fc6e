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
	// Invalid means that the service does not accept the row. The row is in the file of dead
	// letters.
	Invalid warehouse.Reason = "invalid"
	// TooLarge means that the row does not fit into a request.
	TooLarge warehouse.Reason = "too_large"
)

// Stats are counters since the writer was opened, and the state of a Loader's spool.
type Stats struct {
	Reconnects         int64 // broken calls that were made again
	DeadLetters        int64 // rows in the file of dead letters
	DeadLettersDropped int64 // rows for which the file had no room
	// UnknownRows may or may not be stored and are not sent again: their stream is gone.
	UnknownRows int64

	// The fields below are set by a Loader only.
	SpoolBytes, SpoolRows int64     // rows that wait to be loaded
	SpooledSince          time.Time // time of the oldest of them; zero if none waits
	LoadsRunning          int64
	Loads, LoadsFailed    int64
	LoadedRows            int64
	ObjectsLeft           int64 // objects that could not be deleted
}

// Writer stores rows through the Storage Write API, on a committed stream of its own. Its methods
// may be called concurrently; one write runs at a time.
type Writer struct {
	common

	reconnects, kept, dropped, unknown atomic.Int64

	mu      sync.Mutex // also guards lockFile
	journal *journal
	channel *grpc.ClientConn
	client  storagepb.BigQueryWriteClient
	restAPI *REST
	conn    *connection
	encoder encoder
	stream  string // "" until one is created
	offset  int64  // of the next row in the stream
	pending *pending
}

// NewWriter opens the directory, prepares the table, and settles the last request of the previous
// run. Its errors are of type *warehouse.Error, and of kind ErrLocked if another process uses the
// directory.
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
	if err := checkNothingSpooled(w.opts.Directory); err != nil {
		return err
	}
	if w.journal, err = openJournal(w.opts.Directory, w.intake); err != nil {
		return w.fail("read the journal", warehouse.ErrCorrupt, err)
	}
	source := credentialSource(w.opts.Credentials)
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
	if w.journal.openIntent == nil {
		return nil
	}
	if err := w.settleOpenIntent(ctx); err != nil {
		return err
	}
	return w.journal.compact()
}

// settleOpenIntent finds out whether the last request of the previous run is stored.
func (w *Writer) settleOpenIntent(ctx context.Context) error {
	in, done := w.journal.openIntent, true
	if in.Stream != "" { // else the request had no rows to send
		n, known, err := w.finalize(ctx, in.Stream)
		if err != nil {
			return w.fail("ask how far the last run got", nil, err)
		}
		if !known {
			w.unknown.Add(int64(in.Rows))
		}
		// Rows of unknown outcome are not sent again: a repeat could store them twice.
		done = !known || n >= in.Offset+int64(in.Rows)
	}
	if done {
		w.keepLetters(in.Letters)
	}
	w.journal.openIntent = nil
	w.journal.end(in, done)
	return nil
}

// Write stores items. table.Writer.Write documents its errors. If it fails after a part was stored,
// the error is of kind ErrUnknown too; Items then lists the given items that may be stored. The
// result counts the rows that the service refused in stored requests.
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
		return t.failure(w.unknownOutcome(items, false, err))
	}
	given, skipped := items, w.storedRows(items)
	written := w.rowsInTable(skipped)
	items = w.unstoredRows(items)
	batch, res, refused := w.intake.Gather(items)
	t.res, t.errs = res, refused
	cut := &requestBuilder{encoder: &w.encoder, items: acceptedItems(items, batch), rows: batch.Rows, skipped: skipped, limit: w.opts.requestBytes, tooLargeLetter: w.tooLargeLetter}
	wrote := false
	for r := cut.next(); r != nil; r = cut.next() {
		if err := w.storeRequest(ctx, r, t); err != nil {
			return t.failure(w.unknownOutcome(given, wrote, err))
		}
		wrote = true
	}
	t.res.Rows += written // an earlier write stored them and failed, so it did not count them
	return t.success()
}

// storeRequest sends one request and finds out its outcome.
func (w *Writer) storeRequest(ctx context.Context, r *request, t *writeResult) error {
	if len(r.ends) > 0 {
		return w.storeAsNewIntent(ctx, r, t)
	}
	in := w.newIntent(r)
	in.Stream = "" // there are no rows to send
	if err := w.journal.begin(in); err != nil {
		return w.fail("write the journal", nil, err)
	}
	w.finishRequest(r, in, t)
	return nil
}

func (w *Writer) newIntent(r *request) *intent {
	return &intent{At: w.now(), Stream: w.stream, Offset: w.offset, Rows: len(r.ends), Items: r.ids, Part: r.part, Stored: r.partRows, Refused: w.refusedOfPart(r), Letters: encodedLetters(r.letters)}
}

// finishRequest records that the items of a request are settled, and reports its refused rows. If a
// crash prevents it, the next start does it.
func (w *Writer) finishRequest(r *request, in *intent, t *writeResult) {
	w.keepLetters(in.Letters)
	w.dropped.Add(int64(len(r.letters) - len(in.Letters)))
	for _, l := range r.letters {
		t.addRefused(l.item, l.reason, l.detail)
	}
	w.journal.end(in, true)
}

// Stats returns the counters since the start.
func (w *Writer) Stats() Stats {
	return Stats{Reconnects: w.reconnects.Load(), DeadLetters: w.kept.Load(), DeadLettersDropped: w.dropped.Load(), UnknownRows: w.unknown.Load()}
}

// closeWithin bounds the request that Close sends.
const closeWithin = 5 * time.Second

// Close finalizes the stream and releases the directory. It may be called more than once.
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
			_, _, _ = w.finalize(ctx, w.stream) // if this fails, the service closes the stream later
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
