package methodspan

import (
	"strings"
	"sync"
)

const (
	// maxNames bounds the remembered functions and callers, each. A full map is cleared.
	maxNames = 1 << 16
	// maxRemembered is the maximum length in bytes of a remembered name.
	maxRemembered = 2048
)

// names caches parsed function names and one copy of every caller. Rows wait in a queue;
// shared names take less memory there and less work of the garbage collector.
type names struct {
	mu        sync.RWMutex
	functions map[string]Function
	callers   map[string]string
}

// nameReader is the view of one request on names. It holds the read lock from begin to end,
// which is cheaper than a lock per span, and collects new names until end.
type nameReader struct {
	names      *names
	functions  map[string]Function // new in this request
	callers    map[string]string
	lastCaller string
	lastGroup  string
}

func (n *names) begin() nameReader {
	n.mu.RLock()
	return nameReader{names: n}
}

func (r *nameReader) function(name string) Function {
	if f, ok := r.names.functions[name]; ok {
		return f
	}
	if f, ok := r.functions[name]; ok {
		return f
	}
	if len(name) > maxRemembered {
		return ParseFunction(name)
	}
	if r.functions == nil {
		r.functions = make(map[string]Function)
	}
	name = strings.Clone(name) // a remembered name must not keep the request in memory
	f := ParseFunction(name)
	r.functions[name] = f
	return f
}

func (r *nameReader) caller(name string) string {
	if name == r.lastCaller {
		return r.lastCaller
	}
	shared, ok := r.names.callers[name]
	if !ok {
		shared, ok = r.callers[name]
	}
	switch {
	case ok:
	case len(name) > maxRemembered:
		shared = name
	default:
		if r.callers == nil {
			r.callers = make(map[string]string)
		}
		shared = strings.Clone(name)
		r.callers[shared] = shared
	}
	r.lastCaller = shared
	return shared
}

// group returns name, shared with the previous row if it has the same.
func (r *nameReader) group(name string) string {
	if name != r.lastGroup {
		r.lastGroup = name
	}
	return r.lastGroup
}

// end releases the read lock and adds the new names.
func (r *nameReader) end() {
	n := r.names
	n.mu.RUnlock()
	if len(r.functions)+len(r.callers) == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.functions = remember(n.functions, r.functions)
	n.callers = remember(n.callers, r.callers)
}

func remember[V any](known, more map[string]V) map[string]V {
	if known == nil || len(known)+len(more) > maxNames {
		known = make(map[string]V)
	}
	for name, v := range more {
		if len(known) == maxNames {
			break
		}
		known[name] = v
	}
	return known
}

// spelled returns the package's constant for a known word, so that no row keeps the sender's
// copy of it. It returns any other text unchanged.
func spelled(s string) string {
	switch s {
	case KindCall:
		return KindCall
	case KindCounts:
		return KindCounts
	case KindAggregate:
		return KindAggregate
	case KindProcess:
		return KindProcess
	case CPUExact: // BasisExact too
		return CPUExact
	case CPUNotSampled:
		return CPUNotSampled
	case CPUUntrusted:
		return CPUUntrusted
	case CPUUnavailable:
		return CPUUnavailable
	case BasisThreshold:
		return BasisThreshold
	case BasisInherited:
		return BasisInherited
	case BasisLegacy:
		return BasisLegacy
	case BasisServed:
		return BasisServed
	case BasisEstimated:
		return BasisEstimated
	case BasisConfigured:
		return BasisConfigured
	case BasisAssumed:
		return BasisAssumed
	case StratumTail:
		return StratumTail
	}
	return s
}
