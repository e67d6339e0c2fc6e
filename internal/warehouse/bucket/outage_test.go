package bucket

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/table"
)

var errAway = errors.New("away")

func away(string, string, bool) error { return errAway }

// onDisk returns the total size of the data files in a directory.
func onDisk(t *testing.T, directory string) (n int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(directory, "date=*", "*.parquet"))
	require.NoError(t, err)
	for _, f := range files {
		info, err := os.Stat(f)
		require.NoError(t, err)
		n += info.Size()
	}
	return n
}

// Restarts during an outage of the store do not raise the bound of the directory. Stats reports the bytes not
// uploaded and since when they wait.
func TestWriter_RestartsInOutage(t *testing.T) {
	address, directory := "file://"+t.TempDir(), t.TempDir()
	const limit = 20_000
	o := Options{Address: address, Prefix: "host-1", Directory: directory, Interval: time.Hour, LocalBytes: limit}
	var sent []string // the uploaded files, which can be evicted
	waiting := func() int64 {
		n := onDisk(t, directory)
		for _, f := range sent {
			if info, err := os.Stat(f); err == nil {
				n -= info.Size()
			}
		}
		return n
	}
	var began, written time.Time // start and end of the write that is not uploaded
	var atOnce int64             // bytes of the largest write
	for run := range 4 {
		b, err := Open(t.Context(), address)
		require.NoError(t, err)
		if run > 0 {
			b.Inject(away)
		}
		w, err := b.Writer(t.Context(), o, table.Options{})
		require.NoError(t, err)
		write := func(i int) error {
			res, err := w.Write(t.Context(), []methodspan.Item{row(fmt.Sprint(run, "-", i), 10)})
			atOnce = max(atOnce, res.Bytes)
			return err
		}
		if run == 0 {
			require.NoError(t, write(-1))
			require.NoError(t, w.Push(t.Context()))
			sent, err = filepath.Glob(filepath.Join(directory, "date=*", "*.parquet"))
			require.NoError(t, err)
			began = time.Now()
			require.NoError(t, write(-2))
			written = time.Now()
			b.Inject(away)
			for !time.Now().After(written.Add(time.Millisecond)) {
				runtime.Gosched() // so that the next write can be distinguished from this one
			}
		}
		check := func() {
			least := time.Since(written)
			s := w.Stats()
			assert.GreaterOrEqual(t, s.Behind, least, "run %d", run)
			assert.LessOrEqual(t, s.Behind, time.Since(began))
			assert.Equal(t, waiting(), s.UnsentBytes, "run %d", run)
			assert.Equal(t, onDisk(t, directory), s.LocalBytes)
		}
		if run > 0 {
			check()
		}
		for i := 0; write(i) == nil; i++ {
			assert.ErrorIs(t, w.Push(t.Context()), errAway)
			check()
		}
		assert.LessOrEqual(t, waiting(), limit+atOnce)
		assert.Equal(t, waiting(), w.Stats().UnsentBytes)
		_ = w.Close() // it cannot release the prefix
		// The parquet writer and the bucket are closed nevertheless.
	}
	b, err := Open(t.Context(), address)
	require.NoError(t, err)
	w, err := b.Writer(t.Context(), o, table.Options{})
	require.NoError(t, err)
	require.NoError(t, w.Push(t.Context()))
	assert.Zero(t, w.Stats().UnsentBytes)
	assert.Zero(t, w.Stats().Behind)
	assert.LessOrEqual(t, onDisk(t, directory), int64(limit))
	require.NoError(t, w.Close())
}

