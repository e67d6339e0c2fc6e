package hostclock

import (
	"bytes"
	"math/bits"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
)

// Goroutine returns the id of the running goroutine, which the runtime never reuses. So it shows whether
// a call ends on the goroutine it began on. The address of the goroutine structure would not, because it
// is reused after the goroutine's death, nor would the thread id, which the kernel reuses.
//
// It takes 2 ns if GoroutineAvailable has found the id, and microseconds otherwise.
func Goroutine() uint64 {
	if at := idPlace.Load(); at != 0 {
		return goroutineWord(at)
	}
	if toldID != nil {
		return toldID()
	}
	return writtenID()
}

// UseID makes Goroutine call the runtime's own function, which `corehour go build` can reach; such builds
// contain no assembly. Call it before any call of Goroutine.
func UseID(id func() uint64) { toldID = id }

var toldID func() uint64

// GoroutineAvailable reports whether Goroutine can distinguish goroutines. It first searches for the
// quick way.
func GoroutineAvailable() bool {
	lookForID()
	return Goroutine() != 0
}

// idPlace is the offset of the goroutine id in the runtime's goroutine structure, g; 0 = not found.
var idPlace atomic.Uintptr

var lookForID = sync.OnceFunc(func() {
	if goroutineWords {
		idPlace.Store(placeOfID(writtenID))
	}
})

// ForgetPlace disables the quick way until the returned function is called. Tests use it to simulate a
// version of Go that hides the id.
func ForgetPlace() (undo func()) {
	lookForID()
	place := idPlace.Swap(0)
	return func() { idPlace.Store(place) }
}

const (
	wordsLookedAt = 32 // from the beginning of a g, which has twice as many
	witnesses     = 8
)

// placeOfID returns the offset of the one word that equals the id on this goroutine and on new ones.
// The runtime can move the id between versions; if no word or several fit, it returns 0.
func placeOfID(id func() uint64) uintptr {
	fit := fittingWords(id())
	for range witnesses {
		its := make(chan uint32)
		go func() { its <- fittingWords(id()) }()
		fit &= <-its
	}
	if bits.OnesCount32(fit) != 1 {
		return 0
	}
	return placeOfWord(bits.TrailingZeros32(fit))
}

// fittingWords returns a bit mask of the words of the running goroutine's g that equal the id.
func fittingWords(id uint64) (fit uint32) {
	for i := range wordsLookedAt {
		if goroutineWord(placeOfWord(i)) == id {
			fit |= 1 << i
		}
	}
	return fit
}

func placeOfWord(i int) uintptr { return uintptr(i) * 8 }

// writtenID parses the id from the output of runtime.Stack, "goroutine 1 [...", or returns 0 if the
// output has another form.
func writtenID() uint64 {
	header := headers.Get().(*[40]byte)
	defer headers.Put(header)
	return idOfHeader(header[:runtime.Stack(header[:], false)])
}

// headers is a buffer for the first line with the longest id.
var headers = sync.Pool{New: func() any { return new([40]byte) }}

func idOfHeader(header []byte) uint64 {
	header, found := bytes.CutPrefix(header, []byte("goroutine "))
	digits, _, whole := bytes.Cut(header, []byte(" "))
	if !found || !whole {
		return 0
	}
	id, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil {
		return 0
	}
	return id
}
