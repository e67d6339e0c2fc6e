//go:build !linux

package threads

import "io/fs"

// ofSystem returns nothing, because no thread is ever locked on this platform.
func ofSystem(fs.FS, int) []Limit { return nil }
