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
// remark once or, of a kind that differs each time, one an hour; the rest is counted.
// Who reads stderr may have stopped, so nobody who
// holds a lock or serves the program ever writes: a goroutine does, one at a time.
type noteBook struct {
	mu      sync.Mutex
	out     io.Writer
	last    time.Time
	waiting []string
	more    int
	said    map[string]bool
	since   time.Time            // the first of them was said then, or later
	kinds   map[string]time.Time // when one of the kind was said; as many as the SDK has
	written chan struct{}        // closed when the write under way is done; nil = none is
}

const (
	maxWaiting  = 32
	maxSaid     = 1024
	maxRemark   = 512 // bytes
	notesPerOne = time.Minute
	// saidFor is how long a remark is remembered if there are very many, and how long
	// one of a kind stands for all of it.
	saidFor = time.Hour
)

var notes = newNoteBook(os.Stderr)

func newNoteBook(out io.Writer) *noteBook {
	return &noteBook{out: out, said: map[string]bool{}, kinds: map[string]time.Time{}}
}

// add keeps a remark for the next write.
func (n *noteBook) add(format string, args ...any) {
	remark := brief(fmt.Sprintf(format, args...))
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.said) >= maxSaid && time.Since(n.since) >= saidFor {
		clear(n.said)
	}
	if n.said[remark] {
		return
	}
	if len(n.said) >= maxSaid || !n.keep(remark) {
		n.more++
		return
	}
	if len(n.said) == 0 {
		n.since = time.Now()
	}
	n.said[remark] = true
}

// addOfKind keeps a remark that begins with its kind and goes on differently each time.
func (n *noteBook) addOfKind(kind, format string, args ...any) {
	remark := brief(kind + ": " + fmt.Sprintf(format, args...))
	n.mu.Lock()
	defer n.mu.Unlock()
	if at, ok := n.kinds[kind]; ok && time.Since(at) < saidFor {
		return
	}
	if n.keep(remark) {
		n.kinds[kind] = time.Now()
	} else {
		n.more++
	}
}

// keep tells whether there was room. n.mu is held.
func (n *noteBook) keep(remark string) bool {
	if len(n.waiting) >= maxWaiting {
		return false
	}
	n.waiting = append(n.waiting, remark)
	return true
}

// brief makes a remark of what others may have written: printable and not long.
func brief(s string) string {
	s = printable(s[:min(len(s), 4*maxRemark)])
	if len(s) > maxRemark {
		const cut = "..."
		s = strings.ToValidUTF8(s[:maxRemark-len(cut)], "") + cut
	}
	return s
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
