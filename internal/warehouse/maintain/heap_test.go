package maintain_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/maintain"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// Rows with histograms, which can take thousands of bytes each, are merged and rolled up in bounded memory: in
// more steps, and in smaller row groups.
func TestRun_HistogramsBoundMemory(t *testing.T) {
	if raceDetector {
		t.Skip("takes three minutes then: make chaos runs it without")
	}
	const (
		files, rows, bins = 12, 2500, 200
		day               = 24 * time.Hour
		// Each row has two histograms of 12 bytes per bin. Reading all rows at once would take twice as much,
		// and writing them as much again.
		most = files * rows * bins * 2 * 12
	)
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	options := table.Options{Late: 30 * day, Now: func() time.Time { return now }}
	root := t.TempDir()
	w, err := table.NewWriter(root, options)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	histogram := func() methodspan.Histogram {
		h := make(methodspan.Histogram, bins)
		bin := int32(rng.IntN(300))
		for i := range h {
			bin += 1 + int32(rng.IntN(4))
			h[i] = methodspan.Bin{Bin: bin, N: float64(1 + rng.IntN(50))}
		}
		return h
	}
	for i := range files {
		it := methodspan.Item{ID: fmt.Sprint("item-", i)}
		for j := range rows {
			start := now.Add(-8*day - time.Duration(j)*time.Second).UnixNano()
			it.Rows = append(it.Rows, methodspan.Row{
				Resource: &methodspan.Resource{Service: "shop"}, Kind: methodspan.KindAggregate, Level: methodspan.LevelRaw, StartNS: start, EndNS: start + 5,
				Method: fmt.Sprint("method-", j%100), Calls: 100, Measured: 100, WallNS: 500, P: 1, CPUMeasured: 100, CPUNS: 400, CPUP: 1,
				WallHist: histogram(), CPUHist: histogram(), BatchID: it.ID, RowSeq: int32(j),
			})
		}
		if _, err := w.Write(t.Context(), []methodspan.Item{it}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	now = now.Add(2 * time.Hour) // so that the date counts as quiet
	for _, c := range []struct {
		name   string
		policy maintain.Policy
		steps  []maintain.Action // each is measured
	}{
		{"merged", maintain.Policy{MaxFiles: 1}, []maintain.Action{maintain.Merge}},
		// The rollup needs merges first, but only as many as let it fit into memory.
		{"added up", maintain.Policy{MaxFiles: 200, MinuteAfter: 7 * day, KeepRollups: 400 * day}, []maintain.Action{maintain.Merge, maintain.Minute}},
		{"pre-aggregated", maintain.Policy{MaxFiles: 200, SumRows: 1}, []maintain.Action{maintain.Merge, maintain.Sum}},
	} {
		root, before := t.TempDir(), root
		if err := os.CopyFS(root, os.DirFS(before)); err != nil {
			t.Fatal(err)
		}
		job := maintain.Job{Root: root, Policy: c.policy, Parquet: options, RowsInMemory: 100_000}
		peaks := peakHeaps(func(took func(maintain.Step)) {
			job.Done = took
			if _, err := job.Run(t.Context()); err != nil {
				t.Error(err)
			}
		})
		if took := slices.Sorted(maps.Keys(peaks)); !slices.Equal(took, slices.Sorted(slices.Values(c.steps))) {
			t.Errorf("%s by the steps %v, want %v", c.name, took, c.steps)
		}
		for step, peak := range peaks {
			t.Logf("%s, %s: %d MiB at most", c.name, step, peak>>20)
			if peak > most {
				t.Errorf("%s, %s with %d MiB on the heap, want %d MiB", c.name, step, peak>>20, most>>20)
			}
		}
	}
}

// peakHeaps runs do and returns, by action, the peak growth of the heap over its size before. do calls took after
// each step.
func peakHeaps(do func(took func(maintain.Step))) map[maintain.Action]uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(25))
	debug.FreeOSMemory()
	heap := func() uint64 {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	before := heap()
	var peak atomic.Uint64
	var sampler sync.WaitGroup
	done := make(chan struct{})
	sampler.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
				if now := heap(); now > peak.Load() {
					peak.Store(now)
				}
			}
		}
	})
	peaks := map[maintain.Action]uint64{}
	do(func(s maintain.Step) {
		most := peak.Swap(0)
		peaks[s.Action] = max(peaks[s.Action], most-min(before, most))
	})
	close(done)
	sampler.Wait()
	return peaks
}
