package lake_test

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/lake"
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/parquet"
)

// Rows with histograms, which a row may have thousands of bytes of, are merged and
// added up in as little memory as others: in more steps, and in smaller row groups.
func TestHistogramsInMemory(t *testing.T) {
	if raceDetector {
		t.Skip("takes three minutes then: make chaos runs it without")
	}
	const (
		files, rows, bins = 12, 2500, 200
		day               = 24 * time.Hour
		// Each row has two histograms, of 12 bytes a bin. Read at once they would take
		// twice that, and be written from as much again.
		most = files * rows * bins * 2 * 12
	)
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	options := parquet.Options{Late: 30 * day, Now: func() time.Time { return now }}
	root := t.TempDir()
	w, err := parquet.NewWriter(root, options)
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
	now = now.Add(2 * time.Hour) // so that nothing was written of late
	for name, policy := range map[string]lake.Policy{
		"merged":   {MaxFiles: 1},
		"added up": {MaxFiles: 200, MinuteAfter: 7 * day, KeepRollups: 400 * day},
	} {
		job := lake.Job{Root: root, Policy: policy, Parquet: options, RowsInMemory: 100_000}
		peak := peakHeap(func() {
			if _, err := job.Run(t.Context()); err != nil {
				t.Error(err)
			}
		})
		t.Logf("%s: %d MiB at most", name, peak>>20)
		if peak > most {
			t.Errorf("%s with %d MiB on the heap, want %d MiB", name, peak>>20, most>>20)
		}
	}
}

// peakHeap is how much more than before is on the heap at most while do runs.
func peakHeap(do func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(25))
	debug.FreeOSMemory()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	heap := func() uint64 {
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	before, peak := heap(), uint64(0)
	var sampler sync.WaitGroup
	done := make(chan struct{})
	sampler.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
				peak = max(peak, heap())
			}
		}
	})
	do()
	close(done)
	sampler.Wait()
	return peak - min(before, peak)
}
