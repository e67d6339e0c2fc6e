package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
)

// committed returns n files whose modification time is old enough to be remembered.
func committed(t *testing.T, n int) (files []File) {
	t.Helper()
	for i := range n {
		it := item(fmt.Sprint("a-", i), noon, 2)
		var data bytes.Buffer
		summary, err := NewEncoder().Encode(&data, []*methodspan.Row{&it.Rows[0], &it.Rows[1]}, &WriteGroup{})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "raw.parquet")
		if err := os.WriteFile(path, data.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		ageFile(t, path)
		files = append(files, File{Path: path, Bytes: summary.Bytes, Checksum: summary.Checksum})
	}
	return files
}

func ageFile(t *testing.T, path string) {
	t.Helper()
	at := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

// rot flips a bit of a file and keeps its modification time, as a failing disk can.
func rot(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, flipped(data, len(data)/2, 3), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
}

// A file is read once in VerifiedFor by all commands together, and again when its modification time changes.
func TestVerified_ReadOnce(t *testing.T) {
	files := committed(t, 3)
	for _, f := range files { // as in the cache of a bucket; else rot would be noticed by the time of change
		if err := os.Link(f.Path, f.Path+".link"); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "cache", "verified")
	// found returns the number of files that a command finds damaged.
	found := func(v *VerifiedFiles) (n int) {
		t.Helper()
		again := append([]File(nil), files...)
		err := v.Verify(t.Context(), again)
		for i := range again {
			if !again[i].Verified {
				n++
				if !errors.Is(err, warehouse.ErrCorrupt) || !strings.Contains(err.Error(), again[i].Path) {
					t.Errorf("%v does not name %s", err, again[i].Path)
				}
			}
		}
		if n == 0 && err != nil {
			t.Error(err)
		}
		return n
	}
	v := NewVerifiedFiles(path)
	if n := found(v); n != 0 {
		t.Fatalf("%d files are damaged, want none", n)
	}
	rot(t, files[0].Path)
	rot(t, files[2].Path)
	for name, c := range map[string]struct {
		v    *VerifiedFiles
		want int
	}{
		"the same command": {v, 0}, "another": {NewVerifiedFiles(path), 0},
		"one that remembers nothing": {NewVerifiedFiles(""), 2}, "one without": {nil, 2},
	} {
		if n := found(c.v); n != c.want {
			t.Errorf("%s finds %d files damaged, want %d", name, n, c.want)
		}
	}
	// Another modification time: the file was written to.
	if err := os.Chtimes(files[0].Path, time.Now(), time.Now().Add(-time.Minute)); err != nil {
		t.Fatal(err)
	}
	if n := found(v); n != 1 {
		t.Errorf("%d files are damaged, want the one that has another time", n)
	}
	// Expired entries: the files are read again.
	for key := range v.at {
		v.at[key] -= uint32(VerifiedFor / time.Second)
	}
	if n := found(v); n != 2 {
		t.Errorf("after %s %d files are damaged, want both", VerifiedFor, n)
	}
	// A cache file with any bit flipped is ignored.
	data, err := os.ReadFile(path)
	if err != nil || len(data) != 3*entryBytes+sumBytes {
		t.Fatalf("%d bytes, %v", len(data), err)
	}
	for at := range data {
		if err := os.WriteFile(path, flipped(data, at, at%8), 0o600); err != nil {
			t.Fatal(err)
		}
		if at := readVerified(path); len(at) > 0 {
			t.Fatalf("a damaged file says that %d files are whole", len(at))
		}
	}
}

// A file that is replaced or written to is read again, even if its size and modification time are as before.
func TestVerified_ReplacedWithSameTime(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the identity of files is known on Linux")
	}
	files := committed(t, 2)
	v := NewVerifiedFiles(filepath.Join(t.TempDir(), "verified"))
	if err := v.Verify(t.Context(), slices.Clone(files)); err != nil {
		t.Fatal(err)
	}
	rot(t, files[0].Path)
	data, err := os.ReadFile(files[1].Path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(files[1].Path)
	if err != nil {
		t.Fatal(err)
	}
	other := files[1].Path + ".other"
	if err := errors.Join(os.WriteFile(other, flipped(data, 10, 1), 0o600), os.Chtimes(other, info.ModTime(), info.ModTime()), os.Rename(other, files[1].Path)); err != nil {
		t.Fatal(err)
	}
	again := slices.Clone(files)
	err = v.Verify(t.Context(), again)
	for _, f := range again {
		if f.Verified || err == nil || !strings.Contains(err.Error(), f.Path) {
			t.Errorf("%s passes for intact: %v", f.Path, err)
		}
	}
}

// A file that was just written can change and keep its modification time, because the clock of the file
// system is coarse.
func TestVerified_NewFilesForgotten(t *testing.T) {
	files := committed(t, 1)
	now := time.Now()
	if err := os.Chtimes(files[0].Path, now, now); err != nil {
		t.Fatal(err)
	}
	v := NewVerifiedFiles("")
	if err := v.Verify(t.Context(), files); err != nil || len(v.at) > 0 {
		t.Errorf("%v: %d files are remembered, want none", err, len(v.at))
	}
}

// Beyond the maximum the oldest entries are dropped, and the entries of two concurrent commands are merged.
func TestVerified_Bounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "verified")
	fill := func(from, to int) *VerifiedFiles {
		v := &VerifiedFiles{path: path, at: map[verifiedKey]uint32{}, news: true}
		for i := from; i < to; i++ {
			v.at[verifiedKey{byte(i), byte(i >> 8), byte(i >> 16)}] = uint32(time.Now().Unix()) - uint32(i%60) - 60
		}
		return v
	}
	a, b := fill(0, 1000), fill(500, 2000)
	a.save()
	b.save()
	if n := len(readVerified(path)); n != 2000 {
		t.Errorf("%d files are remembered, want those of both", n)
	}
	most := fill(0, MostVerified+500)
	most.addKey(verifiedKey{1, 2, 3, 4})
	most.save()
	at := readVerified(path)
	if _, newest := at[verifiedKey{1, 2, 3, 4}]; len(at) != MostVerified || len(most.at) != MostVerified || !newest {
		t.Errorf("%d files are remembered, and %d in memory, want %d and the newest", len(at), len(most.at), MostVerified)
	}
	if left, err := filepath.Glob(path + ".*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A cache file that cannot be written is no error.
func TestVerified_NoCacheDirectory(t *testing.T) {
	files := committed(t, 2)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	v := NewVerifiedFiles(filepath.Join(file, "verified"))
	if err := v.Verify(t.Context(), files); err != nil || len(v.at) != 2 {
		t.Errorf("%v, %d files are remembered, want 2", err, len(v.at))
	}
}
