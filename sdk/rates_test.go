package corehour

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// rateServer serves rates by the contract: it answers when they change, or when the time to wait is over.
type rateServer struct {
	collector
	mu       sync.Mutex
	body     string
	revision int
	changed  chan struct{}
	fails    bool
	asked    []*http.Request
}

func newRateServer(body string) *rateServer {
	return &rateServer{body: body, revision: 1, changed: make(chan struct{})}
}

func (s *rateServer) serve(body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.body = body
	s.revision++
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *rateServer) fail(fails bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = fails
}

func (s *rateServer) polls() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

func (s *rateServer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost {
		return s.collector.RoundTrip(r)
	}
	s.mu.Lock()
	s.asked = append(s.asked, r)
	changed, fails := s.changed, s.fails
	tag := fmt.Sprintf(`"%d"`, s.revision)
	s.mu.Unlock()
	if fails {
		return nil, errLost
	}
	if r.Header.Get("If-None-Match") == tag {
		wait, err := time.ParseDuration(r.URL.Query().Get("wait"))
		if err != nil {
			return nil, err
		}
		select {
		case <-changed:
		case <-time.After(wait):
			return &http.Response{StatusCode: http.StatusNotModified, Body: http.NoBody, Header: http.Header{}, Request: r}, nil
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	header := http.Header{"Etag": {fmt.Sprintf(`"%d"`, s.revision)}}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(s.body)), Header: header, Request: r}, nil
}

var (
	ratedPlain    = NewMethod("rated.Plain")
	ratedCoded    = NewMethod("rated.(*T).Coded", Rate(0.5), CPURate(0.5))
	ratedOff      = NewMethod("rated.Off", WithMode(Off))
	ratedBlocking = NewMethod("rated.Blocking", Blocking())
	ratedFiled    = NewMethod("rated.Filed")
	ratedBounded  = NewMethod("rated.Bounded")
)

func planOf(m *Method) settings {
	if pl := m.plan.Load(); pl != nil {
		return pl.settings
	}
	return settings{mode: Off}
}

