package query

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/test/fixture"
)

// estimates holds the totals of the view and of the naive rule: exact counts times the plain mean of the measurements.
type estimates struct{ view, naive float64 }

func estimate(t *testing.T, rows []methodspan.Row) (cpu estimates) {
	t.Helper()
	w, err := Open(context.Background(), fixture.Write(t, fixture.Items("i", rows...)), Window{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	table, err := w.User(context.Background(), `
		SELECT SUM(w * cpu_ns), SUM(calls) * SUM(cpu_ns) / SUM(CASE WHEN kind = 'call' THEN cpu_measured END) FROM method_cost`, 1)
	if err != nil {
		t.Fatal(err)
	}
	return estimates{table.Rows[0][0].(float64), table.Rows[0][1].(float64)}
}

// world generates calls of one method and samples them.
type world struct {
	rng   *rand.Rand
	p     *fixture.Process
	truth float64
}

func newWorld(seed uint64) *world {
	return &world{rng: rand.New(rand.NewPCG(seed, 99)), p: fixture.NewProcess("1", "a", fixture.Start)}
}

func (w *world) call(at time.Time, mean, p, cpuP, tailAbove float64) {
	cpu := mean * math.Exp(0.8*w.rng.NormFloat64()-0.32)
	w.truth += math.Round(cpu)
	if tailAbove > 0 && cpu > tailAbove {
		// The threshold is fixed before the call: every call above it is kept.
		d := time.Duration(math.Round(cpu))
		if w.rng.Float64() >= cpuP {
			w.p.Call("m.M", "(entry)", at, d, -1, 1, cpuP).Stratum = methodspan.StratumTail
		} else {
			w.p.Call("m.M", "(entry)", at, d, d, 1, cpuP).Stratum = methodspan.StratumTail
		}
		return
	}
	if w.rng.Float64() < p {
		d := time.Duration(math.Round(cpu))
		if w.rng.Float64() >= cpuP {
			d = -1
		}
		w.p.Call("m.M", "(entry)", at, time.Duration(cpu), d, p, cpuP)
	}
}

func (w *world) rows() []methodspan.Row { return w.p.Item().Rows }

// TestWeights_SimulatedTruth checks the accuracy figures of the design, the reason for the weights. Each scene is
// simulated many times; bias is the mean of the relative errors.
func TestWeights_SimulatedTruth(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	scenes := []struct {
		name      string
		runs      int
		play      func(w *world)
		tolerance float64 // for the view's bias
		naive     float64 // bias of the naive rule, 0 = not checked
	}{
		{"the rate adapts inside the minute", 6, func(w *world) {
			// A burst in each minute: calls are frequent and expensive, and the rate falls.
			for minute := range 60 {
				at := fixture.Start.Add(time.Duration(minute) * time.Minute)
				calls := int64(0)
				for second := range 60 {
					n, mean, p := 20, 1e5, 0.2
					if second >= 40 {
						n, mean, p = 200, 2e5, 0.01
					}
					for range n {
						w.call(at.Add(time.Duration(second)*time.Second), mean, p, 1, 0)
					}
					calls += int64(n)
				}
				w.p.Counts("m.M", at, time.Minute, calls)
			}
		}, 0.015, -0.2},
		{"one call a second at p = 0.01", 20, func(w *world) {
			for minute := range 240 {
				at := fixture.Start.Add(time.Duration(minute) * time.Minute)
				for second := range 60 {
					w.call(at.Add(time.Duration(second)*time.Second), 1e5, 0.01, 1, 0)
				}
				w.p.Counts("m.M", at, time.Minute, 60)
			}
		}, 0.03, 0},
		{"CPU timed for a twentieth of the records", 10, func(w *world) {
			for minute := range 60 {
				at := fixture.Start.Add(time.Duration(minute) * time.Minute)
				for range 600 {
					w.call(at.Add(time.Second), 1e5, 0.2, 0.1, 0)
				}
				w.p.Counts("m.M", at, time.Minute, 600)
			}
		}, 0.02, 0},
		{"every call of the tail is kept", 10, func(w *world) {
			for minute := range 60 {
				at := fixture.Start.Add(time.Duration(minute) * time.Minute)
				for range 600 {
					w.call(at.Add(time.Second), 1e5, 0.02, 1, 4e5)
				}
				w.p.Counts("m.M", at, time.Minute, 600)
			}
		}, 0.015, 0.3},
	}
	for _, s := range scenes {
		t.Run(s.name, func(t *testing.T) {
			var view, naive float64
			for seed := range uint64(s.runs) {
				w := newWorld(seed)
				s.play(w)
				e := estimate(t, w.rows())
				view += (e.view/w.truth - 1) / float64(s.runs)
				naive += (e.naive/w.truth - 1) / float64(s.runs)
			}
			t.Logf("bias: weights %+.2f%%, counts x plain mean %+.2f%%", 100*view, 100*naive)
			if math.Abs(view) > s.tolerance {
				t.Errorf("the weights are off by %+.2f%%", 100*view)
			}
			if s.naive < 0 && naive > s.naive || s.naive > 0 && naive < s.naive {
				t.Errorf("the naive rule is off by %+.2f%% only: the scene shows nothing", 100*naive)
			}
		})
	}
}
