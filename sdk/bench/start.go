package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/corehour/corehour/sdk"
)

// oneStart measures everything in this process and prints ns per root call as JSON, after a warm-up of the
// given time.
func oneStart(w io.Writer, rounds int, busy time.Duration) error {
	s := newSink()
	defer s.Close()
	stuck := newCollector(blackHoled)
	defer stuck.Close()

	var roomy, crowded []*path
	named := map[string]*path{}
	add := func(name string, v variant, depth int) {
		p := &path{least: 100 * time.Microsecond, run: func(n int) {
			for range n {
				v.root(depth)
			}
		}}
		named[name] = p
		if v.full {
			crowded = append(crowded, p)
		} else {
			roomy = append(roomy, p)
		}
	}
	all := variants(newPeers())
	for _, v := range all {
		add(v.name, v, mooDepth)
		if slices.Contains(grown, v.name) {
			for _, depth := range grownDepths {
				add(grownName(depth, v.name), v, depth)
			}
		}
	}
	if err := with(s, waitingMost, func() error { beBusy(roomy, busy); return nil }); err != nil {
		return err
	}
	// Whether the queue has room is decided by Start; passes in turn keep the two
	// states close in time.
	const passes = 3
	for range passes {
		each := max(1, rounds/passes)
		if err := with(s, waitingMost, func() error { measure(roomy, each, settled); return nil }); err != nil {
			return err
		}
		if err := stalled(stuck, func() { measure(crowded, each, func() {}) }); err != nil {
			return err
		}
	}
	ns := map[string]float64{}
	for name, p := range named {
		ns[name] = p.median()
	}
	return json.NewEncoder(w).Encode(ns)
}

// beBusy runs all paths for so long.
func beBusy(all []*path, lasting time.Duration) {
	const each = 200 * time.Microsecond
	for begin := time.Now(); time.Since(begin) < lasting; {
		for _, p := range all {
			for started := time.Now(); time.Since(started) < each; {
				p.run(10)
			}
			settled()
		}
	}
}

// stalled runs f while the smallest queue is full and a request in flight gets no answer.
func stalled(collector *collector, f func()) error {
	shutdown, err := corehour.Start(context.Background(), corehour.WithEndpoint(collector.url),
		corehour.WithService("bench", "1"), corehour.WithQueue(2), corehour.WithFlush(time.Hour, 2))
	if err != nil {
		return err
	}
	deadline := time.Now().Add(patience)
	for before := corehour.Stats().Dropped; corehour.Stats().Dropped == before; reducedCalls(1) {
		if time.Now().After(deadline) {
			err = errors.New("the queue does not become full")
			break
		}
	}
	for err == nil && collector.requests.Load() == 0 {
		time.Sleep(time.Millisecond)
		if time.Now().After(deadline) {
			err = errors.New("no request reaches the collector")
		}
	}
	for range 4 { // the sender removed records from the queue
		reducedCalls(1)
	}
	if err == nil {
		f()
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = shutdown(ctx) // it cannot deliver, which is the point
	return err
}
