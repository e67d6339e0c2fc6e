package corehour

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/corehour/corehour/sdk/internal/export"
)

var ledgerQuiet = NewMethod("ledger.Quiet", NoCaller())

// A server accepts some requests, refuses some, accepts some and hangs up, and hangs up on some before it
// accepts them. The account always balances: accepted plus lost counts equal the calls, and the loss equals
// the difference to the last total.
func TestLedger_Balances(t *testing.T) {
	for seed := range uint64(6) {
		server := newMoody(seed)
		before := Stats()
		m := NewMethod("ledger.Method", Rate(0.05))
		e, _ := startWith(t, func(c *config) {
			c.collectors = []string{server.URL + "/v1/traces"}
			c.retry = export.Retry{First: time.Microsecond, Most: 100 * time.Microsecond, Total: 2 * time.Millisecond}
		})
		made := int64(0)
		for range 120 {
			for range 50 {
				m.Begin().End()
				made++
			}
			e.cut(e.unix(now()), false)
			e.flush(false)
		}
		server.calm()
		e.cut(e.unix(now()), true)
		e.flush(true)
		e.flush(true)
		after := Stats()
		e.shutdownForTest()
		server.Close()

		taken, lastTotal := server.account(t)
		lastTotal -= before.HandedOut
		unknownCalls := after.WriteUnknown - before.WriteUnknown
		if lost := lastTotal - taken; lastTotal != made || lost < 0 || lost > unknownCalls || lost != server.lostCalls(t) {
			t.Errorf("seed %d: made %d, taken %d, last total %d, lost %d of %d unknown; the server knows of %d lost",
				seed, made, taken, lastTotal, lost, unknownCalls, server.lostCalls(t))
		}
		if waiting := e.intervals.calls(); waiting != 0 {
			t.Errorf("seed %d: %d calls wait still", seed, waiting)
		}
		recorded := after.Recorded
		if recorded == 0 || server.measured(t)+after.MeasurementsUnsure < recorded || after.FoldLost != 0 {
			t.Errorf("seed %d: recorded %d, arrived %d, unsure %d, lost %d", seed, recorded, server.measured(t), after.MeasurementsUnsure, after.FoldLost)
		}
	}
}

// The program's transport can report no connections, and pass the request on before it fails. A transport
// that has read the body may have sent it.
func TestDeliver_SilentTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &collector{}
		var failing atomic.Bool
		failing.Store(true)
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			resp, err := server.RoundTrip(r)
			if failing.Load() {
				return nil, errLost
			}
			return resp, err
		})}
		before := Stats()
		_, stop := start(t, WithHTTPClient(client), WithEndpoint("http://a:1", "http://b:1"), WithSample(0))
		for range 10 {
			ledgerQuiet.Begin().End()
		}
		time.Sleep(3 * time.Minute)
		failing.Store(false)
		time.Sleep(2 * time.Minute)
		stop()
		if got := counted(server, t)[ledgerQuiet.Name()]; got != 10 {
			t.Errorf("10 calls arrived as %d", got)
		}
		if after := Stats(); after.WriteUnknown-before.WriteUnknown != 10 || after.HandedOut-before.HandedOut != 10 {
			t.Errorf("of 10 calls %d emitted, %d of unknown outcome", after.HandedOut-before.HandedOut, after.WriteUnknown-before.WriteUnknown)
		}
	})
}

// If nobody had read the body when the request failed, nobody can afterwards.
func TestDeliver_BodyWithdrawn(t *testing.T) {
	var kept io.Reader
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		kept = r.Body
		return nil, errLost
	})}
	e, _ := startWith(t, func(c *config) {
		c.client = client
		c.retry = export.Retry{}
	})
	e.cut(e.unix(now()), false)
	if got, _ := e.out(e.buildRequest(false)); got != export.Refused {
		t.Errorf("outcome %d", got)
	}
	if data, err := io.ReadAll(kept); err == nil || len(data) > 0 {
		t.Errorf("%d bytes of a body that is taken to be unsent were read", len(data))
	}
}

// A call in flight at shutdown is counted after the last interval, and emitted by the next Start.
func TestLedger_InFlightCallsLater(t *testing.T) {
	before := Stats()
	_, stop := start(t, WithHTTPClient((&collector{}).client()), WithSample(0))
	late := ledgerQuiet.plan.Load()
	stop()
	ledgerQuiet.begin(context.Background(), late)
	server := &collector{}
	_, stop = start(t, WithHTTPClient(server.client()), WithSample(0))
	ledgerQuiet.Begin().End()
	stop()
	if got := counted(server, t)[ledgerQuiet.Name()]; got != 2 {
		t.Errorf("%d calls emitted, want the late one and another", got)
	}
	if after := Stats(); after.Calls-before.Calls != after.HandedOut-before.HandedOut {
		t.Errorf("%d calls made, %d emitted", after.Calls-before.Calls, after.HandedOut-before.HandedOut)
	}
}

// moody is a real server on loopback with changing behaviour.
type moody struct {
	*httptest.Server
	collector
	mu     sync.Mutex
	random *rand.Rand
	calmed bool
	unread map[int64]int64 // calls of batches that were seen and not accepted
}

func newMoody(seed uint64) *moody {
	s := &moody{random: rand.New(rand.NewPCG(seed, 7)), unread: map[int64]int64{}}
	s.Server = httptest.NewServer(s)
	return s
}

func (s *moody) calm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calmed = true
}

func (s *moody) mood() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calmed {
		return 0
	}
	return s.random.IntN(8)
}

func (s *moody) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := bodyOf(r)
	if err != nil {
		return
	}
	hangUp := func() { panic(http.ErrAbortHandler) }
	switch s.mood() {
	default:
		s.receive(body)
	case 3:
		w.WriteHeader(http.StatusBadRequest)
	case 4:
		w.WriteHeader(http.StatusServiceUnavailable)
	case 5:
		s.receive(body)
		hangUp()
	case 6:
		s.see(body)
		hangUp()
	case 7:
		s.see(body)
		w.WriteHeader(http.StatusGatewayTimeout)
	}
}

// see records the calls of a batch that can be lost.
func (s *moody) see(body []byte) {
	r, err := readRequest(body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unread[r.scope["corehour.batch.seq"].(int64)] = callsOf(r)
}

func callsOf(r wireRequest) int64 {
	total := int64(0)
	for _, span := range r.spans {
		if calls, ok := span.attrs["corehour.counts.calls"].([]any); ok {
			for _, n := range calls {
				total += n.(int64)
			}
		}
	}
	return total
}

// account returns the accepted calls and the last total.
func (s *moody) account(t *testing.T) (taken, last int64) {
	var lastSeq int64
	for _, r := range s.all(t) {
		taken += callsOf(r)
		if seq := r.scope["corehour.batch.seq"].(int64); seq > lastSeq {
			lastSeq, last = seq, r.scope["corehour.calls.total"].(int64)
		}
	}
	return taken, last
}

// lostCalls returns the calls of batches that were seen and never accepted, except those refused at some
// attempt: they were sent again under another number.
func (s *moody) lostCalls(t *testing.T) int64 {
	lost := int64(0)
	taken := map[int64]bool{}
	for _, r := range s.all(t) {
		taken[r.scope["corehour.batch.seq"].(int64)] = true
	}
	for seq, calls := range s.unread {
		if !taken[seq] {
			lost += calls
		}
	}
	return lost
}

func (s *moody) measured(t *testing.T) int64 {
	n := int64(len(s.spans(t, "call")))
	for _, cell := range s.spans(t, "aggregate") {
		n += cell.int("corehour.measured")
	}
	return n
}
