package corehour

import (
	"sync/atomic"
	"time"

	"github.com/corehour/corehour/sdk/internal/export"
)

// ledger counts the emitted calls. It belongs to the process, like the batch numbers,
// because the collector knows the process by them.
//
// The rule: every request carries the number of calls emitted so far, its own included. Only one
// request is in flight, so the outcome of a request is known when the next one is made. If it was
// accepted or given up with unknown outcome, its calls stay emitted. If it was definitely not accepted
// (never sent, or always refused), its intervals go back to the queue, and their calls are emitted
// with the next request. So totals only grow from one accepted request to the next, and
// accepted request to the next, and
//
//	last total received - sum of calls received
//
// is exactly the number of calls in requests of unknown outcome that did not arrive.
var ledger struct {
	batch        uint64 // owned by the sender
	emitted      atomic.Int64
	writeUnknown atomic.Int64
}

// request holds the data of one request, to restore it if the request is refused.
type request struct {
	seq       uint64
	spans     int
	records   []record
	cells     []*cell
	intervals []*interval
	calls     int64
	total     int64
	stats     *Snapshot // as on the process spans
}

// These bound a request to some megabytes: cells, and counts of its intervals.
const (
	cellsPerRequest  = 256
	countsPerRequest = 1 << 14
)

// send is the sender's loop: it waits until there is enough to send, and delivers one request after
// the other.
func (e *engine) send() {
	timer := time.NewTicker(e.flushEvery)
	defer timer.Stop()
	for {
		select {
		case <-e.stopping:
			select {
			case <-e.lastCutDone:
			case <-e.deadline.Done():
			}
			e.flush(true)
			return
		case <-e.wake:
			e.flush(false)
		case <-timer.C:
			e.flush(false)
		}
	}
}

// flush sends the waiting data, all of it if last, until a delivery fails. Data of a failed delivery
// waits for the next flush.
func (e *engine) flush(last bool) {
	for {
		r := e.buildRequest(last)
		if r == nil || !e.deliver(r) {
			return
		}
		if !last && len(r.records) < e.batch && !e.cellsPending && e.intervals.length() == 0 {
			return
		}
	}
}

// buildRequest builds a request of the waiting data, or returns nil. Cells are sent with counts, or
// earlier once half of the table is used.
func (e *engine) buildRequest(last bool) *request {
	e.records = e.ring.Dequeue(e.records[:0], e.batch)
	r := &request{records: e.records, intervals: e.intervals.removeOldest(countsPerRequest)}
	if last || len(r.intervals) > 0 || e.cellsPending || e.cells.length() > e.config.cells/2 {
		r.cells = e.cells.removeCells(cellsPerRequest)
		e.cellsPending = len(r.cells) == cellsPerRequest
	}
	r.spans = len(r.records) + len(r.cells)
	for _, iv := range r.intervals {
		r.calls += iv.total
		r.spans += iv.spans()
	}
	if r.spans == 0 {
		return nil
	}
	for i := range r.records {
		e.counters.states[r.records[i].state].Add(1)
		e.counters.waits.Add(int64(r.records[i].waits))
	}
	if len(r.intervals) > 0 {
		s := Stats()
		r.stats = &s
	}
	ledger.batch++
	r.seq = ledger.batch
	r.total = ledger.emitted.Load() + r.calls
	return r
}

// deliver sends a request, records its outcome and reports whether it was accepted. A panic during
// delivery is an unknown outcome.
func (e *engine) deliver(r *request) bool {
	result := export.Unknown
	e.delivering.Store(true)
	e.inFlightCalls.Store(r.calls)
	defer func() {
		e.delivering.Store(false)
		e.recordOutcome(r, result)
		e.inFlightCalls.Store(0)
	}()
	if result, e.lastFault = e.out(r); e.lastFault != nil {
		messages.LogKindf("not delivered", "%v", e.lastFault)
	}
	return result == export.Accepted
}

func (e *engine) recordOutcome(r *request, result export.Outcome) {
	switch result {
	case export.Accepted:
		ledger.emitted.Add(r.calls)
		e.counters.sent.Add(int64(r.spans))
	case export.Unknown:
		ledger.emitted.Add(r.calls)
		ledger.writeUnknown.Add(r.calls)
		e.counters.unknownOutcome.Add(r.measurements())
	case export.Refused:
		e.counters.failed.Add(int64(r.spans))
		e.putBack(r)
	}
}

// putBack restores the data of a refused request: counts unchanged, measurements as sums.
func (e *engine) putBack(r *request) {
	e.intervals.putBack(r.intervals)
	for _, c := range r.cells {
		e.cells.merge(c.cellKey, &c.cellSums)
	}
	for i := range r.records {
		rec := &r.records[i]
		e.cells.addOverflow(rec, e.unix(rec.start))
	}
}

func (r *request) measurements() int64 {
	n := int64(len(r.records))
	for _, c := range r.cells {
		n += c.wall.n
	}
	return n
}
