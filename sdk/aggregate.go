package corehour

import (
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/corehour/corehour/sdk/internal/callers"
)

// aggregateShard adds up the calls of one minute, one shard per call counter.
// Calls never wait for the lock: a call that finds it held uses the cell table.
type aggregateShard struct {
	busy     atomic.Uint64
	from, to int64 // the shard accepts calls that start in [from, to), in now()'s time
	minute   int64
	cellSums
	_ [64]byte
}

// lock tries to take the shard for a few instructions.
func (s *aggregateShard) lock() bool { return s.busy.CompareAndSwap(0, 1) }

func (s *aggregateShard) unlock() { s.busy.Store(0) }

// addWall adds a finished call of mode Aggregate without caller and CPU, and reports
// whether the shard could take it.
func (pl *plan) addWall(start, wall int64, failed bool) bool {
	var here byte
	s := &pl.aggregate[shardOf(uintptr(unsafe.Pointer(&here)))&uint(len(pl.aggregate)-1)]
	if !s.lock() {
		return false
	}
	ours := start >= s.from && start < s.to
	if ours {
		s.addWall(start, wall, failed)
	}
	s.unlock()
	return ours
}

// addAggregate adds a finished call of mode Aggregate to its caller's cell, or without a
// caller to the method's.
func (pl *plan) addAggregate(r *record) {
	if r.caller == nil && r.state == cpuNotSampled && pl.addWall(r.start, r.wall, r.failed) {
		return
	}
	e := engineOf(pl)
	start := e.unix(r.start)
	e.cells.addRecord(pl.aggregateKey(r.caller, r.cpuP(), minuteOf(start)), r, start)
}

// aggregateKey returns the key of a cell of mode Aggregate. Every call is timed, so p
// is 1; CPU is timed for the chosen ones only, so their share is part of cpuP.
func (pl *plan) aggregateKey(caller *callers.Owner, cpuP float64, minute int64) cellKey {
	return cellKey{method: pl.method, caller: caller, p: 1, cpuP: cpuP * pl.rate, minute: minute}
}

// openShards opens the shards for the calls of a minute, and moves their sums of the minute
// before into the cell table. With open = false the shards accept no call (to = from): calls
// that are still in flight are added to the cell table when they end.
func (pl *plan) openShards(minute int64, open bool) {
	e := engineOf(pl)
	for i := range pl.aggregate {
		s := &pl.aggregate[i]
		for !s.lock() {
			runtime.Gosched()
		}
		if s.wall.n > 0 {
			s.first, s.last = e.unix(s.first), e.unix(s.last)
			e.cells.merge(pl.aggregateKey(nil, pl.cpuRate, s.minute), &s.cellSums)
		}
		s.minute = minute
		s.from = e.mono(minute * minuteNS)
		s.to = s.from
		if open {
			s.to += minuteNS
		}
		s.unlock()
	}
}
