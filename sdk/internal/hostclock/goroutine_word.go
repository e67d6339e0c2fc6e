//go:build linux && (amd64 || arm64) && !corehour_overlay

package hostclock

// goroutineWords reports whether there is a goroutineWord here.
const goroutineWords = true

// goroutineWord returns the word at an offset, in bytes, of the running goroutine's g.
//
// It is implemented in assembly: Go has no other way to get there.
//
//go:noescape
func goroutineWord(at uintptr) uint64
