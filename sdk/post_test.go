package corehour

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/corehour/corehour/sdk/internal/export"
)

// Which answers are retried with the same number, and when.
func TestDeliver_Retries(t *testing.T) {
	ok := answerOf(http.StatusOK, false)
	for name, c := range map[string]struct {
		answers  []answerFunc
		arrived  int // requests accepted
		attempts int
		waited   time.Duration
		outcome  export.Outcome
	}{
		"accepted":                {[]answerFunc{ok}, 1, 1, 0, export.Accepted},
		"busy, then accepted":     {[]answerFunc{answerOf(503, false), ok}, 1, 2, 0, export.Accepted},
		"too many, wait 7 s":      {[]answerFunc{waitOf(429, "7"), ok}, 1, 2, 7 * time.Second, export.Accepted},
		"bad gateway":             {[]answerFunc{answerOf(502, false), ok}, 1, 2, 0, export.Accepted},
		"gateway timeout":         {[]answerFunc{answerOf(504, false), ok}, 1, 2, 0, export.Accepted},
		"taken, answer lost":      {[]answerFunc{answerOf(200, true), ok}, 2, 2, 0, export.Accepted},
		"bad request":             {[]answerFunc{answerOf(400, false)}, 0, 1, 0, export.Refused},
		"not found":               {[]answerFunc{answerOf(404, false)}, 0, 1, 0, export.Refused},
		"redirect":                {[]answerFunc{answerOf(307, false)}, 0, 1, 0, export.Refused},
		"redirect to no URL":      {[]answerFunc{movedTo("http://[::1")}, 0, 1, 0, export.Refused},
		"server error":            {[]answerFunc{answerOf(500, false)}, 0, 1, 0, export.Unknown},
		"lost, then refused":      {[]answerFunc{answerOf(200, true), answerOf(400, false)}, 1, 2, 0, export.Unknown},
		"busy, then refused":      {[]answerFunc{answerOf(503, false), answerOf(400, false)}, 0, 2, 0, export.Refused},
		"asked to wait long":      {[]answerFunc{waitOf(503, "600"), ok}, 1, 2, time.Minute, export.Accepted},
		"asked for ever":          {[]answerFunc{waitOf(503, "86400"), waitOf(503, "86400")}, 0, 2, time.Minute, export.Refused},
		"until the year 9999":     {[]answerFunc{waitOf(503, "Fri, 31 Dec 9999 23:59:59 GMT"), waitOf(503, "9")}, 0, 2, time.Minute, export.Refused},
		"asked to wait by a date": {[]answerFunc{waitOf(503, "Sat, 01 Jan 2000 00:00:30 GMT"), ok}, 1, 2, 30 * time.Second, export.Accepted},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				attempts := 0
				server := &collector{answer: func(r *http.Request) (bool, int, http.Header, bool) {
					if attempts >= len(c.answers) {
						t.Fatalf("attempt %d", attempts+1)
					}
					attempts++
					if r.Header.Get("Content-Type") != "application/x-protobuf" || r.Header.Get("X-Token") != "s3cret" {
						t.Errorf("headers %v", r.Header)
					}
					return c.answers[attempts-1]()
				}}
				e, _ := startWith(t, func(cfg *config) {
					cfg.client = server.client()
					cfg.headers["X-Token"] = "s3cret"
				})
				e.cut(e.unix(now()), false)
				began := time.Now()
				r := e.buildRequest(false)
				if got, _ := e.out(r); got != c.outcome {
					t.Errorf("outcome %d, want %d", got, c.outcome)
				}
				if attempts != c.attempts || int(e.counters.retried.Load()) != attempts-1 {
					t.Errorf("%d attempts, %d retries counted; want %d attempts", attempts, e.counters.retried.Load(), c.attempts)
				}
				if waited := time.Since(began); waited < c.waited || waited > c.waited+2*time.Second {
					t.Errorf("waited %s, want %s", waited, c.waited)
				}
				if len(server.requests) != c.arrived {
					t.Errorf("%d arrived, want %d", len(server.requests), c.arrived)
				}
				if len(server.all(t)) > 1 {
					t.Error("the same request came with two numbers")
				}
			})
		})
	}
}

type answerFunc func() (bool, int, http.Header, bool)

