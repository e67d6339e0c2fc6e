//go:build darwin || linux

package warehouse

import "syscall"

// FreeBytes returns the free space of the directory's file system for this user. It returns false if the
// free space is unknown.
func FreeBytes(dir string) (int64, bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true //nolint:unconvert // its type differs from system to system
}
