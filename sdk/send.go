package corehour

import (
	"sync/atomic"
	"time"
)

// ledger is the account of calls handed out. It belongs to the process, like the
// batch numbers, because the collector knows the process by them.
//
// The rule: every request states the calls handed out so far, its own included.
// A request is sent alone; when the next one is made, the fate of this one is
// known. Accepted, or given up with unknown outcome: its calls stay handed out.
// Definitely not accepted (never sent, or refused each time): they are taken back
// with its intervals, which travel with the next request. Totals therefore only
// grow from one accepted request to the next, and
//
//	last total received - sum of calls received
//
// is exactly the calls of those requests of unknown outcome that did not arrive.
var ledger struct {
	batch        uint64 // the sender's
	handedOut    atomic.Int64
	writeUnknown atomic.Int64
}

// outcome is the fate of a request.
type outcome uint8

const (
	accepted outcome = iota
	refused          // definitely not accepted
	unknown          // sent at least once, never heard of
)

// request is what is sent at once, and what it was made of.
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

// outlet is where requests go.
type outlet interface {
	deliver(*engine, *request) outcome
	lastFault() error
}

// A request holds so many cells, and intervals until they have so many counts:
// some megabytes at most.
const (
	cellsPerRequest  = 256
	countsPerRequest = 1 << 14
)

// send is the sender: it waits until something is worth sending and delivers it,
// one request after the other.
func (e *engine) send() {
	timer := time.NewTicker(e.flushEvery)
	defer timer.Stop()
	for {
		select {
		case <-e.stopping:
			select {
			case <-e.lastCutDone:
			case <-e.hurry.Done():
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

// flush sends what is worth sending, all of it at the last, until a delivery
// fails: what was put back waits for the next time.
func (e *engine) flush(last bool) {
	for {
		r := e.seal(last)
		if r == nil || !e.deliver(r) {
			return
		}
		if !last && len(r.records) < e.batch && !e.sumsLeft && e.intervals.length() == 0 {
			return
		}
	}
}

// seal makes a request of what waits, or nil. Sums leave with counts, unless they
// take up half of their room.
func (e *engine) seal(last bool) *request {
	e.records = e.ring.take(e.records[:0], e.batch)
	r := &request{records: e.records, intervals: e.intervals.take(countsPerRequest)}
	if last || len(r.intervals) > 0 || e.sumsLeft || e.cells.length() > e.config.cells/2 {
		r.cells = e.cells.take(cellsPerRequest)
		e.sumsLeft = len(r.cells) == cellsPerRequest
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
	}
	if len(r.intervals) > 0 {
		s := Stats()
		r.stats = &s
	}
	ledger.batch++
	r.seq = ledger.batch
	r.total = ledger.handedOut.Load() + r.calls
	return r
}

// deliver settles the account of a request and tells whether it was accepted. A
// panic on the way leaves the outcome unknown, and the account settled.
func (e *engine) deliver(r *request) bool {
	fate := unknown
	e.delivering.Store(true)
	e.underway.Store(r.calls)
	defer func() {
		e.delivering.Store(false)
		e.settleAccount(r, fate)
		e.underway.Store(0)
	}()
	fate = e.out.deliver(e, r)
	if fault := e.out.lastFault(); fault != nil && fate != accepted {
		notes.addOfKind("not delivered", "%v", fault)
	}
	return fate == accepted
}

func (e *engine) settleAccount(r *request, fate outcome) {
	switch fate {
	case accepted:
		ledger.handedOut.Add(r.calls)
		e.counters.sent.Add(int64(r.spans))
	case unknown:
		ledger.handedOut.Add(r.calls)
		ledger.writeUnknown.Add(r.calls)
		e.counters.unsure.Add(r.measurements())
	case refused:
		e.counters.failed.Add(int64(r.spans))
		e.putBack(r)
	}
}

// putBack keeps what a refused request was made of: counts as they are,
// measurements as sums.
func (e *engine) putBack(r *request) {
	e.intervals.putBack(r.intervals)
	for _, c := range r.cells {
		e.cells.merge(c.cellKey, &c.cellSums)
	}
	for i := range r.records {
		rec := &r.records[i]
		e.cells.fold(rec, e.unix(rec.start))
	}
}

func (r *request) measurements() int64 {
	n := int64(len(r.records))
	for _, c := range r.cells {
		n += c.wall.n
	}
	return n
}

func (e *engine) encode(r *request) []byte {
	w := &e.encoder
	w.reset()
	for i := range r.records {
		w.call(&r.records[i], e.unix(r.records[i].start))
	}
	for _, c := range r.cells {
		w.aggregate(c, e.threadClock)
	}
	for _, iv := range r.intervals {
		if iv.total > 0 {
			w.counts(iv)
		}
		w.process(iv, r.stats)
	}
	return w.request(e.resource, processID(), r.seq, r.total, e.ratesServed.Load())
}
