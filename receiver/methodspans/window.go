package methodspans

// minWindow is the initial capacity of a window.
const minWindow = 64

// sequenceWindow remembers the numbers seen among the last size numbers of a rising sequence,
// with a digest of each.
type sequenceWindow struct {
	lowest, highest int64    // remembered numbers; 0 = none
	digests         []uint32 // by number modulo len; 0 = not seen
	size            int64
}

func newSequenceWindow(size int) *sequenceWindow {
	return &sequenceWindow{digests: make([]uint32, min(minWindow, size)), size: int64(size)}
}

// seen returns the digest of n, 0 if it was not added; old is true if n is before the window.
func (w *sequenceWindow) seen(n int64) (digest uint32, old bool) {
	switch {
	case w.highest-n >= w.size:
		return 0, true
	case n < w.lowest || n > w.highest:
		return 0, false
	}
	return *w.at(n), false
}

// remember adds n with a digest, which must not be 0. It does nothing if n is before the window
// or present.
func (w *sequenceWindow) remember(n int64, digest uint32) {
	if w.highest-n >= w.size {
		return
	}
	if n-w.highest >= w.size || w.highest == 0 { // no number stays
		clear(w.digests)
		w.lowest, w.highest = n, n
	}
	highest := max(w.highest, n)
	lowest := max(min(w.lowest, n), highest-w.size+1)
	w.resize(lowest, highest)
	if at := w.at(n); *at == 0 {
		*at = digest
	}
}

// resize changes the window to the numbers from lowest to highest.
func (w *sequenceWindow) resize(lowest, highest int64) {
	digests := w.digests
	if need := highest - lowest + 1; need > int64(len(digests)) {
		digests = make([]uint32, min(w.size, max(2*int64(len(w.digests)), need)))
		for m := w.highest; m >= max(lowest, w.lowest); m-- {
			digests[m%int64(len(digests))] = *w.at(m)
		}
	}
	w.digests = digests
	for m := lowest; m < w.lowest; m++ {
		*w.at(m) = 0
	}
	for m := highest; m > w.highest; m-- { // highest can be math.MaxInt64
		*w.at(m) = 0
	}
	w.lowest, w.highest = lowest, highest
}

func (w *sequenceWindow) at(n int64) *uint32 { return &w.digests[n%int64(len(w.digests))] }
