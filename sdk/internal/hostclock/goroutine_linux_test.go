package hostclock

import (
	"math"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// inBothForms runs a test with the quick way, where there is one, and without.
func inBothForms(t *testing.T, f func(t *testing.T)) {
	if !GoroutineAvailable() {
		t.Fatal("goroutines cannot be distinguished")
	}
	if goroutineWords {
		t.Run("quick", func(t *testing.T) {
			if idPlace.Load() == 0 {
				t.Fatal("the id was not found in the runtime's g")
			}
			f(t)
		})
	}
	t.Run("written", func(t *testing.T) {
		defer ForgetPlace()()
		f(t)
	})
}

// A goroutine keeps its number wherever its stack and its thread go.
func TestGoroutine_IDStable(t *testing.T) {
	inBothForms(t, func(t *testing.T) {
		mine := Goroutine()
		var grow func(n int) uint64
		grow = func(n int) uint64 {
			var frame [1024]byte
			if n == 0 {
				return Goroutine() + uint64(frame[0])
			}
			return grow(n-1) + uint64(frame[n])
		}
		threads := map[int]bool{}
		for range 200 {
			threads[syscall.Gettid()] = true
			time.Sleep(10 * time.Microsecond)
			runtime.GC()
			if got := grow(50); got != mine {
				t.Fatalf("number %d becomes %d", mine, got)
			}
			if len(threads) > 1 {
				break
			}
		}
	})
}

// No two goroutines have the same number: neither living ones, nor those that are made
// of what dead ones left.
func TestGoroutine_IDNotReused(t *testing.T) {
	inBothForms(t, func(t *testing.T) {
		seen := map[uint64]bool{Goroutine(): true}
		for range 100 {
			numbers := make([]uint64, 10)
			var running, all sync.WaitGroup
			all.Add(len(numbers))
			for i := range numbers {
				running.Go(func() {
					numbers[i] = Goroutine()
					all.Done()
					all.Wait() // so that they live at the same time
				})
			}
			running.Wait()
			for _, number := range numbers {
				if number == 0 || seen[number] {
					t.Fatalf("number %d is given again", number)
				}
				seen[number] = true
			}
		}
	})
}

// Both ways give the same number, so that a call may begin by one and end by the other.
func TestGoroutine_EqualsPrintedID(t *testing.T) {
	inBothForms(t, func(t *testing.T) {
		for range 100 {
			done := make(chan struct{})
			go func() {
				defer close(done)
				if got, written := Goroutine(), writtenID(); got != written {
					t.Errorf("number %d, written %d", got, written)
				}
			}()
			<-done
		}
	})
}

// An offset is accepted only if exactly one word of g equals the id, on every goroutine.
func TestPlaceOfID_UncertainRejected(t *testing.T) {
	if !GoroutineAvailable() || !goroutineWords {
		return
	}
	first, asked := writtenID(), 0
	for name, id := range map[string]func() uint64{
		"no word fits":               func() uint64 { return math.MaxUint64 - 1 },
		"many words fit":             func() uint64 { return 0 },
		"a word fits, here only":     func() uint64 { return first },
		"a word fits, but not again": func() uint64 { asked++; return writtenID() + uint64(asked/witnesses) },
	} {
		if place := placeOfID(id); place != 0 {
			t.Errorf("%s: the id is taken to be at %d", name, place)
		}
	}
	if place := placeOfID(writtenID); place == 0 || place != idPlace.Load() {
		t.Errorf("the id is found at %d, and was at %d", place, idPlace.Load())
	}
}

func TestWrittenID_Headers(t *testing.T) {
	for header, want := range map[string]uint64{
		"goroutine 1 [running]:\nmain.main()":                        1,
		"goroutine 34 gp=0xc000006380 m=5 mp=0x1 [running]:\n":       34,
		"goroutine " + strconv.FormatUint(math.MaxUint64, 10) + " [": math.MaxUint64,
		"goroutine 18446744073709551616 [":                           0, // more than there can be
		"goroutine 12":                                               0, // cut, perhaps within the number
		"goroutine  [":                                               0,
		"goroutine x1 [":                                             0,
		"goroutine -1 [":                                             0,
		"fiber 7 [running]":                                          0,
		"":                                                           0,
	} {
		if got := idOfHeader([]byte(header)); got != want {
			t.Errorf("%q: %d", header, got)
		}
	}
}

func BenchmarkGoroutine(b *testing.B) {
	GoroutineAvailable()
	for b.Loop() {
		Goroutine()
	}
}

func BenchmarkGoroutineWritten(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		writtenID()
	}
}
