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
	"github.com/corehour/corehour/internal/parquet"
)

// writer writes one batch at a time and knows the last attempt: what it can't
// store it folds, what it does not know about it tries again with the same ids.
type writer struct {
	*warehouse
	mu sync.Mutex
	// drained is the folded item that goes with every write until it is stored.
	// It keeps its id and its rows, because a write of it may be unsettled.
	drained *methodspan.Item
	// unsure are the items of the last attempt that were not stored before, if its
	// outcome is not known. The next attempt settles them: what then is a duplicate was
	// stored by it.
	unsure map[string]bool
	// refused are rows of items, by their ids, that the store refused in attempts which
	// then failed. They are counted, and not among what else of their items is stored.
	refused map[string]int
	// recycles tells that the store keeps nothing of rows that it has written.
	recycles bool
}

// push is the end of the helper's queue.
func (w *warehouse) push(_ context.Context, req xexporterhelper.Request) error {
	w.writer.mu.Lock()
	defer w.writer.mu.Unlock()
	return w.writer.deliver(req.(*request).items)
}

// flushFolded writes what is folded when no batch comes along to take it.
func (w *warehouse) flushFolded() {
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
		if batch := w.writer.withFolded(nil); len(batch) > 0 {
			_ = w.writer.attempt(w.run, batch) // reported there; tried again
		}
		w.writer.mu.Unlock()
	}
}

var (
	errLeft         = errors.New("the collector shuts down: the rows stay in the stored queue")
	errFolded       = errors.New("the rows were folded into sums, which are stored later")
	errFoldConflict = errors.New("a part of them is stored already, and can't be taken out of them")
	errGivenUp      = errors.New("it is not known whether the rows are stored, and they were given up")
)

