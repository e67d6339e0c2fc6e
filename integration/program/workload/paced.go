package main

import (
	"context"
	"math"
	"time"

	"github.com/corehour/corehour/integration/groundtruth"
	corehour "github.com/corehour/corehour/sdk"
)

const (
	slowest = 0.5 // calls per second of the first method
	tick    = 2 * time.Millisecond
	// catchUp is the longest delay of a busy machine after which calls are made up for.
	catchUp = 100 * time.Millisecond
)

// paced calls each method at its own rate, as often as is due at each tick.
func (p pattern) paced(ctx context.Context, methods []*corehour.Method, counters *groundtruth.Counters) {
	due, perSecond := make([]float64, len(methods)), make([]float64, len(methods))
	for i := range methods {
		perSecond[i] = slowest * math.Pow(p.fastest/slowest, float64(i)/float64(len(methods)-1))
	}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for last := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			passed := min(now.Sub(last), catchUp).Seconds()
			last = now
			for i, m := range methods {
				for due[i] += perSecond[i] * passed; due[i] >= 1; due[i]-- {
					bare(m, counters, i)
				}
			}
		}
	}
}

// bare is a call without its own readings of the clock: at a million a second they would be most of
// the work.
func bare(m *corehour.Method, counters *groundtruth.Counters, i int) {
	counters.Call(i)
	defer m.Begin().End()
}
