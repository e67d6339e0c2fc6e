package samplingrates

import (
	"container/list"
	"sync"
	"time"

	"github.com/corehour/corehour/internal/rates"
)

// served remembers what stock SDKs were told and since when: their spans say
// nothing of it. Of each service the newest tables are kept, and of services
// those that asked last.
type served struct {
	maxServices, maxTables int

	mu       sync.RWMutex
	order    *list.List // of *history, the one that asked last in front
	services map[string]*list.Element
	tables   int
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
}

func newServed(maxServices, maxTables int) *served {
	return &served{maxServices: maxServices, maxTables: maxTables, order: list.New(), services: make(map[string]*list.Element)}
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
			oldest := s.order.Remove(s.order.Back()).(*history)
			delete(s.services, oldest.service)
			s.tables -= len(oldest.tables)
			services++
		}
		element = s.order.PushFront(&history{service: service})
		s.services[service] = element
	}
	h := element.Value.(*history)
	if n := len(h.tables); n > 0 && h.tables[n-1].revision == revision {
		return services, 0
	}
	if len(h.tables) >= s.maxTables {
		h.tables = append(h.tables[:0], h.tables[1:]...)
		s.tables--
		tables++
	}
	h.tables = append(h.tables, servedTable{at, revision, what})
	s.tables++
	return services, tables
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
