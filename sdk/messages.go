package corehour

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// messageLog is all that the SDK writes to stderr: at most one write a minute, each
// message once or, of a kind that differs each time, one an hour; the rest is counted.
// A write to stderr may block, so no goroutine that holds a lock or serves the program
// ever writes: another goroutine does, one at a time.
type messageLog struct {
	mu      sync.Mutex
	out     io.Writer
	last    time.Time
	waiting []string
	more    int
	logged  map[string]bool
	since   time.Time            // the first of them was logged then, or later
	kinds   map[string]time.Time // when one of the kind was logged; as many as the SDK has
	written chan struct{}        // closed when the current write is done; nil = none is
}

const (
	maxWaiting    = 32
	maxLogged     = 1024
	maxMessage    = 512 // bytes
	writeInterval = time.Minute
	// loggedFor is how long a message is remembered if there are very many, and how long
	// one of a kind suppresses the others.
	loggedFor = time.Hour
)

var messages = newMessageLog(os.Stderr)

func newMessageLog(out io.Writer) *messageLog {
	return &messageLog{out: out, logged: map[string]bool{}, kinds: map[string]time.Time{}}
}

// logf queues a message for the next write.
func (n *messageLog) logf(format string, args ...any) {
	message := brief(fmt.Sprintf(format, args...))
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

// logKindf queues a message that begins with its kind and differs each time.
func (n *messageLog) logKindf(kind, format string, args ...any) {
	message := brief(kind + ": " + fmt.Sprintf(format, args...))
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
func (n *messageLog) enqueue(message string) bool {
	if len(n.waiting) >= maxWaiting {
		return false
	}
	n.waiting = append(n.waiting, message)
	return true
}

// brief returns a text of unknown origin as part of a message: printable and not long.
func brief(s string) string {
	s = printable(s[:min(len(s), 4*maxMessage)])
	if len(s) > maxMessage {
		const cut = "..."
		s = strings.ToValidUTF8(s[:maxMessage-len(cut)], "") + cut
	}
	return s
}

// write writes what is queued, if the last write is done and a minute ago. The channel
// it returns is closed when nothing is being written any more.
func (n *messageLog) write() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.written != nil {
		return n.written
	}
	if len(n.waiting) == 0 || !n.last.IsZero() && time.Since(n.last) < writeInterval {
		return nothingToWrite
	}
	var b strings.Builder
	for _, message := range n.waiting {
		b.WriteString("corehour: " + message + "\n")
	}
	if n.more > 0 {
		fmt.Fprintf(&b, "corehour: and %d more messages\n", n.more)
	}
	n.waiting, n.more, n.last = nil, 0, time.Now()
	written := make(chan struct{})
	n.written = written
	go func() {
		_, _ = io.WriteString(n.out, b.String()) // nothing to be done if stderr is closed
		n.mu.Lock()
		n.written = nil
		n.mu.Unlock()
		close(written)
	}()
	return written
}

var nothingToWrite = func() chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}()

// printable keeps names made by others from driving a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return '\uFFFD'
		}
		return r
	}, s)
}
