// Package histogram counts durations in logarithmic bins.
//
// Its invariant: bin(x) = floor(ln(x) / ln(gamma)) exactly, for x >= 1 in nanoseconds, with gamma =
// 1.01/0.99. A value is known within 1%, and histograms of different processes add bin by bin.
//
// It does not lock: users that share a histogram guard it.
package histogram

import (
	"math"
	"math/bits"
	"sort"
	"sync"
)

// Gamma is the ratio of the bounds of neighbouring bins.
const Gamma = 1.01 / 0.99

const (
	chunkBins = 64
	// bins covers every int64 of nanoseconds.
	bins   = 2184
	chunks = (bins + chunkBins - 1) / chunkBins
	// guideBits of mantissa pick the first guess: the steps between guesses are
	// narrower than a bin, so at most one comparison corrects it.
	guideBits = 6
)

var (
	lower [bins + 1]uint64 // lower[b] is the smallest integer of bin b
	guide [64 << guideBits]uint16
)

// Prepare computes the tables of Bin, once. It takes half a millisecond, which a program that never
// measures should not pay at its start.
var Prepare = sync.OnceFunc(func() {
	for b := range lower {
		lower[b] = lowest(b)
	}
	for e := range 64 {
		for m := range 1 << guideBits {
			guide[e<<guideBits|m] = uint16(exactBin(smallest(e, m)))
		}
	}
})

// smallest returns the smallest integer with highest bit e and leading mantissa m.
func smallest(e, m int) uint64 {
	x := uint64(1)<<guideBits | uint64(m)
	if e >= guideBits {
		return x << (e - guideBits)
	}
	return max(1, x>>(guideBits-e))
}

func exactBin(x uint64) int {
	if x < 1 {
		return 0
	}
	return min(bins-1, int(math.Log(float64(x))/math.Log(Gamma)))
}

// lowest returns the smallest integer with a bin of b or higher. The power is off by rounding errors
// only, so a search close to it finds the integer.
func lowest(b int) uint64 {
	edge := math.Pow(Gamma, float64(b))
	if edge >= math.MaxInt64 {
		return math.MaxUint64
	}
	slack := uint64(edge*1e-12) + 2
	first := max(1, uint64(edge)-min(slack, uint64(edge)))
	return first + uint64(sort.Search(int(2*slack+1), func(i int) bool { return exactBin(first+uint64(i)) >= b }))
}

// Bin returns the bin of a duration in nanoseconds; durations below 1 are in bin 0. Call Prepare first.
func Bin(ns int64) int {
	if ns < 1 {
		return 0
	}
	x := uint64(ns)
	e := bits.Len64(x) - 1
	var m uint64
	if e >= guideBits {
		m = x >> (e - guideBits)
	} else {
		m = x << (guideBits - e)
	}
	b := int(guide[uint64(e)<<guideBits|m&(1<<guideBits-1)])
	if x >= lower[b+1] {
		b++
	}
	return b
}

// H is a histogram. Memory is allocated in chunks of neighbouring bins on first use; the zero H is
// empty.
type H struct {
	chunk [chunks]*[chunkBins]uint32
}

// Add counts one duration.
func (h *H) Add(ns int64) {
	b := Bin(ns)
	c := h.chunk[b/chunkBins]
	if c == nil {
		c = new([chunkBins]uint32)
		h.chunk[b/chunkBins] = c
	}
	c[b%chunkBins]++
}

// MoveInto adds h to other and empties h, which retains its memory.
func (h *H) MoveInto(other *H) {
	for i, from := range h.chunk {
		if from == nil {
			continue
		}
		to := other.chunk[i]
		if to == nil {
			to = new([chunkBins]uint32)
			other.chunk[i] = to
		}
		for j, n := range from {
			to[j] += n
			from[j] = 0
		}
	}
}

// Each calls f for every bin that is not empty, in ascending order.
func (h *H) Each(f func(bin int, n uint32)) {
	for i, c := range h.chunk {
		if c == nil {
			continue
		}
		for j, n := range c {
			if n > 0 {
				f(i*chunkBins+j, n)
			}
		}
	}
}
