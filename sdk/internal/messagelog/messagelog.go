// Package messagelog is all that the SDK writes to stderr: at most one write an interval, each
// message once or, of a kind that differs each time, one an hour; the rest is counted.
//
// A write to stderr may block, so no goroutine that holds a lock or serves the program
// ever writes: another goroutine does, one at a time.
package messagelog

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Log is where messages wait to be written.
type Log struct {
	mu      sync.Mutex
	out     io.Writer
	every   time.Duration // between writes
	last    time.Time
	waiting []string
	more    int
	logged  map[string]bool
	since   time.Time            // the first of them was logged then, or later
	kinds   map[string]time.Time // when one of the kind was logged; as many as the SDK has
	written chan struct{}        // closed when the current write is done; nil = none is
}

const (
	maxWaiting = 32
	maxLogged  = 1024
	MaxMessage = 512 // bytes of one
	// loggedFor is how long a message is remembered if there are very many, and how long
	// one of a kind suppresses the others.
	loggedFor = time.Hour
)

// New returns a log that writes to out, once an interval at most.
func New(out io.Writer, every time.Duration) *Log {
	return &Log{out: out, every: every, logged: map[string]bool{}, kinds: map[string]time.Time{}}
}

// Logf queues a message for the next write.
func (n *Log) Logf(format string, args ...any) {
	message := Brief(fmt.Sprintf(format, args...))
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.logged) >= maxLogged && time.Since(n.since) >= loggedFor {
		clear(n.logged)
	}
	if n.logged[message] {
		return
	}
	if len(n.logged) >= maxLogged || !n.enqueue(message) {
		n.more++
		return
	}
	if len(n.logged) == 0 {
		n.since = time.Now()
	}
	n.logged[message] = true
}

// LogKindf queues a message that begins with its kind and differs each time.
func (n *Log) LogKindf(kind, format string, args ...any) {
	message := Brief(kind + ": " + fmt.Sprintf(format, args...))
	n.mu.Lock()
	defer n.mu.Unlock()
	if at, ok := n.kinds[kind]; ok && time.Since(at) < loggedFor {
		return
	}
	if n.enqueue(message) {
		n.kinds[kind] = time.Now()
	} else {
		n.more++
	}
}

// enqueue queues a message and reports whether there was room. n.mu is held.
func (n *Log) enqueue(message string) bool {
	if len(n.waiting) >= maxWaiting {
		return false
	}
	n.waiting = append(n.waiting, message)
	return true
}

// Brief returns a text of unknown origin as part of a message: printable and not long.
func Brief(s string) string {
	s = Printable(s[:min(len(s), 4*MaxMessage)])
	if len(s) > MaxMessage {
		const cut = "..."
		s = strings.ToValidUTF8(s[:MaxMessage-len(cut)], "") + cut
	}
	return s
}

// Write writes what is queued, if the last write is done and its interval is over. The channel
// it returns is closed when nothing is being written any more.
func (n *Log) Write() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.written != nil {
		return n.written
	}
	written := make(chan struct{})
	if len(n.waiting) == 0 || !n.last.IsZero() && time.Since(n.last) < n.every {
		close(written)
		return written
	}
	var b strings.Builder
	for _, message := range n.waiting {
		b.WriteString("corehour: " + message + "\n")
	}
	if n.more > 0 {
		fmt.Fprintf(&b, "corehour: and %d more messages\n", n.more)
	}
	n.waiting, n.more, n.last, n.written = nil, 0, time.Now(), written
	go func() {
		_, _ = io.WriteString(n.out, b.String()) // nothing to be done if stderr is closed
		n.mu.Lock()
		n.written = nil
		n.mu.Unlock()
		close(written)
	}()
	return written
}

// Printable keeps names made by others from driving a terminal.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return '\uFFFD'
		}
		return r
	}, s)
}
