package bigquery_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/test/fake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The service fails at random during a run of writes with crashes in between. After a crash, items
// come again as from a stored queue: those in flight and some that were acknowledged. Every row is
// stored once.
func TestWriter_RandomFaultsAndCrashes(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	faults := []fake.Fault{fake.AckLost, fake.Unavailable, fake.Quota, fake.StreamEnded, fake.Internal, fake.Invalid, fake.Precondition}
	const writes = 60
	injected := 0
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 7))
			s := fake.New(t)
			var mu sync.Mutex
			s.OnAppend = func(int) fake.Fault {
				mu.Lock()
				defer mu.Unlock()
				if r.IntN(2) == 0 {
					return fake.None
				}
				injected++
				return faults[r.IntN(len(faults))]
			}
			o := options(s, t.TempDir())
			o.Small(3000+r.IntN(20_000), time.Minute)
			w := open(t, o)
			var all []methodspan.Item
			for n := range writes {
				mu.Lock()
				var items []methodspan.Item
				for i := range 1 + r.IntN(3) {
					items = append(items, randomItem(r, fmt.Sprintf("p%d-%d", r.IntN(3), n*10+i), 1+r.IntN(60)))
				}
				crash, again := r.IntN(6) == 0, r.IntN(3) == 0
				mu.Unlock()
				all = append(all, items...)
				if crash {
					_, _ = w.Write(context.Background(), items) // whatever the outcome
					if err := w.Abandon(); err != nil {
						t.Fatal(err)
					}
					w = open(t, o)
				}
				persist(t, w, items)
				if again && n > 5 {
					if res := persist(t, w, all[len(all)-5:]); res.Rows != 0 {
						t.Errorf("%d rows of repeats stored, want 0", res.Rows)
					}
				}
			}
			exact(t, s, all)
			if st := w.Stats(); st.UnknownRows != 0 || st.DeadLetters != 0 {
				t.Errorf("%+v", st)
			}
		})
	}
	if injected < 400 {
		t.Errorf("only %d faults were injected", injected)
	}
}

// The service forgets a stream while a request is in flight. Its rows are never stored twice; those
// of unknown outcome are counted.
func TestWriter_StreamForgotten(t *testing.T) {
	for _, first := range []fake.Fault{fake.None, fake.AckLost, fake.Unavailable} {
		s := fake.New(t)
		s.OnAppend = func(n int) fake.Fault {
			switch n {
			case 1:
				return first
			case 2:
				return fake.StreamGone
			}
			return fake.None
		}
		o := options(s, t.TempDir())
		o.Small(1<<20, time.Minute)
		w := open(t, o)
		r := rand.New(rand.NewPCG(8, 8))
		items := []methodspan.Item{randomItem(r, "a-1", 20)}
		persist(t, w, items)
		more := []methodspan.Item{randomItem(r, "a-2", 10)}
		persist(t, w, more)
		stored, unknown := len(s.Rows(dataset)), int(w.Stats().UnknownRows)
		if stored > 30 || stored+unknown < 30 || first == fake.None && unknown > 0 {
			t.Errorf("after fault %d: %d rows stored and %d of unknown outcome, want 30", first, stored, unknown)
		}
	}
}

func TestWriter_ServiceStuck(t *testing.T) {
	s := fake.New(t)
	s.OnAppend = func(n int) fake.Fault {
		if n == 1 {
			return fake.Stuck
		}
		return fake.None
	}
	o := options(s, t.TempDir())
	o.Small(1<<20, 50*time.Millisecond)
	w := open(t, o)
	items := []methodspan.Item{randomItem(rand.New(rand.NewPCG(9, 9)), "a-1", 5)}
	persist(t, w, items)
	exact(t, s, items)
	if w.Stats().Reconnects == 0 {
		t.Error("no reconnect was counted")
	}
}

// After a crash between the service's commit and its answer, the next start asks the service for
// the outcome.
func TestWriter_CrashBeforeAnswer(t *testing.T) {
	for _, fault := range []fake.Fault{fake.AckLost, fake.Unavailable} {
		s := fake.New(t)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var well atomic.Bool
		s.OnAppend = func(n int) fake.Fault {
			if well.Load() {
				return fake.None
			}
			// Cancelled during the first request its rows could be stored or not. At the second
			// request the service has finished the first.
			if fault == fake.Unavailable || n > 1 {
				cancel()
			}
			return fault
		}
		o := options(s, t.TempDir())
		o.Small(1<<20, time.Minute)
		w := open(t, o)
		items := []methodspan.Item{randomItem(rand.New(rand.NewPCG(10, 1)), "a-1", 20)}
		if _, err := w.Write(ctx, items); !isUnknown(err) {
			t.Fatalf("%v", err)
		}
		if err := w.Abandon(); err != nil {
			t.Fatal(err)
		}
		well.Store(true)
		w = open(t, o)
		// The cancelled request may still arrive.
		stored := len(s.Rows(dataset)) > 0
		if w.Committed("a-1") != stored || fault == fake.AckLost && !stored {
			t.Errorf("after fault %d: committed is %v, stored is %v", fault, w.Committed("a-1"), stored)
		}
		persist(t, w, items)
		exact(t, s, items)
	}
}

// A stream that refuses every request without a specific reason is finalized, and rows go to a new
// one. The outcome of earlier requests on it is looked up.
func TestWriter_StreamRefusesAll(t *testing.T) {
	for _, fault := range []fake.Fault{fake.Invalid, fake.Precondition} {
		for _, first := range []fake.Fault{fake.None, fake.AckLost, fake.Unavailable} {
			s := fake.New(t)
			s.OnAppend = func(n int) fake.Fault {
				switch n {
				case 2:
					return first
				case 3:
					return fault
				}
				return fake.None
			}
			o := options(s, t.TempDir())
			o.Small(1<<20, time.Minute)
			w := open(t, o)
			r := rand.New(rand.NewPCG(12, 12))
			items := []methodspan.Item{randomItem(r, "a-1", 20), randomItem(r, "a-2", 10), randomItem(r, "a-3", 5), randomItem(r, "a-4", 5)}
			for _, item := range items {
				persist(t, w, []methodspan.Item{item})
			}
			exact(t, s, items)
			if n := w.Stats().UnknownRows; n != 0 {
				t.Errorf("%d rows of unknown outcome, want 0", n)
			}
		}
	}
}
