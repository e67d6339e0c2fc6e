package statefile

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStateFile_SaveAndLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made", "state")
	_, err := Load(path)
	require.ErrorIs(t, err, fs.ErrNotExist)
	for _, state := range []string{"one", "", strings.Repeat("two\n", 1000)} {
		require.NoError(t, Save(path, []byte(state)))
		got, err := Load(path)
		require.NoError(t, err)
		assert.Equal(t, state, string(got))
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Len(t, entries, 1, "nothing is left next to it")
}

// A crash during a write leaves the previous file intact. The leftover temporary file does not prevent the next
// write.
func TestStateFile_CrashWhileWriting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	require.NoError(t, Save(path, []byte("before")))
	require.NoError(t, os.WriteFile(path+".tmp", Encode([]byte("half of what"))[:40], 0o600))
	got, err := Load(path)
	require.NoError(t, err)
	assert.Equal(t, "before", string(got))
	require.NoError(t, Save(path, []byte("after")))
	got, err = Load(path)
	require.NoError(t, err)
	assert.Equal(t, "after", string(got))
}

func TestStateFile_Invalid(t *testing.T) {
	good := string(Encode([]byte("content")))
	for name, c := range map[string]struct{ file, says string }{
		"empty":            {"", "must be a state of adaptive_sampler, found another file"},
		"something else":   {"\x7fELF\n", "must be a state of adaptive_sampler, found another file"},
		"header alone":     {magic + " 1", "must be a state of adaptive_sampler, found another file"},
		"no version":       {magic + " x\ncontent", "must have a header with version, length and checksum, found another"},
		"another release":  {strings.Replace(good, " 1 ", " 2 ", 1), "must have version 1, found 2: it was written by another release"},
		"cut":              {good[:len(good)-1], "must hold 7 bytes, found 6: it is cut or has grown"},
		"grown":            {good + "s", "must hold 7 bytes, found 8: it is cut or has grown"},
		"changed":          {strings.Replace(good, "content", "contend", 1), "must have the checksum of its header, found another: its content was changed"},
		"without checksum": {magic + " 1 7\ncontent", "must have the checksum of its header, found another: its content was changed"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state")
			require.NoError(t, os.WriteFile(path, []byte(c.file), 0o600))
			_, err := Load(path)
			require.EqualError(t, err, c.says)
			var fault *Fault
			require.ErrorAs(t, err, &fault)
			to, err := Refuse(path)
			require.NoError(t, err)
			moved, err := os.ReadFile(to)
			require.NoError(t, err)
			assert.Equal(t, c.file, string(moved))
		})
	}
}

// A path that cannot be read is not moved aside: its state can be valid.
func TestStateFile_Directory(t *testing.T) {
	_, err := Load(t.TempDir())
	require.ErrorContains(t, err, "must be a regular file, found d")
	var fault *Fault
	assert.False(t, errors.As(err, &fault))
}

func TestStateFile_TooLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Truncate(path, MaxSize+1)) // a sparse file
	_, err := Load(path)
	assert.EqualError(t, err, "must be at most 536870912 bytes, found 536870913")
}

func FuzzDecode(f *testing.F) {
	f.Add(Encode([]byte("content")))
	f.Add([]byte(magic + " 1 7 abc\ncontent"))
	f.Add([]byte(magic + " -1 -7\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		state, err := Decode(data)
		if err == nil {
			require.True(t, bytes.HasSuffix(data, state))
			return
		}
		var fault *Fault
		require.ErrorAs(t, err, &fault)
	})
}
