//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package state

import "os"

// flock does nothing on this platform. Without a lock two processes can overwrite each other's changes: an alert is
// then sent twice, or an acceptance has to be repeated.
func flock(*os.File) error { return nil }
