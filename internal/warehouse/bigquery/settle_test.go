package bigquery_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
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

func lettersIn(t *testing.T, dir string) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "dead-letters.jsonl"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return bytes.Count(data, []byte("\n"))
}

func refuseThird(r fake.Row) string {
	if r["row_seq"].(int64) == 3 {
		return "no"
	}
	return ""
}

// A refused row becomes one dead letter, however often its item comes again.
func TestWriter_DeadLetterWrittenOnce(t *testing.T) {
	s := fake.New(t)
	s.Refuse = refuseThird
	dir := t.TempDir()
	o := options(s, dir)
	o.Small(2500, time.Minute)
	w := open(t, o)
	items := oneItem(5, "a", 5)
	for len(items[0].Rows[4].Signature) < 3000 { // too large for any request
		items[0].Rows[4].Signature += "too large for a request "
	}
	s.OnAppend = func(n int) fake.Fault {
		if n%2 == 0 && n < 12 { // the rest of the request meets the quota
			return fake.Quota
		}
		return fake.None
	}
	for n := 0; ; n++ {
		res, err := w.Write(t.Context(), items)
		refused, failure := warehouse.RowErrors(err)
		if failure != nil && n < 20 {
			if w.Stats().DeadLetters != 0 || lettersIn(t, dir) != 0 {
				t.Fatalf("letters of an item that is not settled: %+v", w.Stats())
			}
			continue
		}
		if n < 3 || len(refused) != 2 || res.Rows != 3 || res.Refused[bigquery.Invalid] != 1 || res.Refused[bigquery.TooLarge] != 1 {
			t.Errorf("after %d writes: %+v %v", n, res, err)
		}
		break
	}
	if st := w.Stats(); st.DeadLetters != 2 || st.DeadLettersDropped != 0 || lettersIn(t, dir) != 2 {
		t.Errorf("%d letters, %+v", lettersIn(t, dir), st)
	}
}

// Rows refused in a write that then fails are reported once and never counted as stored.
func TestWriter_RefusalsOfFailedWrite(t *testing.T) {
	type times func(n int) fake.Fault
	quotaAt := func(k int) times {
		return func(n int) fake.Fault {
			if n == k {
				return fake.Quota
			}
			return fake.None
		}
	}
	var down atomic.Bool
	for name, test := range map[string]struct {
		items   []methodspan.Item
		appends times
		restart bool
		last    int // rows that the second write reports as stored
	}{
		// One row of the first request is refused and the rest is stored; the second meets the quota.
		"a part":                      {oneItem(5, "a", 20), quotaAt(3), false, 19},
		"a part, and a restart":       {oneItem(5, "a", 20), quotaAt(3), true, 19},
		"another item":                {append(oneItem(5, "a", 7), oneItem(6, "b", 7)...), quotaAt(4), false, 6},
		"another item, and a restart": {append(oneItem(5, "a", 7), oneItem(6, "b", 7)...), quotaAt(4), true, 6},
		"unknown outcome": {oneItem(5, "a", 7), func(n int) fake.Fault {
			if n > 1 && down.Load() {
				return fake.AckLost
			}
			return fake.None
		}, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			down.Store(true)
			s := fake.New(t)
			s.Refuse = refuseThird
			s.OnAppend = test.appends
			s.OnFinalize = func() error {
				if name == "unknown outcome" && down.Load() {
					return status.Error(codes.Unavailable, "the connection is closed")
				}
				return nil
			}
			o := options(s, t.TempDir())
			o.Small(2500, time.Minute)
			w := open(t, o)
			first, err := w.Write(t.Context(), test.items)
			if refused, failure := warehouse.RowErrors(err); !isUnknown(failure) || len(refused) != first.Refused[bigquery.Invalid] || first.Rows != 0 {
				t.Errorf("%+v %v", first, err)
			}
			if test.restart {
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				w = open(t, o)
			}
			down.Store(false)
			last, err := w.Write(t.Context(), test.items)
			if _, failure := warehouse.RowErrors(err); failure != nil || last.Rows != test.last {
				t.Errorf("%+v %v", last, err)
			}
			want := len(test.items) // one row of each item
			if n := first.Refused[bigquery.Invalid] + last.Refused[bigquery.Invalid]; n != want || lettersIn(t, o.Directory) != want {
				t.Errorf("%d rows refused and %d dead letters written, want %d", n, lettersIn(t, o.Directory), want)
			}
			if n := first.RefusedOf["a"] + last.RefusedOf["a"]; n != 1 {
				t.Errorf("%d rows of the first item are refused", n)
			}
		})
	}
}

// A crash after the rest of a request was committed does not lose its dead letters.
func TestWriter_DeadLetterAfterCrash(t *testing.T) {
	s := fake.New(t)
	s.Refuse = refuseThird
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.OnAppend = func(n int) fake.Fault {
		switch {
		case n == 1: // refused
			return fake.None
		case n > 2:
			cancel()
		}
		return fake.AckLost
	}
	dir := t.TempDir()
	o := options(s, dir)
	o.Small(1<<20, time.Minute)
	w := open(t, o)
	if _, err := w.Write(ctx, oneItem(5, "a", 10)); !isUnknown(err) {
		t.Fatalf("%v", err)
	}
	if err := w.Abandon(); err != nil {
		t.Fatal(err)
	}
	w = open(t, o)
	if !w.Committed("a") || len(s.Rows(dataset)) != 9 || lettersIn(t, dir) != 1 || w.Stats().DeadLetters != 1 {
		t.Errorf("%d rows, %d letters, %+v", len(s.Rows(dataset)), lettersIn(t, dir), w.Stats())
	}
}

// The disk fills up after a request was committed. Its outcome is written once there is room, and
// found again after a crash.
func TestWriter_DiskFullAfterCommit(t *testing.T) {
	for _, mended := range []bool{false, true} {
		s := fake.New(t)
		o := options(s, t.TempDir())
		o.Small(1<<20, time.Minute)
		w := open(t, o)
		first, second := oneItem(1, "a", 5), oneItem(2, "b", 5)
		mend := w.FillAfterIntent()
		if res, err := w.Write(t.Context(), first); err != nil || res.Rows != 5 {
			t.Errorf("%+v %v", res, err)
		}
		if _, err := w.Write(t.Context(), second); err == nil || isUnknown(err) || s.Appends() != 1 {
			t.Errorf("with a full disk: %v, %d requests", err, s.Appends())
		}
		if mended {
			if err := mend(); err != nil {
				t.Fatal(err)
			}
			persist(t, w, second)
		}
		_ = w.Abandon() // the file may be closed already
		w = open(t, o)
		if !w.Committed("a") || w.Committed("b") != mended {
			t.Error("the start does not find the stored items")
		}
		persist(t, w, second)
		exact(t, s, append(first[:1:1], second...))
	}
}
