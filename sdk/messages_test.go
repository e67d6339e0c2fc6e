package corehour

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/corehour/corehour/sdk/internal/messagelog"
)

// A collector that fails with different words each time is logged once an hour, however much it writes, and
// later messages are still printed.
func TestDeliver_FaultLoggedHourly(t *testing.T) {
	said := hear(t)
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		long := strings.Repeat("x", 1<<20)
		failing := roundTrip(func(r *http.Request) (*http.Response, error) {
			n := asked.Add(1)
			if n%2 == 0 {
				return nil, fmt.Errorf("fault %d", n)
			}
			return &http.Response{StatusCode: http.StatusBadRequest, Status: fmt.Sprintf("400 no %d\x1b", n) + long, Body: http.NoBody, Request: r}, nil
		})
		shutdown, err := Start(context.Background(), WithHTTPClient(&http.Client{Transport: failing}), WithRates("http://rates:1"))
		if err != nil {
			t.Fatal(err)
		}
		started.Begin().End()
		time.Sleep(70 * time.Minute)
		for _, what := range []string{"not delivered: ", "no rates: "} {
			if n := strings.Count(said(), what); n != 2 {
				t.Errorf("%q said %d times in an hour and ten minutes", what, n)
			}
		}
		if err = shutdown(context.Background()); err == nil || len(err.Error()) > 2*messagelog.MaxMessage {
			t.Errorf("shutdown's error has %d bytes", len(fmt.Sprint(err)))
		}
	})
	for line := range strings.Lines(said()) {
		if len(line) > len("corehour: ")+messagelog.MaxMessage+1 || strings.Contains(line, "\x1b") {
			t.Errorf("a line of %d bytes: %.80q", len(line), line)
		}
	}
}
