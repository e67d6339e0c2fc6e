//go:build !(linux && amd64 && gc && !purego)

package frames

// Available reports whether Walk exists on this platform.
const Available = false

// Walk returns nothing on this platform.
func Walk(*uintptr, int) (n int, ended bool) { return 0, false }
