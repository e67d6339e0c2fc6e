package warehouse

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter/exporterhelper/xexporterhelper"
	"go.uber.org/zap"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
)

// writer writes one batch at a time and remembers the last attempt. Rows that it cannot store are aggregated;
// rows of unknown outcome are retried with the same ids.
type writer struct {
	*warehouseExporter
	mu sync.Mutex
	// drained is the overflow item that is part of every write until it is stored. Its id and rows stay
	// the same, because the outcome of a write can be unknown.
	drained *methodspan.Item
	// recycles means that the store keeps no reference to rows that it has written.
	recycles bool
}

// push is the consumer of the helper's queue.
func (w *warehouseExporter) push(_ context.Context, req xexporterhelper.Request) error {
	w.writer.mu.Lock()
	defer w.writer.mu.Unlock()
	return w.writer.deliver(req.(*request).items)
}

// flushOverflow writes the overflow table when there is no batch to add it to.
func (w *warehouseExporter) flushOverflow() {
	ticker := time.NewTicker(w.cfg.Queue.Batch.Get().FlushTimeout)
	defer ticker.Stop()
	for {
		select {
		case <-w.stopping:
			return
		case <-ticker.C:
		}
		if !w.writer.mu.TryLock() {
			continue // a batch is being written
		}
		if batch := w.writer.withOverflow(nil); len(batch) > 0 {
			_ = w.writer.attempt(w.run, batch) // reported there; tried again
		}
		w.writer.mu.Unlock()
	}
}

var (
	errLeft             = errors.New("the collector shuts down: the rows stay in the stored queue")
	errAggregated       = errors.New("the rows were aggregated, and the aggregates are stored later")
	errOverflowConflict = errors.New("a part of them is stored already, and can't be taken out of them")
	errGivenUp          = errors.New("it is unknown whether the rows are stored, and they were given up")
)

// deliver writes items and the overflow item until they are stored, the retries are used up, or a
// shutdown's deadline has passed.
func (w *writer) deliver(items []methodspan.Item) error {
	items, duplicates := w.items.startWriting(items, time.Now())
	w.countDuplicates(duplicates)
	pause := newPause(w.cfg.Retry, w.stopping)
	batch := w.withOverflow(items)
	var err error
	for w.run.Err() == nil {
		if err = w.attempt(w.run, batch); err == nil {
			w.items.remove(idsOf(items)...)
			if w.recycles {
				w.converter.Recycle(items)
			}
			return nil
		}
		if !pause.wait(w.run) {
			break
		}
	}
	if w.cfg.Queue.StorageID != nil && w.run.Err() != nil {
		return errors.Join(errLeft, err)
	}
	return w.giveUp(items, err)
}

// giveUp stops the attempts to write items. It counts items that may be stored and aggregates the others.
func (w *writer) giveUp(items []methodspan.Item, err error) error {
	unsettled, committed := warehouse.Unsettled(err), (*w.sink.Load()).Committed
	var unknown, left []methodspan.Item
	rows := 0
	for _, item := range items {
		switch {
		case unsettled(item.ID) && w.items.isUnsettled(item.ID):
			unknown = append(unknown, item)
			rows += w.items.notRefused(&item)
		case w.items.isUnsettled(item.ID) && committed(item.ID): // by an attempt that then failed
			w.telemetry.written(w.items.notRefused(&item), 0)
			w.items.remove(item.ID)
		default:
			left = append(left, item)
		}
	}
	if len(unknown) > 0 {
		w.telemetry.unknown(rows)
		w.items.giveUp(idsOf(unknown)...)
		err = errors.Join(errGivenUp, err)
	}
	if len(left) > 0 {
		cause := causeWriteFailed
		if w.run.Err() != nil {
			cause = causeShutdown
		}
		w.items.set(aggregated, time.Now(), idsOf(left)...)
		w.aggregateOverflow(left, cause)
		err = errors.Join(errAggregated, err)
	}
	if len(unknown)+len(left) == 0 {
		return nil
	}
	return consumererror.NewPermanent(err)
}

// withOverflow adds the overflow item to items.
func (w *writer) withOverflow(items []methodspan.Item) []methodspan.Item {
	if w.drained == nil {
		if w.drained = w.overflow.drain(); w.drained == nil {
			return items
		}
		w.items.set(atWriter, time.Now(), w.drained.ID)
	}
	return append(items[:len(items):len(items)], *w.drained)
}

