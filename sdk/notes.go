package corehour

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// noteBook is all the SDK ever says on stderr: at most one write a minute, each
// remark once, the rest counted. Who reads stderr may have stopped, so nobody who
// holds a lock or serves the program ever writes: a goroutine does, one at a time.
type noteBook struct {
	mu      sync.Mutex
	out     io.Writer
	last    time.Time
	waiting []string
	more    int
	said    map[string]bool
	written chan struct{} // closed when the write under way is done; nil = none is
}

const (
	maxWaiting  = 32
	maxSaid     = 1024
	notesPerOne = time.Minute
)

var notes = &noteBook{out: os.Stderr, said: map[string]bool{}}

// add keeps a remark for the next write.
func (n *noteBook) add(format string, args ...any) {
	remark := printable(fmt.Sprintf(format, args...))
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.said[remark] {
		return
	}
	if len(n.waiting) >= maxWaiting || len(n.said) >= maxSaid {
		n.more++
		return
	}
	n.said[remark] = true
	n.waiting = append(n.waiting, remark)
}

// write says what waits, if the last time is a minute ago and that write is done. The
// channel it returns is closed when nothing is being written any more.
func (n *noteBook) write() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.written != nil {
		return n.written
	}
	if len(n.waiting) == 0 || !n.last.IsZero() && time.Since(n.last) < notesPerOne {
		return nothingToWrite
	}
	var b strings.Builder
	for _, remark := range n.waiting {
		b.WriteString("corehour: " + remark + "\n")
	}
	if n.more > 0 {
		fmt.Fprintf(&b, "corehour: and %d more remarks\n", n.more)
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
