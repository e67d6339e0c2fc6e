//go:build linux && (amd64 || arm64) && !corehour_overlay

package hostclock

// goroutineWords reports whether goroutineWord works on this platform.
const goroutineWords = true

// goroutineWord returns the word at an offset, in bytes, of the running goroutine's g.
//
// It is implemented in assembly, because Go cannot access g.
//
//go:noescape
func goroutineWord(at uintptr) uint64
