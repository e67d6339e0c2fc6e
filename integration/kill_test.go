package integration

import (
	"testing"
	"time"

	"github.com/corehour/corehour/integration/groundtruth"
)

// TestKilledCollectorLosesAtMostWhatItHeld proves the ledger under kill -9, at
// points that a collector passes: with rows in its queue, while it writes and
// commits, while it stops, and right after a start. What was lost has a name, to the call.
func TestKilledCollectorLosesAtMostWhatItHeld(t *testing.T) {
	t.Parallel()
	const seldom = `exporters: {warehouse: {sending_queue: {queue_size: 50000, batch: {min_size: 50000, flush_timeout: 500ms}}}}`
	const always = `exporters: {warehouse: {sending_queue: {queue_size: 50000, batch: {min_size: 1, flush_timeout: 1ms}}}}`
	for _, c := range []struct {
		name, config string
		alive        []time.Duration // how long each run lasts before it is killed
		stopping     bool            // it is killed while it stops
	}{
		{"rows in the queue", seldom, []time.Duration{2700 * time.Millisecond, 3300 * time.Millisecond}, false},
		{"stopping", seldom, []time.Duration{2900 * time.Millisecond, 2100 * time.Millisecond}, true},
		{"writing all the time", always, []time.Duration{2900 * time.Millisecond, 50 * time.Millisecond, 3300 * time.Millisecond}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			lasting(t, func() faults { return killCollector(t, c.config, c.alive, c.stopping) })
		})
	}
}

func killCollector(t *testing.T, config string, lives []time.Duration, stopping bool) faults {
	f := faults{}
	p := startPipeline(t, config)
	l := startLoad(t, p.Endpoint(), "w", "--pause", "1ms", "--flush", "50ms", "--interval", "1s")
	counters := l.counters(t)
	history := sample(t, counters)
	p.awaitMetric(t, 1, "otelcol_exporter_warehouse_rows_written")

	most := int64(0) // that may be lost
	for _, alive := range lives {
		select {
		case <-time.After(alive): // the fault's moment, not a wait for something
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
	t.Logf("%d calls made, %d lost in %d kills, at most %d explicable", sum(made(r)), lost, len(lives), most)
	return f
}

const (
	countsInterval = time.Second
	// slack is between the end of an interval and the arrival of its counts.
	slack = 500 * time.Millisecond
)

// TestKilledProcessLosesAtMostOneInterval proves that a process that dies is
// listed as dead, and that no more is missing than it counted since its last
// counts left, which was less than an interval ago.
func TestKilledProcessLosesAtMostOneInterval(t *testing.T) {
	t.Parallel()
	lasting(t, func() faults { return killProcess(t) })
}

func killProcess(t *testing.T) faults {
	const interval = 2 * time.Second
	f := faults{}
	p := startPipeline(t, quickWarehouse)
	l := startLoad(t, p.Endpoint(), "w", "--pause", "1ms", "--flush", "50ms", "--interval", interval.String())
	counters := l.counters(t)
	history := sample(t, counters)
	p.awaitMetric(t, 2, "otelcol_receiver_method_spans_received", "kind", "process")
	<-time.After(interval / 2) // the third interval is half over: the fault's moment
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

// lastReported returns the end of the last interval that a process has reported.
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

// history is how many calls a workload had made at what time.
type history struct{ samples chan []point }

type point struct {
	at    time.Time
	calls int64
}

// sample notes the workload's counters until the test ends.
func sample(t *testing.T, c *groundtruth.Counters) *history {
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
				calls := c.Calls() // before the time, however late: until then at least so many were made
				h.samples <- append(<-h.samples, point{time.Now(), calls})
			}
		}
	}()
	return h
}

// since is how many calls were made in the last while, rounded up.
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
