//go:build linux && ((!amd64 && !arm64) || corehour_overlay)

package hostclock

// goroutineWords reports whether goroutineWord works on this platform.
const goroutineWords = false

// goroutineWord returns nothing on this platform.
func goroutineWord(uintptr) uint64 { return 0 }
