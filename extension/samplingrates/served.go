package samplingrates

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/corehour/corehour/internal/rates"
	"github.com/corehour/corehour/internal/shares"
)

// maxServedBytes bounds the approximate memory of the tables.
const maxServedBytes = 64 << 20

// servedHistory remembers the rates served to stock SDKs, with times, because their spans do not carry them. It
// keeps the newest tables of each service. Services that send spans are separate from those that have only
// polled, which are evicted first.
type servedHistory struct {
	maxTables, maxBytes int

	mu     sync.RWMutex
	asked  *shares.Table[string, *history]
	sends  *shares.Table[string, *history]
	tables int
	bytes  int
}

// history holds the tables served to a service, oldest first.
type history struct {
	service string
	tables  []servedTable
	found   atomic.Bool // its spans have come
}

// servedTable is in force until the next one is.
type servedTable struct {
	since    time.Time // first served
	revision string
	strategy *strategy
	names    bool // the names count here, because the table before has others
}

// weight returns the approximate memory of a table, in bytes.
func (t *servedTable) weight() int {
	n := 192 + len(t.revision) + 8*len(t.strategy.probabilities)
	if t.names {
		n += t.strategy.weightOfNames()
	}
	return n
}

// weight of a service without its tables.
func (h *history) weight() int { return 256 + len(h.service) }

func newServed(maxServices, maxTables int) *servedHistory {
	return &servedHistory{
		maxTables: maxTables, maxBytes: maxServedBytes,
		asked: shares.New[string, *history](maxServices), sends: shares.New[string, *history](maxServices),
	}
}

func (s *servedHistory) sizes() (services, tables int64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return int64(s.asked.Len() + s.sends.Len()), int64(s.tables)
}

// remember adds a served table and returns the numbers of evicted services and tables.
func (s *servedHistory) remember(service, sender string, at time.Time, revision string, what *strategy) (services, tables int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, services := s.history(service, sender)
	if n := len(h.tables); n > 0 && h.tables[n-1].revision == revision {
		return services, 0
	}
	if len(h.tables) >= s.maxTables {
		s.forgetOldest(h)
		tables++
	}
	s.addTable(h, servedTable{since: at, revision: revision, strategy: what, names: true})
	for s.bytes > s.maxBytes && s.tables > 1 {
		from := s.asked
		if from.Len() == 0 {
			from = s.sends
		}
		if _, h, _ := from.Least(); len(h.tables) > 1 {
			s.forgetOldest(h)
			tables++
		} else {
			from.Remove(h.service)
			s.forget(h)
			services++
		}
	}
	return services, tables
}

// history returns the history of a service, which it begins if it is new.
func (s *servedHistory) history(service, sender string) (h *history, forgotten int64) {
	if h, ok := s.sends.Get(service, sender); ok {
		return h, 0
	}
	h, ok := s.asked.Get(service, sender)
	to := s.asked
	switch {
	case ok && !h.found.Load():
		return h, 0
	case ok:
		s.asked.Remove(service)
		to = s.sends
	default:
		h = &history{service: service}
		s.bytes += h.weight()
	}
	if gone, full := to.Add(service, h, sender); full {
		s.forget(gone)
		forgotten++
	}
	return h, forgotten
}

// addTable appends a table. Most differ from the one before in probabilities alone, and
// share its names.
func (s *servedHistory) addTable(h *history, t servedTable) {
	if n := len(h.tables); n > 0 && slices.Equal(h.tables[n-1].strategy.names, t.strategy.names) {
		t.strategy = &strategy{t.strategy.otherwise, h.tables[n-1].strategy.names, t.strategy.probabilities}
		t.names = false
	}
	h.tables = append(h.tables, t)
	s.tables++
	s.bytes += t.weight()
}

// forgetOldest removes the oldest table. Names that the next one shares are counted
// there from now on.
func (s *servedHistory) forgetOldest(h *history) {
	s.bytes -= h.tables[0].weight()
	s.tables--
	if len(h.tables) > 1 && !h.tables[1].names {
		h.tables[1].names = true
		s.bytes += h.tables[1].strategy.weightOfNames()
	}
	h.tables = slices.Delete(h.tables, 0, 1)
}

// forget removes the tables of an evicted service.
func (s *servedHistory) forget(h *history) {
	for len(h.tables) > 0 {
		s.forgetOldest(h)
	}
	s.bytes -= h.weight()
}

// ServedRate returns the rate in the newest table that was served to any process of the service when the trace
// began. Processes poll at different times, so after a change a process that has not polled again is credited with
// the new rate too early, by at most its polling interval.
func (s *server) ServedRate(target rates.Target, operation string, start time.Time) (float64, bool) {
	return s.served.rate(target.Service, operation, start)
}

func (s *servedHistory) rate(service, operation string, start time.Time) (float64, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	h, ok := s.sends.Peek(service)
	if !ok {
		if h, ok = s.asked.Peek(service); !ok {
			return 0, false
		}
		h.found.Store(true) // it moves when it polls again
	}
	tables := h.tables
	for i := len(tables) - 1; i >= 0; i-- { // newest first, because most spans have just begun
		if !tables[i].since.After(start) {
			p := tables[i].strategy.probability(operation)
			return p, p > 0 // p = 0: something else kept a trace that this table would drop
		}
	}
	return 0, false
}