// deliver writes items, together with what is folded, until that is done, or
// the retries are used up, or a shutdown's deadline is past.
func (w *writer) deliver(items []methodspan.Item) error {
	items, repeats := w.taken.write(items, time.Now())
	w.repeated(repeats)
	pause := newPause(w.cfg.Retry, w.stopping)
	batch := w.withFolded(items)
	var err error
	for w.run.Err() == nil {
		if err = w.attempt(w.run, batch); err == nil {
			w.taken.settle(idsOf(items)...)
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

// giveUp ends the attempts to write items: what may be stored is counted, the rest is
// folded.
func (w *writer) giveUp(items []methodspan.Item, err error) error {
	unsettled, committed := parquet.Unsettled(err), (*w.sink.Load()).Committed
	var unknown, left []methodspan.Item
	rows := 0
	for _, item := range items {
		switch {
		case unsettled(item.ID) && w.unsure[item.ID]:
			unknown = append(unknown, item)
			rows += w.notRefused(&item)
		case w.unsure[item.ID] && committed(item.ID): // by an attempt that then failed
			w.telemetry.written(w.notRefused(&item), 0)
			w.taken.settle(item.ID)
		default:
			left = append(left, item)
		}
	}
	if len(unknown) > 0 {
		w.telemetry.unknown(rows)
		w.doubts.add(idsOf(unknown)...)
		w.taken.settle(idsOf(unknown)...)
		err = errors.Join(errGivenUp, err)
	}
	if len(left) > 0 {
		cause := causeWriteFailed
		if w.run.Err() != nil {
			cause = causeShutdown
		}
		w.taken.sumUnwritten(left, time.Now())
		w.fold(left, cause)
		err = errors.Join(errFolded, err)
	}
	if len(unknown)+len(left) == 0 {
		return nil
	}
	return consumererror.NewPermanent(err)
}

// withFolded adds what is folded to items.
func (w *writer) withFolded(items []methodspan.Item) []methodspan.Item {
	if w.drained == nil {
		w.drained = w.folder.drain()
	}
	if w.drained == nil {
		return items
	}
	return append(items[:len(items):len(items)], *w.drained)
}

// attempt writes once. A batch whose outcome is not known must come again.
func (w *writer) attempt(ctx context.Context, batch []methodspan.Item) error {
	unstored := w.unstored(batch)
	begin := time.Now()
	res, err := (*w.sink.Load()).Write(ctx, batch)
	refused, failure := parquet.RowErrors(err)
	w.telemetry.attempt(time.Since(begin), failure)
	w.report(failure)
	w.tellRefused(&res, refused)
	if errors.Is(failure, parquet.ErrUnknown) {
		before := w.unsure
		w.unsure = make(map[string]bool, len(batch))
		for i := range batch {
			if id := batch[i].ID; unstored[i] || before[id] {
				w.unsure[id] = true
			}
		}
	}
	if failure != nil {
		return failure
	}
	w.doubts.settle()
	rows := res.Rows
	for _, i := range res.Duplicates {
		if w.unsure[batch[i].ID] {
			rows += w.notRefused(&batch[i])
		} else {
			w.telemetry.duplicates(len(batch[i].Rows))
		}
	}
	w.unsure, w.refused = nil, nil
	w.telemetry.written(rows, res.Bytes)
	if w.drained != nil {
		if res.Refused[parquet.FoldConflict] > 0 {
			w.lose(w.inDrained(), errFoldConflict)
		}
		w.taken.settle(w.drained.Folds...)
		w.drained = nil
	}
	return nil
}

// tellRefused counts rows that the store refused, whatever became of the others.
func (w *writer) tellRefused(res *parquet.Result, refused []*parquet.RowError) {
	for reason, n := range res.Refused {
		w.telemetry.rowsRefused(string(reason), n)
	}
	if len(refused) > 0 {
		w.logger.Warn(msgRefused+": the warehouse never takes them.", zap.Error(refused[0]))
	}
	for id, n := range res.RefusedOf {
		if w.refused == nil {
			w.refused = map[string]int{}
		}
		w.refused[id] += n
	}
}

// notRefused is how many rows of an item an attempt that failed has stored, or may have.
func (w *writer) notRefused(item *methodspan.Item) int { return len(item.Rows) - w.refused[item.ID] }

// unstored tells of each item whether it is not stored yet. Of a folded one, all that was
// folded into it may be.
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

// inDrained is what is gone if the drained item can't be stored.
func (w *writer) inDrained() (l losses) {
	for i := range w.drained.Rows {
		l.addRow(&w.drained.Rows[i])
	}
	return l
}

func (w *writer) lose(lost losses, reason error) {
	w.telemetry.lost(lost)
	w.logger.Error("Sums of folded rows are lost.", zap.Float64("measurements", lost.measurements),
		zap.Float64("calls", lost.calls), zap.Float64("process_rows", lost.processRows), zap.Error(reason))
}

// report says once that the store fails, and once that it works again.
func (w *writer) report(failure error) {
	switch {
	case !w.health.set(writing, failure, w.host):
	case failure != nil:
		w.logger.Error("Writing to the warehouse fails. Rows wait in the queue, then they are folded into sums.", zap.Error(failure))
	default:
		w.logger.Info("Writing to the warehouse works again.")
	}
}

// lastWrites bounds how long a shutdown goes on after its deadline.
const lastWrites = 10 * time.Second

// finish writes what is folded, after the queue has been drained: the item that
// was drained before and the one that holds the rest. What can't be written now
// is lost.
func (w *writer) finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), lastWrites)
	defer cancel()
	var lost losses
	var failure error
	for range 2 {
		batch := w.withFolded(nil)
		if len(batch) == 0 {
			break
		}
		err := w.attempt(ctx, batch)
		if errors.Is(err, parquet.ErrUnknown) {
			err = w.attempt(ctx, batch)
		}
		switch {
		case err == nil:
			continue
		case errors.Is(err, parquet.ErrUnknown):
			w.telemetry.unknown(len(w.drained.Rows))
		default:
			lost.add(w.inDrained())
			failure = err
		}
		w.drained = nil
	}
	if failure != nil {
		w.lose(lost, failure)
	}
}

// pause waits between attempts, longer each time.
type pause struct {
	enabled  bool
	back     backoff.ExponentialBackOff
	end      time.Time // of all attempts; zero if they never end
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

// wait is false if there is to be no further attempt. The beginning of a
// shutdown ends one wait early, its deadline ends them all.
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
