package methodspans

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/corehour/corehour/internal/shares"
)

// namePeriod is the minimum time an unseen name stays in the set; the maximum is twice that.
const namePeriod = time.Hour

// names bounds the number of distinct methods and callers of a service, since each is a key in
// all later tables and reports. If the table is full, a new name is replaced by
// methodspan.Overflow, so its calls are not lost.
//
// Names are remembered by their hash. Two names with the same hash let one more name pass,
// which is harmless.
type names struct {
	seed     maphash.Seed
	maxNames int
	now      func() time.Time

	mu       sync.Mutex
	services *shares.Table[serviceKey, *serviceNames]
}

type serviceKey struct{ namespace, name string }

// serviceNames holds the names of one service and the state of its sampling. The user holds mu
// for the duration of a request.
type serviceNames struct {
	mu       sync.Mutex
	methods  nameSet
	callers  nameSet
	ratio    ratioEstimate // of traces whose root has no known probability
	ratioAll ratioEstimate // of all traces
	unpolled unpolled
	counted  int64 // period of the latest counts without a batch number, 0 = none
}

func newNames(maxServices, maxNames int, now func() time.Time) *names {
	return &names{
		seed:     maphash.MakeSeed(),
		maxNames: maxNames,
		now:      now,
		services: shares.New[serviceKey, *serviceNames](maxServices),
	}
}

func newServiceNames() *serviceNames {
	return &serviceNames{methods: newNameSet(), callers: newNameSet(), unpolled: make(unpolled)}
}

// lock returns the names of a service, locked.
func (n *names) lock(key serviceKey, sender string, t *requestCounts) *serviceNames {
	period := n.now().UnixNano() / int64(namePeriod)
	s := n.find(key, sender, t)
	s.mu.Lock()
	s.methods.turn(period)
	s.callers.turn(period)
	return s
}

func (n *names) find(key serviceKey, sender string, t *requestCounts) *serviceNames {
	n.mu.Lock()
	defer n.mu.Unlock()
	s, ok := n.services.Get(key, sender)
	if !ok {
		s = newServiceNames()
		if _, full := n.services.Add(key, s, sender); full {
			t.overflow[tableServices]++
		}
	}
	return s
}

func (n *names) hash(name string) uint64 { return maphash.String(n.seed, name) }

func (n *names) sizes(sizes *[tableCount]int64) {
	n.mu.Lock()
	all := make([]*serviceNames, 0, n.services.Len())
	for _, s := range n.services.All {
		all = append(all, s)
	}
	n.mu.Unlock()
	sizes[tableServices] = int64(len(all))
	for _, s := range all {
		s.mu.Lock()
		sizes[tableMethods] += int64(s.methods.len())
		sizes[tableCallers] += int64(s.callers.len())
		sizes[tableUnpolled] += int64(len(s.unpolled))
		s.mu.Unlock()
	}
}

// nameSet holds the names seen in this period and those seen only in the previous one.
// Together they are bounded: a used name keeps its place against new ones, and an unused name
// loses it.
type nameSet struct {
	period   int64
	current  map[uint64]struct{}
	previous map[uint64]struct{}
}

func newNameSet() nameSet { return nameSet{current: make(map[uint64]struct{})} }

func (s *nameSet) len() int { return len(s.current) + len(s.previous) }

// turn starts a new period.
func (s *nameSet) turn(period int64) {
	switch {
	case period <= s.period:
		return
	case period == s.period+1:
		s.previous = s.current
	default: // nothing was seen in the period before
		s.previous = nil
	}
	s.current = make(map[uint64]struct{}, len(s.previous))
	s.period = period
}

// admit adds the name if there is room, and reports whether it is in the set.
func (s *nameSet) admit(hash uint64, limit int) bool {
	if _, ok := s.current[hash]; ok {
		return true
	}
	if _, ok := s.previous[hash]; ok {
		delete(s.previous, hash)
	} else if s.len() >= limit {
		return false
	}
	s.current[hash] = struct{}{}
	return true
}
