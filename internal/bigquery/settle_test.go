package bigquery_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/bigquery"
	"github.com/corehour/corehour/internal/bigquery/fake"
	"github.com/corehour/corehour/internal/parquet"
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

// A row that is refused is a dead letter once, however often its item comes again.
func TestLettersAreWrittenOnce(t *testing.T) {
	s := fake.New(t)
	s.Refuse = refuseThird
	dir := t.TempDir()
	o := options(s, dir)
	o.Small(2500, time.Minute)
	w := open(t, o)
	items := oneItem(5, "a", 5)
	for len(items[0].Rows[4].Signature) < 3000 { // which no request can hold
		items[0].Rows[4].Signature += "too large for a request "
	}
	s.OnAppend = func(n int) fake.Fault {
		if n%2 == 0 && n < 12 { // what is left of the request meets the quota
			return fake.Quota
		}
		return fake.None
	}
	for n := 0; ; n++ {
		res, err := w.Write(t.Context(), items)
		refused, failure := parquet.RowErrors(err)
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

// A crash behind the commit of what is left of a request does not lose the letters.
func TestLettersOutliveACrash(t *testing.T) {
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

// What is stored when the disk gets full is written, and not forgotten in a crash.
func TestFullDiskBehindACommit(t *testing.T) {
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
		_ = w.Abandon() // the file may be closed
		w = open(t, o)
		if !w.Committed("a") || w.Committed("b") != mended {
			t.Error("the start does not know what is stored")
		}
		persist(t, w, second)
		exact(t, s, append(first[:1:1], second...))
	}
}
