package samplingrates

import (
	"container/list"
	"slices"
	"sync"
	"time"

	"github.com/corehour/corehour/internal/rates"
)

// maxServedBytes is what the tables take in memory, about.
const maxServedBytes = 64 << 20

// served remembers what stock SDKs were told and since when: their spans say
// nothing of it. Of each service the newest tables are kept, and of services
// those that asked last.
type served struct {
	maxServices, maxTables, maxBytes int

	mu       sync.RWMutex
	order    *list.List // of *history, the one that asked last in front
	services map[string]*list.Element
	tables   int
	bytes    int
}

// history is what a service was told, the oldest first.
type history struct {
	service string
	tables  []servedTable
}

// servedTable is in force until the next one is.
type servedTable struct {
	since    time.Time // first served
	revision string
	strategy *strategy
	names    bool // its strategy's names are counted here: the table before has others
}

// weight is about what a table takes in memory, in bytes.
func (t *servedTable) weight() int {
	n := 192 + len(t.revision) + 8*len(t.strategy.probabilities)
	if t.names {
		n += t.strategy.weightOfNames()
	}
	return n
}

// weight of a service without its tables.
func (h *history) weight() int { return 256 + len(h.service) }

func newServed(maxServices, maxTables int) *served {
	return &served{maxServices: maxServices, maxTables: maxTables, maxBytes: maxServedBytes, order: list.New(), services: make(map[string]*list.Element)}
}

func (s *served) sizes() (services, tables int64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return int64(len(s.services)), int64(s.tables)
}

// remember returns how many services and how many tables were forgotten to make
// room.
func (s *served) remember(service string, at time.Time, revision string, what *strategy) (services, tables int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	element, ok := s.services[service]
	if ok {
		s.order.MoveToFront(element)
	} else {
		if len(s.services) >= s.maxServices {
			s.forget(s.order.Back())
			services++
		}
		h := &history{service: service}
		element = s.order.PushFront(h)
		s.services[service] = element
		s.bytes += h.weight()
	}
	h := element.Value.(*history)
	if n := len(h.tables); n > 0 && h.tables[n-1].revision == revision {
		return services, 0
	}
	if len(h.tables) >= s.maxTables {
		s.forgetOldest(h)
		tables++
	}
	s.add(h, servedTable{since: at, revision: revision, strategy: what, names: true})
	for s.bytes > s.maxBytes && s.tables > 1 {
		last := s.order.Back()
		if h := last.Value.(*history); len(h.tables) > 1 {
			s.forgetOldest(h)
			tables++
		} else {
			s.forget(last)
			services++
		}
	}
	return services, tables
}

// add appends a table. Most differ from the one before in probabilities alone, and
// share its names.
func (s *served) add(h *history, t servedTable) {
	if n := len(h.tables); n > 0 && slices.Equal(h.tables[n-1].strategy.names, t.strategy.names) {
		t.strategy = &strategy{t.strategy.otherwise, h.tables[n-1].strategy.names, t.strategy.probabilities}
		t.names = false
	}
	h.tables = append(h.tables, t)
	s.tables++
	s.bytes += t.weight()
}

// forgetOldest takes the oldest table out. Names that the next one shares are counted
// there from now on.
func (s *served) forgetOldest(h *history) {
	s.bytes -= h.tables[0].weight()
	s.tables--
	if len(h.tables) > 1 && !h.tables[1].names {
		h.tables[1].names = true
		s.bytes += h.tables[1].strategy.weightOfNames()
	}
	h.tables = slices.Delete(h.tables, 0, 1)
}

// forget takes a service out.
func (s *served) forget(element *list.Element) {
	h := s.order.Remove(element).(*history)
	delete(s.services, h.service)
	for len(h.tables) > 0 {
		s.forgetOldest(h)
	}
	s.bytes -= h.weight()
}

// ServedRate is that of the table that was the newest served to any process of
// the service when the trace began. Processes ask at times of their own, so
// after a change one that has not asked again is credited with the new rate too
// early, by the time between its questions at most.
func (s *server) ServedRate(target rates.Target, operation string, start time.Time) (float64, bool) {
	return s.served.rate(target.Service, operation, start)
}

func (s *served) rate(service, operation string, start time.Time) (float64, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	element, ok := s.services[service]
	if !ok {
		return 0, false
	}
	tables := element.Value.(*history).tables
	for i := len(tables) - 1; i >= 0; i-- { // most spans have just begun
		if !tables[i].since.After(start) {
			p := tables[i].strategy.probability(operation)
			return p, p > 0 // what was to be dropped was kept by something else
		}
	}
	return 0, false
}
