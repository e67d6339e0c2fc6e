//go:build !linux

package hostclock

// ProcessRSS is unavailable on this platform: without cgo these systems report the peak size only, not
// the current one.
func ProcessRSS() (int64, bool) { return 0, false }
