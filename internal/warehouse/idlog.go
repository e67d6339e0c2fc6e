package warehouse

import (
	"slices"
	"time"
)

// idLog remembers the ids of committed items, for a window of time and up to a maximum number of runs. When
// it is full it refuses new processes, so that nobody can make it forget the ids of known ones by inventing
// processes. A repeat of a forgotten item is stored twice.
type idLog struct {
	window time.Duration
	max    int // runs
	known  map[string]*knownIDs
	pages  []*idPage      // oldest first
	places map[string]int // runs by sender
	runs   int
	// dropped counts the runs that were forgotten before the end of the window.
	dropped int64
}

// knownIDs holds the ids with one prefix, or a plain id.
type knownIDs struct {
	runs   []span
	page   *idPage
	sender string // whose places it takes; empty = unknown
}

// places returns the number of runs that the ids take. A plain id and an admitted process without stored
// items take the place of one.
func (k *knownIDs) places() int { return max(1, len(k.runs)) }

// idPage lists the keys whose newest ids were committed in one part of the window. Ids are forgotten by
// whole pages.
type idPage struct {
	part time.Time
	last time.Time
	keys []string // including those that have moved to a newer page
}

const (
	pagesPerLog = 24
	// senderShare is how many times as many places as are free one sender may have. So one sender gets at
	// most seven eighths of all, and the others always find free ones.
	senderShare = 7
)

func newIDLog(window time.Duration, most int) idLog {
	return idLog{window: window, max: most, known: map[string]*knownIDs{}, places: map[string]int{}}
}

func (b *idLog) has(id string) bool {
	key, n, numbered := keyOf(id)
	k := b.known[key]
	return k != nil && (!numbered || hasNumber(k.runs, n))
}

// admit reports whether the ids of a process can be remembered. It reserves a place for a new process.
func (b *idLog) admit(id, sender string, t time.Time) bool {
	key, _, _ := keyOf(id)
	b.forget(t)
	k := b.known[key]
	if k == nil {
		if !b.hasRoom(sender, 1) {
			return false
		}
		k = b.addKey(key, t)
	}
	if k.sender == "" && sender != "" {
		k.sender = sender
		b.places[sender] += k.places()
	}
	return true
}

// hasRoom reports whether a sender may have n places more.
func (b *idLog) hasRoom(sender string, n int) bool {
	free := b.max - b.runs
	return n <= free && (sender == "" || b.places[sender]/senderShare < free)
}

func (b *idLog) addKey(key string, t time.Time) *knownIDs {
	k := &knownIDs{page: b.page(t)}
	k.page.keys = append(k.page.keys, key)
	b.known[key] = k
	b.runs++
	return k
}

// page returns the page for ids committed at t.
func (b *idLog) page(t time.Time) *idPage {
	part := t.UTC().Truncate(b.window / pagesPerLog)
	n := len(b.pages)
	if n == 0 || part.After(b.pages[n-1].part) {
		b.pages = append(b.pages, &idPage{part: part, last: t})
		return b.pages[n]
	}
	p := b.pages[n-1]
	p.last = maxTime(p.last, t)
	return p
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// addIDs remembers ids. Where there is no room, a known process forgets its own oldest ids instead.
func (b *idLog) addIDs(ids []string, t time.Time) {
	b.forget(t)
	for _, id := range ids {
		key, n, numbered := keyOf(id)
		k := b.known[key]
		if k == nil && b.runs >= b.max {
			b.dropped++
			continue
		}
		k = b.use(key, t)
		if !numbered {
			continue
		}
		before := k.places()
		b.addRuns(k, span{n, n})
		if k.places() > before && !b.hasRoom(k.sender, 0) {
			k.runs = slices.Delete(k.runs, 0, 1)
			b.resize(k, before+1)
			b.dropped++
		}
	}
}

// use returns the ids of a key, which move to the page of t.
func (b *idLog) use(key string, t time.Time) *knownIDs {
	k := b.known[key]
	if k == nil {
		return b.addKey(key, t)
	}
	if p := b.page(t); k.page != p {
		k.page = p
		p.keys = append(p.keys, key)
	}
	return k
}

func (b *idLog) addRuns(k *knownIDs, runs ...span) {
	before := k.places()
	if len(runs) == 1 {
		k.runs = addRun(k.runs, runs[0])
	} else {
		k.runs = addRuns(k.runs, runs)
	}
	b.resize(k, before)
}

// resize counts the places of k, which were before.
func (b *idLog) resize(k *knownIDs, before int) {
	grown := k.places() - before
	b.runs += grown
	if k.sender != "" {
		b.places[k.sender] += grown
	}
}

// addPacked adds a saved page. Pages are added oldest first. Beyond the maximum it drops the oldest ones.
func (b *idLog) addPacked(packed map[string]string, t time.Time) error {
	for key, text := range packed {
		if err := checkKey(key); err != nil {
			return err
		}
		var runs []span
		if !isPlain(key) {
			var err error
			if runs, err = parseRuns(text); err != nil {
				return err
			}
		}
		if k := b.use(key, t); runs != nil {
			b.addRuns(k, runs...)
		}
	}
	b.forget(t)
	for len(b.pages) > 1 && b.runs > b.max {
		before := b.runs
		b.dropPage()
		b.dropped += int64(before - b.runs)
	}
	return nil
}

// forget drops the pages that are older than the window.
func (b *idLog) forget(now time.Time) {
	for len(b.pages) > 0 && now.Sub(b.pages[0].last) > b.window {
		b.dropPage()
	}
}

// dropPage forgets the ids of the oldest page.
func (b *idLog) dropPage() {
	p := b.pages[0]
	b.pages[0] = nil
	b.pages = b.pages[1:]
	for _, key := range p.keys {
		k := b.known[key]
		if k == nil || k.page != p {
			continue
		}
		delete(b.known, key)
		b.runs -= k.places()
		if k.sender == "" {
			continue
		}
		if b.places[k.sender] -= k.places(); b.places[k.sender] == 0 {
			delete(b.places, k.sender)
		}
	}
}

// packed returns the stored ids of a page in the form of manifests.
func (b *idLog) packed(p *idPage) map[string]string {
	ids := IDSet{}
	for _, key := range p.keys {
		if k := b.known[key]; k != nil && k.page == p && (len(k.runs) > 0 || isPlain(key)) {
			ids[key] = k.runs
		}
	}
	return ids.Pack()
}
