//go:build !(darwin || linux)

package warehouse

// FreeBytes returns the free space of the directory's file system for this user. It returns false if the
// free space is unknown.
func FreeBytes(string) (int64, bool) { return 0, false }
