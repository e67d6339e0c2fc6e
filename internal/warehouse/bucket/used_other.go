//go:build !linux

package bucket

import (
	"io/fs"
	"time"
)

// usedAt returns when a file of the cache was fetched: the place of the access time differs by system.
func usedAt(info fs.FileInfo) time.Time { return info.ModTime() }
