package methodspans

// window remembers which of the last size numbers of a rising sequence were
// seen, in one bit each.
type window struct {
	highest int64
	words   []uint64
	size    int64
}

func newWindow(size int) *window {
	return &window{words: make([]uint64, (size+63)/64), size: int64(size)}
}

// has tells whether n was added; old, that n lies too far back to tell.
func (w *window) has(n int64) (seen, old bool) {
	if n > w.highest {
		return false, false
	}
	if w.highest-n >= w.size {
		return false, true
	}
	i := w.bit(n)
	return w.words[i/64]&(1<<(i%64)) != 0, false
}

// add remembers n, unless it lies too far back.
func (w *window) add(n int64) {
	if n > w.highest {
		if n-w.highest >= w.size {
			clear(w.words)
		} else {
			for m := w.highest + 1; m < n; m++ {
				i := w.bit(m)
				w.words[i/64] &^= 1 << (i % 64)
			}
		}
		w.highest = n
	} else if w.highest-n >= w.size {
		return
	}
	i := w.bit(n)
	w.words[i/64] |= 1 << (i % 64)
}

// bit is the place of n. The words may have more bits than size; all are used
// in turn, so a bit that leaves the window is cleared before it is met again.
func (w *window) bit(n int64) uint64 { return uint64(n) % uint64(64*len(w.words)) }