// Rows written during an upload are not in the bucket after it.
func TestMirror_WriteDuringUpload(t *testing.T) {
	address, directory := "file://"+t.TempDir(), t.TempDir()
	b, err := Open(t.Context(), address)
	require.NoError(t, err)
	w, err := b.Writer(t.Context(), Options{Address: address, Prefix: "host-1", Directory: directory, Interval: time.Hour}, table.Options{})
	require.NoError(t, err)
	_, err = w.Write(t.Context(), []methodspan.Item{row("a", 10)})
	require.NoError(t, err)
	sent := onDisk(t, directory)
	var written time.Time
	var once sync.Once
	b.Inject(func(op, _ string, after bool) (err error) {
		if op == "create" && after {
			once.Do(func() {
				_, err = w.Write(t.Context(), []methodspan.Item{row("b", 10)})
				written = time.Now()
			})
		}
		return err
	})
	require.NoError(t, w.Push(t.Context()))
	least := time.Since(written)
	assert.GreaterOrEqual(t, w.Stats().Behind, least)
	assert.Equal(t, onDisk(t, directory)-sent, w.Stats().UnsentBytes)
	require.NoError(t, w.Push(t.Context()))
	assert.Zero(t, w.Stats().Behind)
	assert.Zero(t, w.Stats().UnsentBytes)
	require.NoError(t, w.Close())
}

// Uploaded files are evicted for rows that cannot be uploaded, not only after an upload.
func TestMirror_EvictsInOutage(t *testing.T) {
	address, directory := "file://"+t.TempDir(), t.TempDir()
	b, err := Open(t.Context(), address)
	require.NoError(t, err)
	const limit = 40_000
	o := Options{Address: address, Prefix: "host-1", Directory: directory, Interval: time.Hour, LocalBytes: limit}
	w, err := b.Writer(t.Context(), o, table.Options{})
	require.NoError(t, err)
	n, atOnce := 0, int64(0)
	write := func() error {
		n++
		res, err := w.Write(t.Context(), []methodspan.Item{row(fmt.Sprint(n), 10)})
		atOnce = max(atOnce, res.Bytes)
		return err
	}
	for onDisk(t, directory) < limit-atOnce {
		require.NoError(t, write())
		require.NoError(t, w.Push(t.Context()))
	}
	b.Inject(away)
	for write() == nil {
		assert.ErrorIs(t, w.Push(t.Context()), errAway)
		assert.LessOrEqual(t, onDisk(t, directory), limit+atOnce)
		assert.Equal(t, onDisk(t, directory), w.Stats().LocalBytes)
	}
	assert.GreaterOrEqual(t, w.Stats().UnsentBytes, int64(limit))
	b.Inject(nil)
	require.NoError(t, w.Push(t.Context()))
	assert.LessOrEqual(t, onDisk(t, directory), int64(limit))
	require.NoError(t, w.Close())
}

// A write that finds the directory full reports nothing about an earlier write of unknown outcome.
func TestWriter_FullWithUnknownOutcome(t *testing.T) {
	address := "file://" + t.TempDir()
	b, err := Open(t.Context(), address)
	require.NoError(t, err)
	var doubt, commits atomic.Bool
	disk := table.Options{}.Inject(func(op, path string, after bool) error {
		if !doubt.Load() {
			return nil
		}
		if op == "rename" && after && filepath.Base(path) == "CURRENT" {
			commits.Store(true)
		}
		if op == "sync directory" && commits.Load() {
			return errAway
		}
		return nil
	})
	o := Options{Address: address, Prefix: "host-1", Directory: t.TempDir(), Interval: time.Hour, LocalBytes: 1}
	w, err := b.Writer(t.Context(), o, disk)
	require.NoError(t, err)
	defer func() { assert.NoError(t, w.Close()) }()
	item := []methodspan.Item{row("a-1", 10)}
	doubt.Store(true)
	_, err = w.Write(t.Context(), item)
	require.ErrorIs(t, err, warehouse.ErrUnknown)
	b.Inject(away)
	require.Error(t, w.Push(t.Context()))
	require.Positive(t, w.Stats().UnsentBytes)
	_, err = w.Write(t.Context(), item)
	require.ErrorIs(t, err, warehouse.ErrUnknown)
	doubt.Store(false)
	_, err = w.Write(t.Context(), item)
	require.ErrorIs(t, err, warehouse.ErrFull)
	assert.NotErrorIs(t, err, warehouse.ErrUnknown)
	assert.True(t, w.Committed("a-1"))
	b.Inject(nil)
}
