package main

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"time"
)

// state is the behaviour of a collector.
type state string

const (
	healthy    state = "healthy"
	absent     state = "absent"
	blackHoled state = "black-holed"
	slow       state = "slow"
	busy       state = "answering 429"
	failing    state = "answering 500"
	garbage    state = "answering garbage"
	hangingUp  state = "closing connections"
	badRates   state = "serving hostile rates"
	// clockSteps has a healthy collector, and a wall clock that is set forward and back all the
	// time.
	clockSteps state = "healthy while the clock is set"
)

var states = []state{healthy, absent, blackHoled, slow, busy, failing, garbage, hangingUp, badRates, clockSteps}

// collector is a collector in a given state; requests counts the requests that reached it.
type collector struct {
	url      string
	requests atomic.Int64
	Close    func()
}

func newCollector(is state) *collector {
	c := &collector{}
	closing := make(chan struct{})
	answer := func(w http.ResponseWriter, r *http.Request) {
		n := c.requests.Add(1)
		if is == badRates && r.Method == http.MethodGet {
			hostileRates(w, n)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body) // the sender may give up
		switch is {
		case hangingUp:
			panic(http.ErrAbortHandler) // the server closes the connection, silently
		case slow:
			select {
			case <-time.After(time.Second):
			case <-closing:
			}
		case busy:
			w.WriteHeader(http.StatusTooManyRequests)
		case failing:
			w.WriteHeader(http.StatusInternalServerError)
		}
	}
	switch is {
	case absent, blackHoled, garbage:
		c.url, c.Close = c.raw(is)
	default:
		server := httptest.NewServer(http.HandlerFunc(answer))
		c.url = server.URL
		c.Close = func() {
			close(closing)
			server.Close()
		}
	}
	return c
}

// hugeAnswer is larger than the SDK's limit for rates.
var hugeAnswer = make([]byte, 17<<20)

// hostileRates answers with invalid rates: rates that change all the time, truncated text, and more data
// than the limit.
func hostileRates(w io.Writer, n int64) {
	switch n % 4 {
	case 0:
		_, _ = w.Write(hugeAnswer)
	case 1:
		_, _ = io.WriteString(w, `{"revision":"1","ttl_s":60,"methods":[{"match":"bench/service/on.*","p":`)
	case 2:
		_, _ = io.WriteString(w, `{"revision":"2","ttl_s":1e308,"methods":[{"match":"bench/service/on.*","mode":"sample","p":0.009}]}`)
	case 3:
		_, _ = io.WriteString(w, `{"revision":"3","ttl_s":-1,"methods":[{"match":"bench/service/on.*","mode":"sample","p":0.011},{"match":"*","p":7}]}`)
	}
}

// raw starts a collector that does not speak HTTP.
func (c *collector) raw(is state) (url string, stop func()) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	url = "http://" + listener.Addr().String()
	if is == absent {
		listener.Close() // the port was free a moment ago: connections are refused
		return url, func() {}
	}
	var mu sync.Mutex
	var open []net.Conn
	go func() {
		for {
			conn, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				continue
			}
			c.requests.Add(1)
			if is == garbage {
				noise := make([]byte, 512)
				for i := range noise {
					noise[i] = byte(rand.Uint32())
				}
				_, _ = conn.Write(noise)
				conn.Close()
				continue
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
		}
	}()
	return url, func() {
		listener.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, conn := range open {
			conn.Close()
		}
	}
}
