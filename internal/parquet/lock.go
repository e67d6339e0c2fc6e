package parquet

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const lockName = "LOCK"

// lock makes this process the one writer of the warehouse until the file is
// closed. The operating system releases it when the process ends, however it
// ends, so a crash needs no cleaning up. Readers need no lock.
func lock(root string) (*os.File, error) {
	path := filepath.Join(root, lockName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, &Error{Op: "lock", Path: root, Err: err, Hint: "the directory must be writable for the collector's user"}
	}
	if err := flock(f); err != nil {
		holder, _ := os.ReadFile(path)
		f.Close()
		typed := &Error{Op: "lock", Path: root, Err: err, Hint: "check that the file system has locks"}
		if isHeld(err) {
			typed.Kind, typed.Err = ErrLocked, nil
			typed.Hint = "one directory has one writer: stop the other one or give this one a `path` of its own"
			if s := strings.TrimSpace(string(holder)); s != "" {
				typed.Hint = fmt.Sprintf("held by %.120q; ", s) + typed.Hint
			}
		}
		return nil, typed
	}
	host, _ := os.Hostname()
	if err := f.Truncate(0); err == nil {
		fmt.Fprintf(f, "process %d on %s\n", os.Getpid(), host)
	}
	return f, nil
}
