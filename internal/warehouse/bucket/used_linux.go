package bucket

import (
	"io/fs"
	"syscall"
	"time"
)

// usedAt is when a command last used a file of the cache, which it notes as the time of access. The
// time of change says that the file is as it was when it was compared with its checksum.
func usedAt(info fs.FileInfo) time.Time {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(s.Atim.Unix())
	}
	return info.ModTime()
}
