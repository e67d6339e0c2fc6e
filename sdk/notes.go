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
// remark once, the rest counted.
type noteBook struct {
	mu      sync.Mutex
	out     io.Writer
	last    time.Time
	waiting []string
	more    int
	said    map[string]bool
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

// write says what waits, if the last time is a minute ago.
func (n *noteBook) write() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.waiting) == 0 || !n.last.IsZero() && time.Since(n.last) < notesPerOne {
		return
	}
	var b strings.Builder
	for _, remark := range n.waiting {
		b.WriteString("corehour: " + remark + "\n")
	}
	if n.more > 0 {
		fmt.Fprintf(&b, "corehour: and %d more remarks\n", n.more)
	}
	n.waiting, n.more, n.last = nil, 0, time.Now()
	_, _ = io.WriteString(n.out, b.String()) // nothing to be done if stderr is closed
}

// printable keeps names made by others from driving a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return '\uFFFD'
		}
		return r
	}, s)
}
