//go:build darwin || linux

package warehouse

import "syscall"

// FreeBytes is the space that the file system of a directory has left for this
// user. False if it does not say.
func FreeBytes(dir string) (int64, bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true //nolint:unconvert // its type differs from system to system
}
