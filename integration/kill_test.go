package integration

import (
	"testing"
	"time"

	"github.com/corehour/corehour/integration/groundtruth"
)

// TestKilledCollector_LosesAtMostWhatItHeld proves the accounting under kill -9, at several points
// of a collector's life: with rows in its queue, while it writes and commits, while it stops, and
// right after a start. Every lost call is reported.
func TestKilledCollector_LosesAtMostWhatItHeld(t *testing.T) {
	t.Parallel()
	const seldom = `exporters: {warehouse: {sending_queue: {queue_size: 50000, batch: {min_size: 50000, flush_timeout: 500ms}}}}`
	const always = `exporters: {warehouse: {sending_queue: {queue_size: 50000, batch: {min_size: 1, flush_timeout: 1ms}}}}`
	for _, c := range []struct {
		name, config string
		alive        []time.Duration // duration of each run before it is killed
		stopping     bool            // kill while it stops
	}{
		{"rows in the queue", seldom, []time.Duration{2700 * time.Millisecond, 3300 * time.Millisecond}, false},
		{"stopping", seldom, []time.Duration{2900 * time.Millisecond, 2100 * time.Millisecond}, true},
		{"writing all the time", always, []time.Duration{2900 * time.Millisecond, 50 * time.Millisecond, 3300 * time.Millisecond}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			withRetries(t, func() faults { return killCollector(t, c.config, c.alive, c.stopping) })
		})
	}
}

func killCollector(t *testing.T, config string, lives []time.Duration, stopping bool) faults {
	f := faults{}
	p := startPipeline(t, config)
	l := startLoad(t, p.Endpoint(), "w", "--pause", "1ms", "--flush", "50ms", "--interval", "1s")
	counters := l.counters(t)
	history := recordHistory(t, counters)
	p.awaitMetric(t, 1, "otelcol_exporter_warehouse_rows_written")

	most := int64(0) // upper bound of the lost calls
	for _, alive := range lives {
		select {
		case <-time.After(alive): // the time of the fault, not a wait for an event
		case <-l.Done():
			t.Fatal("the workload ended by itself")
		}
		committed := sum(storedCalls(t, p)["w"])
		asked := time.Now()
		held := time.Duration(p.metrics(t).Sum("otelcol_exporter_warehouse_oldest_unflushed_age") * float64(time.Second))
		if stopping {
			if err := p.Process().Terminate(); err != nil {
				t.Fatal(err)
			}
			<-time.After(5 * time.Millisecond)
		}
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
		most += history.since(counters, held+countsInterval+slack+time.Since(asked))
		if after := sum(storedCalls(t, p)["w"]); after < committed {
			t.Errorf("%d calls were committed before the kill, %d after it", committed, after)
		}
		p.start(t)
	}
	r := l.end(t)
	p.stop(t)

	requireSoundRows(t, p)
	lost := requireNamedLosses(t, p, r)
	if lost > most {
		f.addf("calls lost", "%d; queue, batch and one interval of counts hold at most %d", lost, most)
	}
	t.Logf("%d calls made, %d lost in %d kills, at most %d explicable", sum(countedCalls(r)), lost, len(lives), most)
	return f
}

const (
	countsInterval = time.Second
	// slack is the time from the end of an interval to the arrival of its counts.
	slack = 500 * time.Millisecond
)

// TestKilledProcess_LosesAtMostOneInterval proves that a killed process is listed as dead, and that
// only calls since its last counts are missing, which is less than an interval.
func TestKilledProcess_LosesAtMostOneInterval(t *testing.T) {
	t.Parallel()
	withRetries(t, func() faults { return killProcess(t) })
}

func killProcess(t *testing.T) faults {
	const interval = 2 * time.Second
	f := faults{}
	p := startPipeline(t, quickWarehouse)
	l := startLoad(t, p.Endpoint(), "w", "--pause", "1ms", "--flush", "50ms", "--interval", interval.String())
	counters := l.counters(t)
	history := recordHistory(t, counters)
	p.awaitMetric(t, 2, "otelcol_receiver_method_spans_received", "kind", "process")
	<-time.After(interval / 2) // the time of the fault: half of the third interval is over
	if err := l.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	madeCalls := counters.Calls()
	p.stop(t)

	requireSoundRows(t, p)
	reported := lastReported(t, p)
	stored := sum(storedCalls(t, p)["w"])
	lost, most := madeCalls-stored, history.since(counters, time.Since(reported))
	if lost < 0 {
		t.Errorf("%d calls were made before the process died, %d are stored", madeCalls, stored)
	}
	if lost > most {
		f.addf("calls", "of %d made before the process died %d are missing, %d were made since its last counts", madeCalls, lost, most)
	}
	if since := killed.Sub(reported); since > interval {
		f.addf("counts", "the last are of %s before the process died, they leave every %s", since, interval)
	}
	requireDead(t, p, "w")
	return f
}

// lastReported returns the end of the last interval that a process reported.
func lastReported(t *testing.T, p *pipeline) time.Time {
	t.Helper()
	rows := query[struct {
		End int64 `json:"end_ns"`
	}](t, p, "SELECT MAX(end_ns) AS end_ns FROM method_calls WHERE kind = 'process'")
	if len(rows) != 1 {
		t.Fatalf("%d rows of the last interval", len(rows))
	}
	return time.Unix(0, rows[0].End)
}

// history records how many calls a workload had made at which time.
type history struct{ samples chan []point }

type point struct {
	at    time.Time
	calls int64
}

// recordHistory samples the workload's counters until the test ends.
func recordHistory(t *testing.T, c *groundtruth.Counters) *history {
	h := &history{samples: make(chan []point, 1)}
	h.samples <- []point{{time.Now(), c.Calls()}}
	stop, stopped := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() {
		close(stop)
		<-stopped
	})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(10 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-stop:
				return
			case <-ticker.C:
				calls := c.Calls() // read before the time: at that time at least so many calls had been made
				h.samples <- append(<-h.samples, point{time.Now(), calls})
			}
		}
	}()
	return h
}

// since returns the number of calls of the last while, rounded up.
func (h *history) since(c *groundtruth.Counters, while time.Duration) int64 {
	now := time.Now()
	samples := <-h.samples
	defer func() { h.samples <- samples }()
	before := int64(0)
	for _, p := range samples {
		if p.at.Before(now.Add(-while)) {
			before = p.calls
		}
	}
	return c.Calls() - before
}
