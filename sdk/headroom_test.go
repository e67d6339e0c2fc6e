package corehour

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/corehour/corehour/sdk/internal/spans"
)

// While a collector does not answer, the queue keeps room for calls: its oldest records are aggregated, and
// nothing is lost or counted twice.
func TestHeadroom_CollectorSilent(t *testing.T) {
	m := NewMethod("room.Method")
	synctest.Test(t, func(t *testing.T) {
		c := &collector{}
		silent := make(chan struct{})
		c.answer = func(*http.Request) (bool, int, http.Header, bool) {
			<-silent
			return true, http.StatusOK, nil, false
		}
		e, stop := start(t, WithHTTPClient(c.client()), WithQueue(256), WithFlush(time.Hour, 16))
		force(e, m, settings{rate: 1, cpuRate: 1})
		const calls = 5_000
		for range calls {
			m.Begin().End()
			synctest.Wait() // for the control loop
		}
		s := Stats()
		if s.Dropped != 0 || s.Recorded != calls {
			t.Errorf("%d of %d recorded, %d dropped", s.Recorded, calls, s.Dropped)
		}
		const requested = 16
		if s.Folded+int64(s.QueueLength)+requested != calls || s.FoldLost != 0 || e.cells.measurements() != s.Folded {
			t.Errorf("%d folded, %d in cells, %d wait, %d lost, of %d", s.Folded, e.cells.measurements(), s.QueueLength, s.FoldLost, calls)
		}
		if room := s.QueueCapacity - s.QueueLength; room < 1 || room > 2*requested {
			t.Errorf("room for %d", room)
		}
		close(silent)
		stop()
		if s := Stats(); s.Calls < calls || s.MeasurementsUnsure != 0 {
			t.Errorf("%d calls, %d measurements unsure", s.Calls, s.MeasurementsUnsure)
		}
		measured := int64(len(c.spans(t, "call")))
		for _, cell := range c.spans(t, "aggregate") {
			measured += cell.attrs[spans.AttrMeasured].(int64)
		}
		if measured != calls {
			t.Errorf("%d measurements arrived of %d", measured, calls)
		}
	})
}

// Without a request in flight the records stay, because the sender is about to take them.
func TestHeadroom_OnlyDuringRequest(t *testing.T) {
	m := NewMethod("room.Method")
	e, _ := startWith(t, func(c *config) { c.queue, c.batch = 64, 8 })
	force(e, m, settings{rate: 1})
	for range 64 {
		m.Begin().End()
	}
	e.freeHeadroom()
	if n := e.ring.Length(); n != 64 {
		t.Errorf("%d of 64 records left", n)
	}
	e.delivering.Store(true)
	e.freeHeadroom()
	if n := e.ring.Length(); n != 56 || Stats().Folded != 8 {
		t.Errorf("%d of 64 records left, %d folded", n, Stats().Folded)
	}
}