// Served rates apply while they are fresh; then the file and the defaults do. Off, Blocking, and the file's
// bounds apply all the time.
func TestServedRates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "methods.json")
	if err := os.WriteFile(path, []byte(`{"version": 1, "defaults": {"max": 0.05}, "methods": [
	  {"class": "rated", "method": "Filed", "rate": 0.125, "max": 1},
	  {"class": "rated", "method": "Bounded", "rate": 0.25, "min": 0.1, "max": 0.3}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		server := newRateServer(`{"revision": "a", "ttl_s": 60, "default": {"mode": "sample", "p": 0.0625},
		  "methods": [
		    {"name": "rated.(*T).Coded", "mode": "sample", "p": 0.001, "cpu_p": 1, "tier": "inner", "reason": "x", "later": {}},
		    {"match": "rated.*", "mode": "aggregate", "p": 0.02},
		    {"name": "rated.Filed", "p": 0.03},
		    {"name": "rated.Bounded", "p": 0.9},
		    {"name": "rated.Plain", "p": 7},
		    {"p": 0.5}]}`)
		server.mu.Lock() // no answer yet
		_, stop := start(t, WithHTTPClient(&http.Client{Transport: server}), WithRates(":4319"), WithMethodFile(path),
			WithService("shop", "2"), WithAttributes(map[string]string{"service.namespace": "demo", "deployment.environment.name": "test"}))
		before := map[*Method]settings{
			ratedPlain:    {rate: 0.01, cpuRate: 1},
			ratedCoded:    {rate: 0.5, cpuRate: 0.5},
			ratedOff:      {mode: Off},
			ratedBlocking: {rate: 0.01},
			ratedFiled:    {rate: 0.125, cpuRate: 1},
			ratedBounded:  {rate: 0.25, cpuRate: 1},
		}
		check := func(when string, want map[*Method]settings) {
			t.Helper()
			for m, s := range want {
				got := planOf(m)
				if got.asked = 0; got != s { // TestBudget_LowersDefaultRates is about that
					t.Errorf("%s: %s has %+v, want %+v", when, m.Name(), got, s)
				}
			}
		}
		check("at the start", before)
		ratedPlain.Begin().End()
		server.mu.Unlock()
		time.Sleep(5 * time.Second)
		check("served", map[*Method]settings{
			ratedPlain:    {mode: Aggregate, rate: 0.02, cpuRate: 1},
			ratedCoded:    {rate: 0.001, cpuRate: 1},
			ratedOff:      {mode: Off},
			ratedBlocking: {mode: Aggregate, rate: 0.02},
			ratedFiled:    {rate: 0.03, cpuRate: 1},
			ratedBounded:  {rate: 0.3, cpuRate: 1},
			sampled:       {rate: 0.05, cpuRate: 1}, // the file's max, not the rate served to all
		})
		if n := len(server.spans(t, "counts")); n != 1 {
			t.Errorf("%d counts spans at the change of mode, want 1", n)
		}
		query := server.polls()[0].URL.Query()
		for key, want := range map[string]string{"namespace": "demo", "service": "shop", "environment": "test", "version": "2", "instance": instanceID(), "wait": "25s"} {
			if query.Get(key) != want {
				t.Errorf("asked with %s = %q, want %q", key, query.Get(key), want)
			}
		}
		if got := server.polls()[0].URL; got.Host != "localhost:4319" || got.Path != "/v1/rates" {
			t.Errorf("asked at %s", got)
		}
		time.Sleep(5 * time.Minute) // unchanged over many polls
		check("still fresh", map[*Method]settings{ratedCoded: {rate: 0.001, cpuRate: 1}})
		if n := len(server.polls()); n < 10 || n > 20 {
			t.Errorf("asked %d times in 5 minutes", n)
		}
		server.serve(`{"revision": "b", "ttl_s": 60, "methods": [{"name": "rated.T.Coded", "mode": "off"}]}`)
		time.Sleep(2 * time.Second)
		inForce := server.all(t)
		if last := inForce[len(inForce)-1].scope; last["corehour.rates.served"] != true {
			t.Errorf("a request with rates in force says %v", last)
		}
		check("changed", map[*Method]settings{ratedCoded: {mode: Off}, ratedPlain: {rate: 0.01, cpuRate: 1}})
		server.fail(true)
		time.Sleep(30 * time.Second)
		check("not yet stale", map[*Method]settings{ratedCoded: {mode: Off}})
		time.Sleep(2 * time.Minute)
		check("stale", before)
		stale := server.all(t)
		if last := stale[len(stale)-1].scope; last["corehour.rates.served"] != nil {
			t.Errorf("a request with stale rates says %v", last)
		}
		asked := len(server.polls())
		time.Sleep(10 * time.Minute)
		if n := len(server.polls()) - asked; n > 20 {
			t.Errorf("asked %d times in 10 minutes of failure", n)
		}
		server.fail(false)
		time.Sleep(2 * time.Minute)
		check("back", map[*Method]settings{ratedCoded: {mode: Off}})
		stop()
	})
}

// A collector that answers at once is not polled without pause.
func TestPoll_Paced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		eager := roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodGet {
				asked++
			}
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{}`)), Header: http.Header{}, Request: r}, nil
		})
		_, stop := start(t, WithHTTPClient(&http.Client{Transport: eager}), WithRates("http://rates:1"))
		time.Sleep(time.Minute)
		stop()
		if asked > 90 || asked < 40 {
			t.Errorf("asked %d times in a minute", asked)
		}
	})
}

func FuzzParseRates(f *testing.F) {
	f.Add([]byte(`{"revision":1,"ttl_s":30,"default":{"mode":"sample","p":0.01},"methods":[{"match":"a.*","p":1}]}`))
	f.Add([]byte(`{"ttl_s":1e300,"methods":[{"name":"(*","cpu_p":0}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := parseRates(data)
		if err != nil {
			return
		}
		if table.ttl <= 0 || table.ttl > maxRateTTL {
			t.Errorf("fresh for %s", table.ttl)
		}
		w, _ := table.overrideFor("a.B")
		for _, share := range []*float64{w.rate, w.cpuRate, table.fallback.rate} {
			if share != nil && !(*share >= 0 && *share <= 1) {
				t.Errorf("a share of %v came through", *share)
			}
		}
	})
}

// A collector that does not know the service yet is polled again at the time it states, does not count as
// down, and causes no message.
func TestPoll_RatesNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []time.Time
		begin := time.Now()
		young := roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodGet {
				return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Header: http.Header{}, Request: r}, nil
			}
			asked = append(asked, time.Now())
			if len(asked) < 3 {
				return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: http.NoBody, Header: http.Header{"Retry-After": {"7"}}, Request: r}, nil
			}
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{"ttl_s": 60, "methods": [{"name": "rated.Plain", "p": 0.5}]}`)), Header: http.Header{}, Request: r}, nil
		})
		_, stop := start(t, WithHTTPClient(&http.Client{Transport: young}), WithRates("http://rates:1"))
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if len(asked) < 3 || asked[2].Sub(begin) < 14*time.Second || asked[2].Sub(begin) > 20*time.Second {
			t.Errorf("asked at %v", asked)
		}
		if got := planOf(ratedPlain).rate; got != 0.5 {
			t.Errorf("the rate is %v, want 0.5", got)
		}
		stop()
	})
}
