package corehour

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Every process of a service ranks collectors alike, services spread evenly, and
// a collector that goes moves only its own.
func TestRendezvous(t *testing.T) {
	collectors := []string{"http://a:4318", "http://b:4318", "http://c:4318", "http://d:4318"}
	first := map[string]int{}
	for i := range 4000 {
		service := fmt.Sprint("service-", i)
		ranked := rank(collectors, "demo", service, "prod")
		first[ranked[0]]++
		reversed := slices.Clone(collectors)
		slices.Reverse(reversed)
		if other := rank(append(reversed, collectors[0]), "demo", service, "prod"); !slices.Equal(ranked, other) {
			t.Fatalf("%s: %v and %v", service, ranked, other)
		}
		gone := rank(slices.DeleteFunc(slices.Clone(collectors), func(c string) bool { return c == ranked[3] }), "demo", service, "prod")
		if !slices.Equal(gone, ranked[:3]) {
			t.Fatalf("%s: %v becomes %v without its last", service, ranked, gone)
		}
	}
	for c, n := range first {
		if n < 850 || n > 1150 {
			t.Errorf("%s has %d services of 4000", c, n)
		}
	}
}

// Only what was never sent goes to the next collector.
func TestFailOver(t *testing.T) {
	for name, c := range map[string]struct {
		first   []string // what the preferred collector does at each attempt
		want    string   // who was asked
		outcome requestOutcome
	}{
		"up":                 {[]string{"ok"}, "1", accepted},
		"not there":          {[]string{"unsent"}, "12", accepted},
		"busy":               {[]string{"busy", "ok"}, "11", accepted},
		"unknown":            {[]string{"lost", "unsent", "ok"}, "111", accepted},
		"busy, then gone":    {[]string{"busy", "unsent"}, "112", accepted},
		"unknown, then gone": {[]string{"lost", "unsent", "refuse"}, "111", unknown},
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
				if got := e.out.deliver(e, r); got != c.outcome || asked != c.want {
					t.Errorf("outcome %d after asking %s, want %d after %s", got, asked, c.outcome, c.want)
				}
			})
		})
	}
}

// A collector that comes back is preferred again.
func TestThePreferredCollectorIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newEndpointList([]string{"a", "b"})
		h.markDown(0)
		if h.best() != 1 {
			t.Error("a collector that is down is the best")
		}
		h.markDown(1)
		if h.best() != 0 {
			t.Error("with all down, the preferred one is not the best")
		}
		time.Sleep(downFor)
		if h.best() != 0 {
			t.Error("a collector stays down for good")
		}
	})
}

func TestRatesAddresses(t *testing.T) {
	collectors := []string{"http://a:4318/v1/traces", "https://[::1]:4318/x/v1/traces"}
	for rates, want := range map[string]string{
		":4319":         "http://a:4319/v1/rates https://[::1]:4319/v1/rates",
		"http://r:1/b/": "http://r:1/b/v1/rates",
	} {
		got, err := ratesURLs(rates, collectors)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %v %v, want %s", rates, got, err, want)
		}
	}
	for _, bad := range []string{"", "rates", "ftp://r", ":x y"} {
		if got, err := ratesURLs(bad, collectors); err == nil {
			t.Errorf("%q is taken for %v", bad, got)
		}
	}
}
