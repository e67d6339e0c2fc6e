package warehouse

import (
	"context"
	"errors"
	"fmt"
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

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/partialsuccess"
	"github.com/corehour/corehour/internal/shares"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/bigquery"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// opener opens the configured store. warn receives warnings that are no errors.
type opener func(cfg *Config, warn func(string)) (warehouse.Store, error)

// warehouseExporter is the exporter. It consists of ConsumeTraces, which accepts everything, the standard
// helper with its queue, and a writer that drops nothing silently.
type warehouseExporter struct {
	cfg       *Config
	logger    *zap.Logger
	telemetry *telemetry
	converter *methodspan.Converter
	inner     exporter.Traces
	open      opener
	sink      atomic.Pointer[warehouse.Store]
	host      component.Host

	items    *itemTable
	overflow *overflowTable
	writer   writer
	health   health

	// gate is closed, with stopped set, before the queue is drained, so that no request enters later.
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

func newWarehouse(ctx context.Context, set exporter.Settings, cfg *Config, open opener) (*warehouseExporter, error) {
	set.Logger = rateLimitLogs(set.Logger)
	t, err := newTelemetry(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	w := &warehouseExporter{
		cfg: cfg, logger: set.Logger, telemetry: t, open: open,
		converter: methodspan.NewConverter(),
		items:     newItemTable(),
		overflow:  newOverflowTable(cfg.Fold.MaxCells),
		stopping:  make(chan struct{}),

		stopMaintenance: func() {},
	}
	w.converter.ReuseRows(int(cfg.Queue.Batch.Get().MinSize))
	w.run, w.cancelRun = context.WithCancel(context.Background())
	w.writer.warehouseExporter = w
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

func (w *warehouseExporter) helperOptions() []exporterhelper.Option {
	options := []exporterhelper.Option{
		xexporterhelper.WithQueueBatch(configoptional.Some(w.cfg.Queue), xexporterhelper.QueueBatchSettings{Encoding: encoding{w.telemetry.damaged}}),
		// The exporter retries itself, so the helper must not limit the duration.
		exporterhelper.WithTimeout(exporterhelper.TimeoutConfig{Timeout: 0}),
	}
	if w.cfg.Queue.StorageID != nil {
		// A persistent queue keeps a request whose write ends, at a shutdown, with an error of the helper's
		// retry. The helper never retries here: all our other errors are permanent, and the interval exceeds
		// any shutdown.
		never := configretry.NewDefaultBackOffConfig()
		never.InitialInterval, never.MaxInterval, never.MaxElapsedTime = 24*time.Hour, 24*time.Hour, 0
		options = append(options, exporterhelper.WithRetry(never))
	}
	return options
}

// Capabilities reports that spans are not changed: rows only refer to their strings.
func (w *warehouseExporter) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: false}
}

// Start opens the store, so that an error of the store stops the collector.
func (w *warehouseExporter) Start(ctx context.Context, host component.Host) error {
	s, err := w.open(w.cfg, func(text string) { w.logger.Warn(text) })
	if err != nil {
		return err
	}
	// This is only a warning: a config file merged over another cannot remove its path.
	if w.cfg.BigQuery.HasValue() && w.cfg.Path != defaultPath {
		w.logger.Info("Rows go to BigQuery: the option path has no effect.", zap.String("path", w.cfg.Path))
	}
	w.host = host
	w.sink.Store(&s)
	_, loads := s.(*bigquery.Loader)
	p, files := s.(interface{ Recovered() table.Recovery })
	w.writer.recycles = files || loads
	if files {
		if r := p.Recovered(); r != (table.Recovery{}) {
			w.logger.Info("Finished what the last run of the collector had left over.", zap.String("path", w.cfg.Path),
				zap.Int("files_adopted", r.FilesAdopted), zap.Int64("rows_adopted", r.RowsAdopted),
				zap.Int("files_removed", r.FilesRemoved), zap.Int("unfinished_files_removed", r.TmpRemoved))
		}
	}
	if l, ok := s.(interface{ Watch(func(error)) }); ok {
		l.Watch(func(failure error) {
			w.report(loading, failure, "Loading into BigQuery fails. Rows wait on disk.", "Loading into BigQuery works again.")
		})
	}
	if err := w.inner.Start(ctx, w.guardQueue(host)); err != nil {
		w.sink.Store(nil)
		return multierr.Append(err, s.Close())
	}
	w.startUploads()
	w.loop.Go(w.flushOverflow)
	if w.cfg.Maintenance.Enabled && !w.cfg.BigQuery.HasValue() {
		var maintenance context.Context
		maintenance, w.stopMaintenance = context.WithCancel(context.Background())
		w.loop.Go(func() { w.maintain(maintenance) })
	}
	return nil
}

var errStopped = errors.New("the warehouse exporter is shut down")

// ConsumeTraces queues the method spans of a request, or aggregates them if the queue
// refuses them.
func (w *warehouseExporter) ConsumeTraces(ctx context.Context, td ptrace.Traces) error {
	w.gate.RLock()
	defer w.gate.RUnlock()
	if w.stopped || w.sink.Load() == nil {
		return errStopped
	}
	items, skipped := w.converter.Items(td)
	w.telemetry.skipped(skipped)
	items, err := w.admit(ctx, items)
	if err != nil {
		return err
	}
	for i := range items {
		forgetIDs(items[i].Rows, w.cfg.IDs)
	}
	now := time.Now()
	for _, refused := range warehouse.Misdated(items, time.Duration(w.cfg.Parquet.Late), time.Duration(w.cfg.Parquet.Future), now) {
		partialsuccess.Add(ctx, int64(refused.Rows), fmt.Sprintf("%s: the warehouse refuses %d rows: %s", refused.Reason, refused.Rows, refused.Detail))
	}
	for i, req := range split(items, partSize(w.cfg.Queue.QueueSize)) {
		req, err := w.fresh(req, now)
		if err != nil {
			w.telemetry.offerRefused(refusalOf(err))
			return err
		}
		if req == nil {
			continue
		}
		// An accepted request can already be merged with others. Only a refused one still belongs to us.
		ids := idsOf(req.items)
		err = w.inner.ConsumeTraces(withRequest(ctx, req), ptrace.NewTraces())
		if err == nil {
			w.items.accept(ids...)
			continue
		}
		w.telemetry.offerRefused(refusalOf(err))
		if w.cfg.OnFull == Reject && i == 0 {
			w.items.release(ids...)
			return err
		}
		items, duplicates := w.items.aggregateRefused(req.items, now)
		w.countDuplicates(duplicates)
		w.aggregateOverflow(items, causeRefused)
	}
	return nil
}

var errNoRoom = errors.New("no room to remember the batches of a new process: send it again later, or raise `parquet::remember_max`")

// admit drops the items of new processes whose ids find no room in the store's memory: a repeat of them, or
// of those forgotten instead, would be stored twice. If no item is left, the client may send them again.
func (w *warehouseExporter) admit(ctx context.Context, items []methodspan.Item) ([]methodspan.Item, error) {
	store, sender := *w.sink.Load(), shares.SenderOf(ctx)
	admitted, rows := items[:0], 0
	var last methodspan.ProcessKey
	for i := range items {
		if store.Admit(items[i].ID, sender) {
			admitted = append(admitted, items[i])
			continue
		}
		rows += len(items[i].Rows)
		last = items[i].Rows[0].Resource.Key()
	}
	if rows == 0 {
		return items, nil
	}
	w.logger.Warn(msgNewProcess+": its sender fills its share of the memory of stored batches.",
		zap.String("sender", sender), zap.String("service", last.Service), zap.String("instance", last.Instance), zap.Error(errNoRoom))
	if len(admitted) == 0 {
		w.telemetry.offerRefused("new_process")
		return nil, errNoRoom
	}
	w.telemetry.rowsRefused("new_process", rows)
	return admitted, nil
}

var errOffered = errors.New("the same spans are being offered to the queue, which may refuse them: send them again")

// fresh drops the items that are in flight and returns nil if no item remains. If refusals are returned to
// the client, a duplicate must not be answered before its original.
func (w *warehouseExporter) fresh(req *request, now time.Time) (*request, error) {
	left := req.items[:0]
	rows := 0
	for _, item := range req.items {
		if w.items.admit(item.ID, now) {
			left = append(left, item)
			rows += len(item.Rows)
			continue
		}
		mine := func(other methodspan.Item) bool { return other.ID == item.ID }
		if w.cfg.OnFull == Reject && w.items.mayBeRefused(item.ID) && !slices.ContainsFunc(left, mine) {
			w.items.release(idsOf(left)...)
			return nil, errOffered
		}
		w.telemetry.duplicates(len(item.Rows))
	}
	if len(left) == 0 {
		return nil, nil
	}
	return &request{left, rows}, nil
}

// countDuplicates counts items with another copy in flight.
func (w *warehouseExporter) countDuplicates(items []methodspan.Item) {
	for i := range items {
		w.telemetry.duplicates(len(items[i].Rows))
	}
}

// refusalOf returns the reason why the queue refused a request.
func refusalOf(err error) string {
	if errors.Is(err, exporterhelper.ErrQueueIsFull) {
		return "full"
	}
	return "other"
}

// aggregateOverflow aggregates items that cannot be stored one by one. It skips items that turn out to be
// stored, and duplicates of items with unknown outcome, which were counted when they were given up.
func (w *warehouseExporter) aggregateOverflow(items []methodspan.Item, cause string) {
	s := *w.sink.Load()
	left := make([]methodspan.Item, 0, len(items))
	for _, item := range items {
		// The order matters: the store's answer resolves an unknown outcome.
		if w.items.mayBeStored(item.ID) || s.Committed(item.ID) {
			w.telemetry.duplicates(len(item.Rows))
			w.items.remove(item.ID)
			continue
		}
		left = append(left, item)
	}
	result := w.overflow.addItems(left)
	w.telemetry.overflowed(result, cause)
	w.items.remove(result.forgotten...)
}

func idsOf(items []methodspan.Item) []string {
	ids := make([]string, 0, len(items))
	for i := range items {
		ids = append(ids, items[i].ID)
	}
	return ids
}

// Shutdown writes queued rows until the deadline, aggregates the rest and writes the aggregates last. It can
// be called without Start and more than once.
func (w *warehouseExporter) Shutdown(ctx context.Context) error {
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
