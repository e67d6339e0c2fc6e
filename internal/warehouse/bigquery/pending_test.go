package bigquery_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/bigquery"
	"github.com/corehour/corehour/test/fake"
)

// outage makes the service break every call while the returned flag is set.
func outage(s *fake.Server) *atomic.Bool {
	var on atomic.Bool
	s.OnAppend = func(int) fake.Fault {
		if on.Load() {
			return fake.Unavailable
		}
		return fake.None
	}
	s.OnFinalize = func() error {
		if on.Load() {
			return status.Error(codes.Unavailable, "the connection is closed")
		}
		return nil
	}
	return &on
}

func oneItem(seed uint64, id string, rows int) []methodspan.Item {
	return []methodspan.Item{randomItem(rand.New(rand.NewPCG(seed, 5)), id, rows)}
}

// A pending request makes only its own items unknown.
func TestWriter_UnknownOutcomeOnlyOfSentItems(t *testing.T) {
	s := fake.New(t)
	down := outage(s)
	o := options(s, t.TempDir())
	o.Small(1<<20, time.Minute)
	w := open(t, o)
	sent, other := oneItem(1, "sent", 5), oneItem(2, "other", 5)
	down.Store(true)
	if _, err := w.Write(t.Context(), sent); !isUnknown(err) || !warehouse.Unsettled(err)("sent") {
		t.Errorf("sent: %v", err)
	}
	for range 2 {
		if _, err := w.Write(t.Context(), other); err == nil || isUnknown(err) {
			t.Errorf("never sent: %v", err)
		}
	}
	_, err := w.Write(t.Context(), append(other[:1:1], sent...))
	if in := warehouse.Unsettled(err); !in("sent") || in("other") {
		t.Errorf("both: %v", err)
	}
	sum := methodspan.Item{ID: "sum", Folds: []string{"sent"}, Rows: oneItem(3, "sum", 2)[0].Rows}
	if _, err := w.Write(t.Context(), []methodspan.Item{sum}); !warehouse.Unsettled(err)("sum") {
		t.Errorf("aggregate: %v", err)
	}
	down.Store(false)
	persist(t, w, other)
	exact(t, s, append(other[:1:1], sent...))
}

// A pending request is refused when it is sent again. The end of its stream shows that it is not
// stored, so other items can be stored.
func TestWriter_RefusalSettlesPendingRequest(t *testing.T) {
	s := fake.New(t)
	down := outage(s)
	o := options(s, t.TempDir())
	o.Small(1<<20, time.Minute)
	w := open(t, o)
	first, second := oneItem(1, "a", 5), oneItem(2, "b", 5)
	down.Store(true)
	if _, err := w.Write(t.Context(), first); !isUnknown(err) {
		t.Errorf("%v", err)
	}
	full := *s.Table(dataset, "method_calls")
	short := full
	short.Schema = &bigquery.Schema{Fields: full.Schema.Fields[:20]}
	s.PutTable(short)
	down.Store(false)
	for _, items := range [][]methodspan.Item{second, first} {
		if _, err := w.Write(t.Context(), items); err == nil || isUnknown(err) || !strings.Contains(err.Error(), "streams see them") {
			t.Errorf("%v", err)
		}
	}
	s.PutTable(full)
	persist(t, w, second)
	persist(t, w, first)
	exact(t, s, append(first[:1:1], second...))
}

// A partly stored item is of unknown outcome, other items are not, before and after a restart.
func TestWriter_PartlyStoredItem(t *testing.T) {
	s := fake.New(t)
	dir := t.TempDir()
	o := options(s, dir)
	now := noon
	o.Intake.Now = func() time.Time { return now }
	o.Small(3000, time.Minute)
	w := open(t, o)
	var well atomic.Int64
	well.Store(1) // requests that succeed
	s.OnAppend = func(int) fake.Fault {
		if well.Add(-1) < 0 {
			return fake.Quota
		}
		return fake.None
	}
	big := oneItem(4, "big", 60)
	big[0].Folds = []string{"f-1", "f-2"}
	if _, err := w.Write(t.Context(), big); !warehouse.Unsettled(err)("big") {
		t.Errorf("partly stored: %v", err)
	}
	half := len(s.Rows(dataset))
	if half == 0 || half == 60 {
		t.Fatalf("%d rows are stored", half)
	}
	small := oneItem(5, "small", 3)
	for _, restart := range []bool{false, true} {
		if restart {
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			w = open(t, o)
		}
		if _, err := w.Write(t.Context(), small); err == nil || isUnknown(err) {
			t.Errorf("never sent: %v", err)
		}
		_, err := w.Write(t.Context(), append(small[:1:1], big...))
		if in := warehouse.Unsettled(err); !in("big") || in("small") {
			t.Errorf("both: %v", err)
		}
	}
	well.Store(1000)
	if res := persist(t, w, append(small[:1:1], big...)); res.Rows != 63 {
		t.Errorf("%d rows are counted, want 63", res.Rows)
	}
	exact(t, s, append(small[:1:1], big...))
	if !w.Committed("f-2") {
		t.Error("an item aggregated into an item of several requests is not committed")
	}
}

// The part count of an item that never comes again is forgotten when its id would be.
func TestWriter_PartlyStoredItemForgotten(t *testing.T) {
	s := fake.New(t)
	dir := t.TempDir()
	o := options(s, dir)
	now := noon
	o.Intake.Now = func() time.Time { return now }
	o.Small(3000, time.Minute)
	w := open(t, o)
	s.OnAppend = func(n int) fake.Fault {
		if n == 2 {
			return fake.Quota
		}
		return fake.None
	}
	if _, err := w.Write(t.Context(), oneItem(4, "big", 60)); !isUnknown(err) {
		t.Errorf("partly stored: %v", err)
	}
	for _, c := range []struct {
		after time.Duration
		kept  bool
	}{{23 * time.Hour, true}, {2 * time.Hour, false}} {
		now = now.Add(c.after)
		item := oneItem(5, "small-"+c.after.String(), 3)
		for i := range item[0].Rows {
			item[0].Rows[i].StartNS = now.UnixNano()
		}
		persist(t, w, item)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		state, err := os.ReadFile(filepath.Join(dir, "state.json"))
		if err != nil || strings.Contains(string(state), `"big"`) != c.kept {
			t.Errorf("%s later the state is %s %v", c.after, state, err)
		}
		w = open(t, o)
	}
}
