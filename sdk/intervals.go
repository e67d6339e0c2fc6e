package corehour

import "sync"

// interval holds the counts of one process in one interval, inside one minute.
type interval struct {
	start, end int64 // Unix ns
	lasted     int64 // ns, including absorbed intervals
	methods    []*Method
	calls      []int64
	activated  int   // number of methods, before the recent ones, that callers switched on shortly before
	recent     int   // number of methods, at the end, that callers switched on within the interval
	recentOn   int64 // time of the first of those activations; Unix ns, before end
	total      int64
	cpu        int64 // CPU of the process, ns; only if cpuKnown
	cpuKnown   bool
	sdk        int64 // estimated CPU of the SDK itself, ns: its probes, and building requests
	final      bool
}

// spans returns the number of spans of the interval: one for the process, and its counts.
func (iv *interval) spans() int {
	n := 1
	for _, methods := range []int{len(iv.methods) - iv.activated - iv.recent, iv.activated, iv.recent} {
		if methods > 0 {
			n++
		}
	}
	return n
}

// intervalList holds the intervals that no collector has accepted yet. It is bounded: when it is
// full, the two oldest become one, with exact counts and coarser times.
type intervalList struct {
	mu      sync.Mutex
	waiting []*interval // oldest first
}

const maxIntervals = 64

func (l *intervalList) addInterval(iv *interval) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, iv)
	l.bound()
}

// putBack returns intervals to the list whose request was definitely not accepted.
func (l *intervalList) putBack(ivs []*interval) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(ivs[:len(ivs):len(ivs)], l.waiting...)
	l.bound()
}

func (l *intervalList) bound() {
	for len(l.waiting) > maxIntervals {
		l.waiting[1].absorb(l.waiting[0])
		l.waiting = l.waiting[1:]
	}
}

// absorb adds an older interval. The counts keep the times of the newer one, because a counts span
// never crosses a minute. The process span covers the length of both, since its cores existed all
// the time; the lengths are added, because the clock may have been set in between. Activation times
// are dropped: the older interval's calls were before.
func (iv *interval) absorb(older *interval) {
	at := make(map[*Method]int, len(iv.methods))
	for i, m := range iv.methods {
		at[m] = i
	}
	for i, m := range older.methods {
		if j, ok := at[m]; ok {
			iv.calls[j] += older.calls[i]
		} else {
			iv.methods = append(iv.methods, m)
			iv.calls = append(iv.calls, older.calls[i])
		}
	}
	iv.activated, iv.recent = 0, 0
	iv.lasted += older.lasted
	iv.total += older.total
	iv.cpu += older.cpu
	iv.cpuKnown = iv.cpuKnown && older.cpuKnown
	iv.sdk += older.sdk
}

// removeOldest removes and returns the oldest intervals with together at most counts counts, and at
// least one interval.
func (l *intervalList) removeOldest(counts int) []*interval {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for n < len(l.waiting) {
		if counts -= len(l.waiting[n].methods); counts < 0 && n > 0 {
			break
		}
		n++
	}
	taken := l.waiting[:n:n]
	l.waiting = l.waiting[n:]
	return taken
}

func (l *intervalList) calls() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	total := int64(0)
	for _, iv := range l.waiting {
		total += iv.total
	}
	return total
}

func (l *intervalList) length() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}
