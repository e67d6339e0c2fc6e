//go:build linux && ((!amd64 && !arm64) || corehour_overlay)

package hostclock

// goroutineWords reports whether there is a goroutineWord here.
const goroutineWords = false

// goroutineWord finds nothing here.
func goroutineWord(uintptr) uint64 { return 0 }
