//go:build !linux

package bucket

import (
	"io/fs"
	"time"
)

// usedAt is when a file of the cache was fetched: where the time of access is kept differs.
func usedAt(info fs.FileInfo) time.Time { return info.ModTime() }
