package instrument

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rewritten is the directory in which the builds of these tests keep rewritten files.
var rewritten string

// TestMain moves the cache directory of these tests out of the user's, but keeps the user's build cache.
func TestMain(m *testing.M) {
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		panic(err)
	}
	dir, err := os.MkdirTemp("", "cache")
	if err != nil {
		panic(err)
	}
	os.Setenv("GOCACHE", string(bytes.TrimSpace(cache)))
	os.Setenv("XDG_CACHE_HOME", dir)
	rewritten = filepath.Join(dir, "corehour", "go")
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// keptFiles returns the files in dir by name.
func keptFiles(t *testing.T, dir string) map[string]os.FileInfo {
	t.Helper()
	found := map[string]os.FileInfo{}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		info, err := e.Info()
		require.NoError(t, err)
		found[e.Name()] = info
	}
	return found
}

// A second build writes only changed files. It replaces a damaged file, and never builds a former version of
// an edited file.
func TestKept_FilesReused(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	dir := programCopy(t)
	_, first, _ := built(t, Settings{}, dir)
	kept := filepath.Join(cache, "corehour", "go")
	before := keptFiles(t, kept)
	require.Greater(t, len(before), 60)

	for name, info := range before {
		text := bytes.Repeat([]byte("x"), int(info.Size()))
		require.NoError(t, os.WriteFile(filepath.Join(kept, name), text, 0o600))
		break
	}
	_, second, _ := built(t, Settings{}, dir)
	after := keptFiles(t, kept)
	replaced := 0
	for name, info := range after {
		if !os.SameFile(info, before[name]) {
			replaced++
		}
	}
	assert.Len(t, after, len(before))
	assert.Equal(t, 1, replaced, "files that were written again")
	assert.Equal(t, runProgram(t, first, "return").stdout, runProgram(t, second, "return").stdout)

	write(t, dir, "words/zmore.go", "package words\n\n//go:noinline\nfunc more(n int) int { return n / 2 }\n")
	built(t, Settings{}, dir)
	assert.Len(t, keptFiles(t, kept), len(before)+3, "the file, the probes of its package and the list")
}

func TestKept_Bounded(t *testing.T) {
	k := &kept{dir: t.TempDir(), most: 10}
	var paths []string
	for i := range 14 {
		path, err := k.file(fmt.Sprintf("%d.go", i), []byte("text"))
		require.NoError(t, err)
		paths = append(paths, path)
		if i < 11 {
			unused := time.Now().Add(time.Duration(i-100) * time.Hour)
			require.NoError(t, os.Chtimes(path, unused, unused))
		}
	}
	used, err := k.file("0.go", []byte("text"))
	require.NoError(t, err)
	assert.Equal(t, paths[0], used)
	require.NoError(t, k.close())
	assert.Len(t, keptFiles(t, k.dir), 5)
	for i, path := range paths {
		if i == 0 || i > 9 {
			assert.FileExists(t, path, "used now, or among those used last")
		} else {
			assert.NoFileExists(t, path)
		}
	}
	require.NoError(t, k.close())
	assert.Len(t, keptFiles(t, k.dir), 5)
}

// If the user's cache directory cannot be written, a build leaves no files behind.
func TestKept_NoCacheDirectory(t *testing.T) {
	readOnly := t.TempDir() // without /proc the symbolic link is dangling
	require.NoError(t, os.Mkdir(filepath.Join(readOnly, "corehour"), 0o700))
	require.NoError(t, os.Symlink("/proc/self/fdinfo", filepath.Join(readOnly, "corehour", "go")))
	for _, cache := range []string{filepath.Join(os.Args[0], "no directory"), readOnly} {
		t.Setenv("XDG_CACHE_HOME", cache)
		t.Setenv("TMPDIR", t.TempDir())
		k, err := openKept()
		require.NoError(t, err)
		path, err := k.file("a.go", []byte("package a"))
		require.NoError(t, err)
		assert.FileExists(t, path)
		require.NoError(t, k.close())
		assert.Empty(t, keptFiles(t, os.Getenv("TMPDIR")))
	}
}
