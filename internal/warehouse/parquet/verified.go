package parquet

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/corehour/corehour/internal/durable"
)

const (
	// VerifiedFor is how long a verification is valid. A disk can corrupt a file later without a change
	// of its modification time.
	VerifiedFor = 24 * time.Hour
	// MostVerified is the maximum number of files that are remembered; each takes 20 bytes on disk.
	MostVerified = 1 << 16
	// settling is the age below which a file can change and keep its modification time.
	settling = 2 * time.Second
)

// VerifiedFiles remembers which files were verified against their checksums, so that the next command
// does not read them again. A nil *VerifiedFiles remembers nothing.
type VerifiedFiles struct {
	path string // of the cache file; empty for none

	mu   sync.Mutex
	at   map[verifiedKey]uint32 // Unix time of each verification; nil until the cache file is read
	news bool                   // there are entries that are not in the cache file
}

// verifiedKey is a digest of path, identity, size, modification time and checksum of a file.
type verifiedKey [16]byte

// NewVerifiedFiles returns a VerifiedFiles with a cache file at path, or without one if path is empty.
// If the cache file is missing, damaged or not writable, files are verified again, without an error.
func NewVerifiedFiles(path string) *VerifiedFiles { return &VerifiedFiles{path: path} }

// Verify verifies files against their checksums, several concurrently, and sets Verified of each intact
// file. The error names all others. It does not read files that are remembered or already marked.
func (v *VerifiedFiles) Verify(ctx context.Context, files []File) error {
	errs := make([]error, len(files))
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(len(files), runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(files) {
					return
				}
				if f := &files[i]; !f.Verified {
					errs[i] = v.verify(ctx, f)
					f.Verified = errs[i] == nil
				}
			}
		})
	}
	wait.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	v.save()
	return errors.Join(errs...)
}

func (v *VerifiedFiles) verify(ctx context.Context, f *File) error {
	info, err := os.Stat(f.Path)
	if err != nil {
		return f.unreadable(err)
	}
	if err := f.verifySize(info.Size()); err != nil {
		return err
	}
	key := verifiedKeyOf(f, info)
	if v.has(key) {
		return nil
	}
	if err := f.Verify(ctx); err != nil {
		return err
	}
	if time.Since(info.ModTime()) >= settling {
		v.addKey(key)
	}
	return nil
}

func (v *VerifiedFiles) has(key verifiedKey) bool {
	if v == nil {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.at == nil {
		v.at = readVerified(v.path)
	}
	at, known := v.at[key]
	return known && fresh(at, time.Now())
}

func (v *VerifiedFiles) addKey(key verifiedKey) {
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.at[key], v.news = uint32(time.Now().Unix()), true
}

// fresh reports whether a verification at the given Unix time is valid. A time in the future is not: the
// clock was set back.
func fresh(at uint32, now time.Time) bool {
	age := now.Unix() - int64(at)
	return age >= 0 && age < int64(VerifiedFor/time.Second)
}

func verifiedKeyOf(f *File, info fs.FileInfo) verifiedKey {
	path := f.Path
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d\n%d\n%s\n%s", f.Checksum, info.Size(), info.ModTime().UnixNano(), identity(info), path))
	return verifiedKey(sum[:len(verifiedKey{})])
}

// The cache file contains the key and time of each file, and a checksum of all entries.
const (
	entryBytes = len(verifiedKey{}) + 4
	sumBytes   = 4
)

// readVerified returns the entries of the cache file that are still valid; none if the file is missing or damaged.
func readVerified(path string) map[verifiedKey]uint32 {
	at := map[verifiedKey]uint32{}
	if info, err := os.Stat(path); err != nil || info.Size() > int64(MostVerified*entryBytes+sumBytes) {
		return at
	}
	data, err := os.ReadFile(path)
	if err != nil || len(data) < sumBytes || len(data)%entryBytes != sumBytes {
		return at
	}
	entries, sum := data[:len(data)-sumBytes], data[len(data)-sumBytes:]
	if crc32.Checksum(entries, castagnoli) != binary.LittleEndian.Uint32(sum) {
		return at
	}
	now := time.Now()
	for entry := range slices.Chunk(entries, entryBytes) {
		if when := binary.LittleEndian.Uint32(entry[len(verifiedKey{}):]); fresh(when, now) {
			at[verifiedKey(entry[:len(verifiedKey{})])] = when
		}
	}
	return at
}

// save writes the entries to the cache file, together with those that other commands have written
// meanwhile. It drops the oldest entries beyond MostVerified.
func (v *VerifiedFiles) save() {
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.news {
		return
	}
	v.news = false
	for key, when := range readVerified(v.path) {
		v.at[key] = max(v.at[key], when)
	}
	now := time.Now()
	maps.DeleteFunc(v.at, func(_ verifiedKey, when uint32) bool { return !fresh(when, now) })
	if more := len(v.at) - MostVerified; more > 0 {
		oldest := slices.SortedFunc(maps.Keys(v.at), func(a, b verifiedKey) int { return cmp.Compare(v.at[a], v.at[b]) })
		for _, key := range oldest[:more] {
			delete(v.at, key)
		}
	}
	if v.path == "" {
		return
	}
	data := make([]byte, 0, len(v.at)*entryBytes+sumBytes)
	for key, when := range v.at {
		data = binary.LittleEndian.AppendUint32(append(data, key[:]...), when)
	}
	data = binary.LittleEndian.AppendUint32(data, crc32.Checksum(data, castagnoli))
	// If this fails, the next command verifies the files again.
	if os.MkdirAll(filepath.Dir(v.path), 0o700) == nil {
		_ = durable.ReplaceShared(v.path, data, 0o600)
	}
}
