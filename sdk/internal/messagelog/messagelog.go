// Package messagelog writes all messages of the SDK to stderr: at most one write an interval, each
// message once, or once an hour for messages of one kind that differ; it counts the rest.
//
// A write to stderr can block, so no goroutine that holds a lock or runs the program's code writes. A
// separate goroutine writes, one at a time.
package messagelog

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Log holds messages until they are written.
type Log struct {
	mu      sync.Mutex
	out     io.Writer
	every   time.Duration // between writes
	last    time.Time
	waiting []string
	more    int
	logged  map[string]bool
	since   time.Time            // no message in it is older
	kinds   map[string]time.Time // time of the last message of a kind; the SDK has few kinds
	written chan struct{}        // closed when the current write is done; nil = no write
}

const (
	maxWaiting = 32
	maxLogged  = 1024
	MaxMessage = 512 // bytes of one message
	// loggedFor is the time for which a message is remembered if there are very many, and for which
	// a message suppresses others of its kind.
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

// Brief makes a text of unknown origin printable and short, for use in a message.
func Brief(s string) string {
	s = Printable(s[:min(len(s), 4*MaxMessage)])
	if len(s) > MaxMessage {
		const cut = "..."
		s = strings.ToValidUTF8(s[:MaxMessage-len(cut)], "") + cut
	}
	return s
}

// Write writes the queued messages, if the last write is done and its interval is over. The returned
// channel is closed when no write is in progress.
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
		_, _ = io.WriteString(n.out, b.String()) // a closed stderr cannot be helped
		n.mu.Lock()
		n.written = nil
		n.mu.Unlock()
		close(written)
	}()
	return written
}

// Printable replaces characters that could control a terminal.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return '\uFFFD'
		}
		return r
	}, s)
}