// attempt writes once. A batch of unknown outcome must be retried.
func (w *writer) attempt(ctx context.Context, batch []methodspan.Item) error {
	unstored := w.unstored(batch)
	begin := time.Now()
	res, err := (*w.sink.Load()).Write(ctx, batch)
	refused, failure := warehouse.RowErrors(err)
	w.telemetry.attempt(time.Since(begin), failure)
	w.report(writing, failure,
		"Writing to the warehouse fails. Rows wait in the queue, then they are aggregated.", "Writing to the warehouse works again.")
	w.reportRefused(&res, refused)
	if errors.Is(failure, warehouse.ErrUnknown) {
		w.items.unsettle(batch, unstored)
	}
	if failure != nil {
		return failure
	}
	rows := res.Rows
	for _, i := range res.Duplicates {
		if w.items.isUnsettled(batch[i].ID) {
			rows += w.items.notRefused(&batch[i])
		} else {
			w.telemetry.duplicates(len(batch[i].Rows))
		}
	}
	w.items.settle()
	w.telemetry.written(rows, res.Bytes)
	if w.drained != nil {
		if res.Refused[warehouse.FoldConflict] > 0 {
			w.lose(w.inDrained(), errOverflowConflict)
		}
		w.items.remove(append(w.drained.Folds, w.drained.ID)...)
		w.drained = nil
	}
	return nil
}

// reportRefused counts and logs rows that the store refused.
func (w *writer) reportRefused(res *warehouse.Result, refused []*warehouse.RowError) {
	for reason, n := range res.Refused {
		w.telemetry.rowsRefused(string(reason), n)
	}
	if len(refused) > 0 {
		w.logger.Warn(msgRefused+": the warehouse never takes them.", zap.Error(refused[0]))
	}
	for id, n := range res.RefusedOf {
		w.items.refuse(id, n)
	}
}

// unstored reports for each item whether it is not stored yet. An overflow item also counts as stored if all
// its items are.
func (w *writer) unstored(batch []methodspan.Item) []bool {
	committed := (*w.sink.Load()).Committed
	unstored := make([]bool, len(batch))
	for i := range batch {
		item := &batch[i]
		unstored[i] = !committed(item.ID) && (len(item.Folds) == 0 || !all(item.Folds, committed))
	}
	return unstored
}

func all(ids []string, is func(string) bool) bool {
	return !slices.ContainsFunc(ids, func(id string) bool { return !is(id) })
}

// inDrained returns the losses if the drained item can't be stored.
func (w *writer) inDrained() (l losses) {
	for i := range w.drained.Rows {
		l.addRow(&w.drained.Rows[i])
	}
	return l
}

func (w *writer) lose(lost losses, reason error) {
	w.telemetry.lost(lost)
	w.logger.Error("Aggregated rows are lost.", zap.Float64("measurements", lost.measurements),
		zap.Float64("calls", lost.calls), zap.Float64("process_rows", lost.processRows), zap.Error(reason))
}

// lastWrites bounds the duration of a shutdown after its deadline.
const lastWrites = 10 * time.Second

// finish writes the overflow table after the queue has been drained: the previously drained item and the
// item with the remaining rows. Rows that cannot be written now are lost.
func (w *writer) finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), lastWrites)
	defer cancel()
	var lost losses
	var failure error
	for range 2 {
		batch := w.withOverflow(nil)
		if len(batch) == 0 {
			break
		}
		err := w.attempt(ctx, batch)
		if errors.Is(err, warehouse.ErrUnknown) {
			err = w.attempt(ctx, batch)
		}
		switch {
		case err == nil:
			continue
		case errors.Is(err, warehouse.ErrUnknown):
			w.telemetry.unknown(len(w.drained.Rows))
		default:
			lost.addLosses(w.inDrained())
			failure = err
		}
		w.drained = nil
	}
	if failure != nil {
		w.lose(lost, failure)
	}
}

// pause waits between attempts, with increasing duration.
type pause struct {
	enabled  bool
	back     backoff.ExponentialBackOff
	end      time.Time // of all attempts; zero means no end
	stopping <-chan struct{}
}

func newPause(cfg configretry.BackOffConfig, stopping <-chan struct{}) *pause {
	p := &pause{enabled: cfg.Enabled, stopping: stopping}
	if cfg.MaxElapsedTime > 0 {
		p.end = time.Now().Add(cfg.MaxElapsedTime)
	}
	p.back = backoff.ExponentialBackOff{
		InitialInterval:     cfg.InitialInterval,
		RandomizationFactor: cfg.RandomizationFactor,
		Multiplier:          cfg.Multiplier,
		MaxInterval:         cfg.MaxInterval,
	}
	p.back.Reset()
	return p
}

// wait waits for the next attempt and returns false if there is none. The beginning of a shutdown ends one
// wait early; the shutdown's deadline ends all waits.
func (p *pause) wait(ctx context.Context) bool {
	if !p.enabled {
		return false
	}
	d := p.back.NextBackOff()
	if !p.end.IsZero() && time.Now().Add(d).After(p.end) {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.stopping:
		p.stopping = nil
	case <-ctx.Done():
		return false
	}
	return ctx.Err() == nil
}
