package warehouse

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exporterhelper/xexporterhelper"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/multierr"
	"go.uber.org/zap"

	"github.com/corehour/corehour/internal/bigquery"
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/parquet"
)

// sink is the store. A write commits all items or none, skips those that are
// committed already, and says with parquet.ErrUnknown if it does not know what
// became of them.
type sink interface {
	Write(ctx context.Context, items []methodspan.Item) (parquet.Result, error)
	Committed(id string) bool
	Remembered() (runs int, dropped int64)
	Close() error
}

type opener func(cfg *Config) (sink, error)

// warehouse is the exporter: the stock helper with its queue, between an
// entrance that takes everything and a writer that gives nothing up silently.
type warehouse struct {
	cfg       *Config
	logger    *zap.Logger
	telemetry *telemetry
	converter *methodspan.Converter
	inner     exporter.Traces
	open      opener
	sink      atomic.Pointer[sink]
	host      component.Host

	taken  *taken
	doubts doubts
	folder *folder
	writer writer
	health health

	// gate is closed, with stopped set, before the queue is drained, so that
	// nothing enters it afterwards.
	gate    sync.RWMutex
	stopped bool
	// stopping is closed when a shutdown begins; run ends at its deadline.
	stopping  chan struct{}
	run       context.Context
	cancelRun context.CancelFunc
	loop      sync.WaitGroup
	// stopMaintenance ends maintenance, between two steps or within one.
	stopMaintenance context.CancelFunc
}

func newWarehouse(ctx context.Context, set exporter.Settings, cfg *Config, open opener) (*warehouse, error) {
	set.Logger = quiet(set.Logger)
	t, err := newTelemetry(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	w := &warehouse{
		cfg: cfg, logger: set.Logger, telemetry: t, open: open,
		converter: methodspan.NewConverter(),
		taken:     newTaken(),
		folder:    newFolder(cfg.Fold.MaxCells),
		stopping:  make(chan struct{}),

		stopMaintenance: func() {},
	}
	w.converter.ReuseRows(int(cfg.Queue.Batch.Get().MinSize))
	w.run, w.cancelRun = context.WithCancel(context.Background())
	w.writer.warehouse = w
	if err := t.observe(w); err != nil {
		return nil, err
	}
	w.inner, err = xexporterhelper.NewTracesRequest(ctx, set, takeRequest, w.push, w.helperOptions()...)
	if err != nil {
		t.builder.Shutdown()
		return nil, err
	}
	return w, nil
}

func (w *warehouse) helperOptions() []exporterhelper.Option {
	options := []exporterhelper.Option{
		xexporterhelper.WithQueueBatch(configoptional.Some(w.cfg.Queue), xexporterhelper.QueueBatchSettings{Encoding: encoding{w.telemetry.damaged}}),
		// Retrying is ours, so the helper must not limit how long it takes.
		exporterhelper.WithTimeout(exporterhelper.TimeoutConfig{Timeout: 0}),
	}
	if w.cfg.Queue.StorageID != nil {
		// A stored request stays stored if its write ends, at a shutdown, with an
		// error that the helper's retry knows. It never retries: all our other
		// errors are permanent, and the interval is longer than any shutdown.
		never := configretry.NewDefaultBackOffConfig()
		never.InitialInterval, never.MaxInterval, never.MaxElapsedTime = 24*time.Hour, 24*time.Hour, 0
		options = append(options, exporterhelper.WithRetry(never))
	}
	return options
}

// Capabilities: rows are made of the spans' strings, the spans are left alone.
func (w *warehouse) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: false}
}

// Start opens the store, so that what is wrong with it stops the collector.
func (w *warehouse) Start(ctx context.Context, host component.Host) error {
	s, err := w.open(w.cfg)
	if err != nil {
		return err
	}
	// No fault: a file that is merged over another can't take its path out.
	if w.cfg.BigQuery.HasValue() && w.cfg.Path != defaultPath {
		w.logger.Info("Rows go to BigQuery: the option path has no effect.", zap.String("path", w.cfg.Path))
	}
	w.host = host
	w.sink.Store(&s)
	_, loads := s.(*bigquery.Loader)
	p, files := s.(interface{ Recovered() parquet.Recovery })
	w.writer.recycles = files || loads
	if files {
		if r := p.Recovered(); r != (parquet.Recovery{}) {
			w.logger.Info("Finished what the last run of the collector had left over.", zap.String("path", w.cfg.Path),
				zap.Int("files_adopted", r.FilesAdopted), zap.Int64("rows_adopted", r.RowsAdopted),
				zap.Int("files_removed", r.FilesRemoved), zap.Int("unfinished_files_removed", r.TmpRemoved))
		}
	}
	if l, ok := s.(interface{ Watch(func(error)) }); ok {
		l.Watch(w.loads)
	}
	if err := w.inner.Start(ctx, host); err != nil {
		w.sink.Store(nil)
		return multierr.Append(err, s.Close())
	}
	w.startUploads()
	w.loop.Go(w.flushFolded)
	if w.cfg.Maintenance.Enabled && !w.cfg.BigQuery.HasValue() {
		var maintenance context.Context
		maintenance, w.stopMaintenance = context.WithCancel(context.Background())
		w.loop.Go(func() { w.maintain(maintenance) })
	}
	return nil
}