func answerOf(status int, lost bool) answerFunc {
	return func() (bool, int, http.Header, bool) { return status == 200, status, http.Header{}, lost }
}

func waitOf(status int, after string) answerFunc {
	return func() (bool, int, http.Header, bool) {
		return false, status, http.Header{"Retry-After": {after}}, false
	}
}

func movedTo(location string) answerFunc {
	return func() (bool, int, http.Header, bool) {
		return false, http.StatusFound, http.Header{"Location": {location}}, false
	}
}

// A request that never gets through is given up in the end, and its data is put back.
func TestDeliver_GivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &collector{answer: answerOfAll(http.StatusServiceUnavailable)}
		e, _ := startWith(t, func(cfg *config) { cfg.client = server.client() })
		force(e, childMethod, settings{rate: 1})
		for range 5 {
			childMethod.Begin().End()
		}
		e.cut(e.unix(now()), false)
		began := time.Now()
		e.flush(false)
		if took := time.Since(began); took > e.retry.Total || took < e.retry.Total/2 {
			t.Errorf("given up after %s, want about %s", took, e.retry.Total)
		}
		if e.intervals.calls() != 5 || e.cells.length() != 1 || e.cells.folded != 5 || e.counters.failed.Load() != 7 {
			t.Errorf("%d calls and %d cells put back, %d folded, %d spans failed", e.intervals.calls(), e.cells.length(), e.cells.folded, e.counters.failed.Load())
		}
		server.answer = nil
		e.flush(false)
		if got := counted(server, t)["called.Child"]; got != 5 {
			t.Errorf("%d counted", got)
		}
		if cells := server.spans(t, "aggregate"); len(cells) != 1 || cells[0].int("corehour.measured") != 5 {
			t.Errorf("cells %+v", cells)
		} else {
			checkCell(t, cells[0])
		}
	})
}

func answerOfAll(status int) func(*http.Request) (bool, int, http.Header, bool) {
	return func(*http.Request) (bool, int, http.Header, bool) { return false, status, http.Header{}, false }
}

// Only what was never sent goes to the next collector.
func TestDeliver_FailOver(t *testing.T) {
	for name, c := range map[string]struct {
		first   []string // answers of the preferred collector, per attempt
		want    string   // the collectors that were asked
		outcome export.Outcome
	}{
		"up":                 {[]string{"ok"}, "1", export.Accepted},
		"not there":          {[]string{"unsent"}, "12", export.Accepted},
		"busy":               {[]string{"busy", "ok"}, "11", export.Accepted},
		"unknown":            {[]string{"lost", "unsent", "ok"}, "111", export.Accepted},
		"busy, then gone":    {[]string{"busy", "unsent"}, "112", export.Accepted},
		"unknown, then gone": {[]string{"lost", "unsent", "refuse"}, "111", export.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var e *engine
				asked := ""
				transport := roundTrip(func(r *http.Request) (*http.Response, error) {
					ok := &http.Response{StatusCode: 200, Body: http.NoBody, Request: r}
					if r.URL.String() != e.collectors[0] {
						asked += "2"
						return ok, nil
					}
					asked += "1"
					does := c.first[0]
					c.first = c.first[1:]
					switch does {
					case "unsent":
						return nil, errLost
					case "lost":
						trace(r)
						return nil, errLost
					case "busy":
						return &http.Response{StatusCode: 503, Body: http.NoBody, Request: r}, nil
					case "refuse":
						return &http.Response{StatusCode: 400, Body: http.NoBody, Request: r}, nil
					}
					return ok, nil
				})
				e, _ = startWith(t, func(cfg *config) {
					cfg.client = &http.Client{Transport: transport}
					cfg.collectors = []string{"http://a:1/v1/traces", "http://b:1/v1/traces"}
				})
				e.cut(e.unix(now()), false)
				r := e.buildRequest(false)
				if r.stats.Endpoints != 2 {
					t.Errorf("the process row says that it may send to %d collectors", r.stats.Endpoints)
				}
				if got, _ := e.out(r); got != c.outcome || asked != c.want {
					t.Errorf("outcome %d after asking %s, want %d after %s", got, asked, c.outcome, c.want)
				}
			})
		})
	}
}
