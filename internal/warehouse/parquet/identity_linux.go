package parquet

import (
	"fmt"
	"io/fs"
	"syscall"
)

// identity returns what changes when a file is replaced or written to, even if its modification time is set
// back. Linking a file of a cache changes its change time, too, which is therefore left out.
func identity(info fs.FileInfo) string {
	s, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return ""
	case s.Nlink > 1:
		return fmt.Sprint(s.Dev, s.Ino)
	}
	return fmt.Sprint(s.Dev, s.Ino, s.Ctim.Nano())
}
