package methodspan

import (
	"strings"
	"sync"
)

const (
	// maxNames is how many functions and how many callers are remembered. Beyond it
	// they are all forgotten and learned again.
	maxNames = 1 << 16
	// maxRemembered is how long a name may be to be remembered.
	maxRemembered = 2048
)

// names remembers what function names mean, and one copy of every caller: rows
// wait in a queue, and rows that share their names take less room there and give
// the garbage collector less to follow.
type names struct {
	mu        sync.RWMutex
	functions map[string]Function
	callers   map[string]string
}

// nameReader is the use of the names by one request. It holds them for reading
// from begin to end, which costs less than a lock for each span, and keeps what it
// met for the first time until then.
type nameReader struct {
	names      *names
	functions  map[string]Function // met for the first time
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
	name = strings.Clone(name) // what is remembered must not keep a request alive
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

// group shares the name with the row before, which mostly has the same.
func (r *nameReader) group(name string) string {
	if name != r.lastGroup {
		r.lastGroup = name
	}
	return r.lastGroup
}

// end gives up the names and adds to them what was missing.
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

// spelled is the constant for a word of the contract, so that no row keeps the
// sender's copy of it; any other text is returned as it is.
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
