package hostclock

import (
	"bytes"
	"math/bits"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
)

// Goroutine returns the id of the running goroutine, which the runtime gives to no
// other one, neither at the same time nor later. So it shows whether a call ends on
// the goroutine it began on. The address of what the runtime keeps of a goroutine
// would not: it is reused when the goroutine is dead; nor would the thread's id, which
// the kernel reuses.
//
// It takes 2 ns where GoroutineAvailable has found the id, and microseconds elsewhere.
func Goroutine() uint64 {
	if at := idPlace.Load(); at != 0 {
		return goroutineWord(at)
	}
	if toldID != nil {
		return toldID()
	}
	return writtenID()
}

// UseID makes Goroutine ask the runtime's own function, which a build can reach that puts the
// SDK into a program; there is no assembly there. It is called before any goroutine asks.
func UseID(id func() uint64) { toldID = id }

var toldID func() uint64

// GoroutineAvailable reports whether Goroutine can distinguish goroutines, after it has
// searched a quick way to do so.
func GoroutineAvailable() bool {
	lookForID()
	return Goroutine() != 0
}

// idPlace is where the id of a goroutine lies in what the runtime keeps of it, its g;
// 0 = not found.
var idPlace atomic.Uintptr

var lookForID = sync.OnceFunc(func() {
	if goroutineWords {
		idPlace.Store(placeOfID(writtenID))
	}
})

// ForgetPlace lets Goroutine do without the place of the id until it is undone, as with
// a version of Go that hides it, which tests cannot have otherwise.
func ForgetPlace() (undo func()) {
	lookForID()
	place := idPlace.Swap(0)
	return func() { idPlace.Store(place) }
}

const (
	wordsLookedAt = 32 // from the beginning of a g, which has twice as many
	witnesses     = 8
)

// placeOfID looks for the one word that is the id of this goroutine and of new ones.
// The runtime may move it from one version to the next; where no word or several fit,
// there is none to rely on.
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

// fittingWords has a bit for each word of the running goroutine's g that is the id.
func fittingWords(id uint64) (fit uint32) {
	for i := range wordsLookedAt {
		if goroutineWord(placeOfWord(i)) == id {
			fit |= 1 << i
		}
	}
	return fit
}

func placeOfWord(i int) uintptr { return uintptr(i) * 8 }

// writtenID returns the id as the runtime writes it above a stack, "goroutine 1 [...",
// or 0 if it writes something else.
func writtenID() uint64 {
	header := headers.Get().(*[40]byte)
	defer headers.Put(header)
	return idOfHeader(header[:runtime.Stack(header[:], false)])
}

// headers has room for the longest id and what is around it.
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
