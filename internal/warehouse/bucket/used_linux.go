package bucket

import (
	"io/fs"
	"syscall"
	"time"
)

// usedAt returns when a command last used a file of the cache, stored as its access time. The modification
// time shows that the file is unchanged since its checksum was verified.
func usedAt(info fs.FileInfo) time.Time {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(s.Atim.Unix())
	}
	return info.ModTime()
}