var errStopped = errors.New("the warehouse exporter is shut down")

// ConsumeTraces takes the method spans of a request: into the queue, or folded
// if the queue refuses them.
func (w *warehouse) ConsumeTraces(ctx context.Context, td ptrace.Traces) error {
	w.gate.RLock()
	defer w.gate.RUnlock()
	if w.stopped || w.sink.Load() == nil {
		return errStopped
	}
	items, skipped := w.converter.Items(td)
	w.telemetry.skipped(skipped)
	for i := range items {
		forgetIDs(items[i].Rows, w.cfg.IDs)
	}
	now := time.Now()
	for i, req := range split(items, partSize(w.cfg.Queue.QueueSize)) {
		req, err := w.fresh(req, now)
		if err != nil {
			w.telemetry.offerRefused(refusalOf(err))
			return err
		}
		if req == nil {
			continue
		}
		// A request that the queue has taken may be merged at once: only one
		// that it has refused is still ours.
		ids := idsOf(req.items)
		err = w.inner.ConsumeTraces(withRequest(ctx, req), ptrace.NewTraces())
		if err == nil {
			w.taken.accept(ids...)
			continue
		}
		w.telemetry.offerRefused(refusalOf(err))
		if w.cfg.OnFull == Reject && i == 0 {
			w.taken.release(ids...)
			return err
		}
		items, repeats := w.taken.sumRefused(req.items, now)
		w.repeated(repeats)
		w.fold(items, causeRefused)
	}
	return nil
}

var errOffered = errors.New("the same spans are being offered to the queue, which may refuse them: send them again")

// fresh drops the items that were taken before; nil if none is left. Where a refusal goes
// to the client, a repeat must not be answered before the item that it repeats.
func (w *warehouse) fresh(req *request, now time.Time) (*request, error) {
	left := req.items[:0]
	rows := 0
	for _, item := range req.items {
		if w.taken.add(item.ID, now) {
			left = append(left, item)
			rows += len(item.Rows)
			continue
		}
		mine := func(other methodspan.Item) bool { return other.ID == item.ID }
		if w.cfg.OnFull == Reject && w.taken.offered(item.ID) && !slices.ContainsFunc(left, mine) {
			w.taken.release(idsOf(left)...)
			return nil, errOffered
		}
		w.telemetry.duplicates(len(item.Rows))
	}
	if len(left) == 0 {
		return nil, nil
	}
	return &request{left, rows}, nil
}

// repeated counts items of which another copy is on its way.
func (w *warehouse) repeated(items []methodspan.Item) {
	for i := range items {
		w.telemetry.duplicates(len(items[i].Rows))
	}
}

// refusalOf names the reason for which the queue refused.
func refusalOf(err error) string {
	if errors.Is(err, exporterhelper.ErrQueueIsFull) {
		return "full"
	}
	return "other"
}

// fold adds items up that can't be stored one by one. Those that turn out to be
// stored are left out, and repeats of those that may be: these were counted when they
// were given up.
func (w *warehouse) fold(items []methodspan.Item, cause string) {
	s := *w.sink.Load()
	left := make([]methodspan.Item, 0, len(items))
	for _, item := range items {
		// In this order: a doubt ends once the store can tell.
		if w.doubts.has(item.ID) || s.Committed(item.ID) {
			w.telemetry.duplicates(len(item.Rows))
			w.taken.settle(item.ID)
			continue
		}
		left = append(left, item)
	}
	result := w.folder.add(left)
	w.telemetry.folded(result, cause)
	w.taken.settle(result.forgotten...)
}

func idsOf(items []methodspan.Item) []string {
	ids := make([]string, 0, len(items))
	for i := range items {
		ids = append(ids, items[i].ID)
	}
	return ids
}

// Shutdown writes what is queued until the deadline, folds the rest and writes
// the sums last. It may be called without Start and more than once.
func (w *warehouse) Shutdown(ctx context.Context) error {
	w.gate.Lock()
	if w.stopped {
		w.gate.Unlock()
		return nil
	}
	w.stopped = true
	w.gate.Unlock()

	deadline := time.Now().Add(w.cfg.ShutdownTimeout)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	timer := time.AfterFunc(time.Until(deadline), w.cancelRun)
	close(w.stopping)
	w.stopMaintenance()
	err := w.inner.Shutdown(ctx)
	w.loop.Wait()
	timer.Stop()
	w.cancelRun()
	if s := w.sink.Load(); s != nil {
		w.writer.finish()
		err = multierr.Append(err, (*s).Close())
	}
	w.telemetry.builder.Shutdown()
	return err
}
