package bigquery_test

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/corehour/corehour/test/fake"
)

// hole is a proxy to the service that can be switched to accept connections and never answer.
type hole struct {
	address string
	took    chan struct{} // receives a value for each connection that gets no answer

	mu    sync.Mutex
	deep  bool
	conns []net.Conn
	loops sync.WaitGroup
}

func newHole(t *testing.T, to string) *hole {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &hole{address: listener.Addr().String(), took: make(chan struct{}, 100)}
	h.loops.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			h.take(c, to)
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		h.open(false)
		h.loops.Wait()
	})
	return h
}

func (h *hole) take(c net.Conn, to string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.conns = append(h.conns, c)
	if h.deep {
		h.took <- struct{}{}
		return
	}
	up, err := net.Dial("tcp", to)
	if err != nil {
		_ = c.Close()
		return
	}
	h.loops.Go(func() { _, _ = io.Copy(up, c); _ = up.Close() })
	h.loops.Go(func() { _, _ = io.Copy(c, up); _ = c.Close() })
}

// open closes all connections. If deep is set, new connections get no answers.
func (h *hole) open(deep bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.deep = deep
	for _, c := range h.conns {
		_ = c.Close()
	}
	h.conns = nil
}

// A write ends with its context even while it connects.
func TestWriter_CancelledWhileConnecting(t *testing.T) {
	s := fake.New(t)
	h := newHole(t, strings.TrimPrefix(s.Endpoints.Write, "http://"))
	o := options(s, t.TempDir())
	o.Endpoints.Write = "http://" + h.address
	w := open(t, o)
	if _, err := w.Write(t.Context(), oneItem(1, "a", 5)); err != nil {
		t.Fatal(err)
	}
	h.open(true)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := w.Write(ctx, oneItem(2, "b", 5))
		done <- err
	}()
	<-h.took
	cancel()
	begin := time.Now()
	if err := <-done; err == nil {
		t.Error("the write succeeded without an answer")
	}
	// gRPC gives up a connection after 20 seconds.
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
	h.open(false)
}
