package samplingrates

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
)

const (
	// wakePace is the mean time between two clients woken by a change: 1,000 waiting clients are woken
	// within half a second.
	wakePace = 500 * time.Microsecond

	// longestSpread bounds the time until a client's turn, for any number of clients.
	longestSpread = time.Second
)

// waiting counts the clients that wait for a change.
type waiting struct {
	now  atomic.Int64
	most int64
}

// enter counts a client and reports whether it may wait.
func (w *waiting) enter() bool {
	if w.now.Add(1) > w.most {
		w.now.Add(-1)
		return false
	}
	return true
}

func (w *waiting) leave() { w.now.Add(-1) }

// turn returns how long after a change a client is answered. It is random, so that a change
// causes no spike of work, here and where the answers go.
func (w *waiting) turn() time.Duration {
	spread := min(time.Duration(w.now.Load())*wakePace, longestSpread)
	return time.Duration(rand.Float64() * float64(spread))
}

// jittered reduces a wait by up to a tenth, so that clients that polled together do not
// poll together again.
func jittered(wait time.Duration) time.Duration {
	return time.Duration(float64(wait) * (0.9 + 0.1*rand.Float64()))
}
