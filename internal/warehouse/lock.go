package warehouse

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// commitWait is how long a commit waits for another one. A commit takes milliseconds unless its process was
// stopped.
const commitWait = 30 * time.Second

// LockDirectory locks a directory for this process until the returned file is closed. It returns an *Error
// of kind ErrLocked if another process holds the lock.
func LockDirectory(path string) (*os.File, error) {
	return LockFile(path, "LOCK", "one directory has one user: stop the other one or give this one a directory of its own")
}

// LockFile locks the file name in the directory root until the returned file is closed. It does not wait:
// it returns an *Error of kind ErrLocked, with the hint, if another process holds the lock. The operating
// system releases the lock when the process ends, so a crash needs no cleanup.
func LockFile(root, name, hint string) (*os.File, error) {
	f, err := openLock(root, name)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(root, name)
	err = flock(f)
	if err == nil && Held(f) != nil { // it was removed meanwhile
		f.Close()
		return LockFile(root, name, hint)
	}
	if err != nil {
		holder, _ := os.ReadFile(path)
		f.Close()
		if !isHeld(err) {
			return nil, errNoLocks(root, err)
		}
		if s := strings.TrimSpace(string(holder)); s != "" {
			hint = fmt.Sprintf("held by %.120q; ", s) + hint
		}
		return nil, &Error{Op: "lock", Path: root, Kind: ErrLocked, Hint: hint}
	}
	host, _ := os.Hostname()
	if err := f.Truncate(0); err == nil {
		fmt.Fprintf(f, "process %d on %s\n", os.Getpid(), host)
	}
	return f, nil
}

// LockCommit waits until no other commit holds the lock name. Closing the returned file releases it.
func LockCommit(root, name string) (*os.File, error) {
	f, err := openLock(root, name)
	if err != nil {
		return nil, err
	}
	pause, waited := time.Millisecond, time.Duration(0)
	for {
		err := flock(f)
		if err == nil && Held(f) != nil { // it was removed meanwhile
			f.Close()
			return LockCommit(root, name)
		}
		if err == nil {
			return f, nil
		}
		if !isHeld(err) || waited >= commitWait {
			f.Close()
			if !isHeld(err) {
				return nil, errNoLocks(root, err)
			}
			return nil, &Error{Op: "lock", Path: root, Kind: ErrLocked,
				Hint: fmt.Sprintf("another commit holds %s for more than %s: look for a stopped process", name, commitWait)}
		}
		time.Sleep(pause)
		waited += pause
		pause = min(2*pause, 50*time.Millisecond)
	}
}

// Held returns an *Error of kind ErrLocked if the path of a lock that this process holds names another file,
// or none: then another process can hold a lock of that name.
func Held(f *os.File) error {
	mine, err := f.Stat()
	if err == nil {
		var there os.FileInfo
		if there, err = os.Stat(f.Name()); err == nil && os.SameFile(mine, there) {
			return nil
		}
	}
	return &Error{Op: "lock", Path: f.Name(), Kind: ErrLocked, Err: err,
		Hint: "the lock file was removed or replaced while this process held it, so another one may write here: stop that one"}
}

func openLock(root, name string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(root, name), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, &Error{Op: "lock", Path: root, Err: err, Hint: "the directory must be writable for the collector's user"}
	}
	return f, nil
}

func errNoLocks(root string, err error) error {
	return &Error{Op: "lock", Path: root, Err: err, Hint: "check that the file system has locks"}
}
