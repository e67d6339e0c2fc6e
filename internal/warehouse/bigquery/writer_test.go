package bigquery_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/bigquery"
	"github.com/corehour/corehour/test/fake"
)

func TestWriter_RowsUnchanged(t *testing.T) {
	s := fake.New(t)
	w := open(t, options(s, t.TempDir()))
	r := rand.New(rand.NewPCG(1, 1))
	items := []methodspan.Item{randomItem(r, "a-1", 300), randomItem(r, "a-2", 1), randomItem(r, "plain", 50)}
	res, err := w.Write(t.Context(), items)
	if err != nil {
		t.Fatal(err)
	}
	if res.Rows != 351 || res.Items != 3 || res.Bytes == 0 || res.DuplicateItems != 0 {
		t.Errorf("%+v", res)
	}
	exact(t, s, items)
	for _, row := range s.Rows(dataset) {
		start := row["start_ns"].(int64)
		if day := time.Unix(0, start).UTC().Truncate(24 * time.Hour); !fake.Day(row).Equal(day) {
			t.Fatalf("a row of %s is in the partition %s", day, row["event_date"])
		}
	}
	if res, err = w.Write(t.Context(), items); err != nil || res.Rows != 0 || res.DuplicateItems != 3 || len(res.Duplicates) != 3 {
		t.Errorf("written again: %+v %v", res, err)
	}
	if !w.Committed("a-1") || w.Committed("a-3") {
		t.Error("Committed")
	}
	exact(t, s, items)
}

// The maximum of one value is NULL, because it equals that value; files do the same.
func TestWriter_MaximumOfOneValueNull(t *testing.T) {
	s := fake.New(t)
	w := open(t, options(s, t.TempDir()))
	row := methodspan.Row{
		Resource: &methodspan.Resource{Service: "shop"}, Kind: methodspan.KindCall, Level: methodspan.LevelRaw,
		StartNS: noon.UnixNano(), EndNS: noon.UnixNano() + 40, Measured: 1, WallNS: 40, WallMaxNS: 40,
		CPUMeasured: 1, CPUNS: 30, CPUMaxNS: 30, P: 0.5, CPUP: 1, BatchID: "a-1",
	}
	two := row
	two.Measured, two.CPUMeasured, two.RowSeq = 2, 2, 1
	persist(t, w, []methodspan.Item{{ID: "a-1", Rows: []methodspan.Row{row, two}}})
	for _, stored := range s.Rows(dataset) {
		want := [2]any{nil, nil}
		if stored["measured"] == int64(2) {
			want = [2]any{int64(40), int64(30)}
		}
		if got := [2]any{stored["wall_max_ns"], stored["cpu_max_ns"]}; got != want {
			t.Errorf("of %v values: maxima %v, want %v", stored["measured"], got, want)
		}
	}
}

// Items of sizes around the limit of a request are split.
func TestWriter_RequestSizeBounded(t *testing.T) {
	for _, limit := range []int{300, 1000, 5000, 50_000} {
		s := fake.New(t)
		o := options(s, t.TempDir())
		o.Small(limit, time.Minute)
		w := open(t, o)
		r := rand.New(rand.NewPCG(2, uint64(limit)))
		items := []methodspan.Item{randomItem(r, "a-1", 40), randomItem(r, "a-2", 3), randomItem(r, "a-3", 200)}
		tooLarge := 0
		res, err := w.Write(t.Context(), items)
		if refused, failure := warehouse.RowErrors(err); failure != nil || len(refused) == 0 && err != nil {
			t.Fatal(err)
		}
		tooLarge = res.Refused[bigquery.TooLarge]
		if res.Rows+tooLarge != 243 || limit > 1000 && tooLarge > 0 || int64(tooLarge) != w.Stats().DeadLetters {
			t.Errorf("limit %d: %+v", limit, res)
		}
		if tooLarge == 0 {
			exact(t, s, items)
		}
		if limit == 5000 && s.Appends() < 10 {
			t.Errorf("%d requests", s.Appends())
		}
		if res, err := w.Write(t.Context(), items); err != nil || res.DuplicateItems != 3 {
			t.Errorf("%+v %v", res, err)
		}
	}
}

func TestWriter_SplitsOutRefusedRows(t *testing.T) {
	s := fake.New(t)
	s.Refuse = func(r fake.Row) string {
		if r["row_seq"].(int64)%10 == 3 {
			return "the service does not like it\n" + strings.Repeat("x", 1000)
		}
		return ""
	}
	dir := t.TempDir()
	w := open(t, options(s, dir))
	item := randomItem(rand.New(rand.NewPCG(3, 3)), "a-1", 50)
	item.Rows[7].Method = "\xff"
	res, err := w.Write(t.Context(), []methodspan.Item{item})
	refused, failure := warehouse.RowErrors(err)
	if failure != nil || len(refused) != 6 || res.Refused[bigquery.Invalid] != 6 || res.Rows != 44 {
		t.Fatalf("%+v %v", res, err)
	}
	if len(s.Rows(dataset)) != 44 || !w.Committed("a-1") {
		t.Errorf("%d rows", len(s.Rows(dataset)))
	}
	file, err := os.Open(filepath.Join(dir, "dead-letters.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var seqs []int32
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var letter bigquery.DeadLetter
		if err := json.Unmarshal(lines.Bytes(), &letter); err != nil {
			t.Fatal(err)
		}
		if letter.Reason != "invalid" || len(letter.Detail) > 300 {
			t.Errorf("%+v", letter)
		}
		seqs = append(seqs, letter.Row.RowSeq)
	}
	if len(seqs) != 6 || seqs[0] != 3 || seqs[1] != 7 {
		t.Errorf("dead letters of rows %v", seqs)
	}

	// All rows of an item are bad: it still counts as committed.
	s.Refuse = func(fake.Row) string { return "no" }
	res, err = w.Write(t.Context(), []methodspan.Item{randomItem(rand.New(rand.NewPCG(3, 4)), "a-2", 5)})
	if refused, failure := warehouse.RowErrors(err); failure != nil || len(refused) != 5 || res.Rows != 0 || !w.Committed("a-2") {
		t.Errorf("%+v %v", res, err)
	}
}

// The answer that refuses very many rows is longer than gRPC's default limit.
func TestWriter_ManyRefusedRows(t *testing.T) {
	const rows = 5000
	s := fake.New(t)
	s.Refuse = func(r fake.Row) string {
		if r["row_seq"].(int64) == 0 {
			return ""
		}
		return strings.Repeat("x", 1000)
	}
	w := open(t, options(s, t.TempDir()))
	res, err := w.Write(t.Context(), oneItem(6, "a", rows))
	if _, failure := warehouse.RowErrors(err); failure != nil || res.Rows != 1 || res.Refused[bigquery.Invalid] != rows-1 {
		t.Errorf("%+v %v", res, failure)
	}
}

func TestWriter_DeadLettersBounded(t *testing.T) {
	s := fake.New(t)
	s.Refuse = func(fake.Row) string { return "no" }
	dir := t.TempDir()
	o := options(s, dir)
	o.DeadLetters = 4000
	w := open(t, o)
	_, err := w.Write(t.Context(), []methodspan.Item{randomItem(rand.New(rand.NewPCG(4, 4)), "a-1", 50)})
	if _, failure := warehouse.RowErrors(err); failure != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "dead-letters.jsonl"))
	if err != nil || info.Size() > 4000 || info.Size() < 2000 {
		t.Fatalf("%v %v", info.Size(), err)
	}
	if st := w.Stats(); st.DeadLetters+st.DeadLettersDropped != 50 || st.DeadLettersDropped < 40 {
		t.Errorf("%+v", st)
	}
}

// An incomplete dead letter, left by a full disk or a power loss, damages no other one.
func TestWriter_TornDeadLetter(t *testing.T) {
	s := fake.New(t)
	s.Refuse = func(fake.Row) string { return "no" }
	dir := t.TempDir()
	o := options(s, dir)
	w := open(t, o)
	path := filepath.Join(dir, "dead-letters.jsonl")
	write := func(id string) {
		t.Helper()
		if _, failure := warehouse.RowErrors(func() error { _, err := w.Write(t.Context(), oneItem(1, id, 3)); return err }()); failure != nil {
			t.Fatal(failure)
		}
	}
	letters := func() (n int) {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			var letter bigquery.DeadLetter
			if err := json.Unmarshal(line, &letter); err != nil || letter.Row == nil {
				t.Errorf("%.80q %v", line, err)
			}
			n++
		}
		return n
	}
	for i, torn := range []string{"", `{"reason":"inv`, `{"detail":"` + strings.Repeat("x", 10_000)} {
		write(string(rune('a' + i)))
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = file.WriteString(torn); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	write("z")
	if n := letters(); n != 12 || w.Stats().DeadLetters != 12 {
		t.Errorf("%d letters, %+v", n, w.Stats())
	}
	// The file has only an incomplete letter.
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	write("y")
	if n := letters(); n != 3 {
		t.Errorf("%d letters", n)
	}
}

func TestWriter_UnknownOutcomeErrors(t *testing.T) {
	s := fake.New(t)
	o := options(s, t.TempDir())
	o.Small(1<<20, time.Minute)
	w := open(t, o)
	item := []methodspan.Item{randomItem(rand.New(rand.NewPCG(5, 5)), "a-1", 5)}
	// Cancelled requests may still be in flight, so only the fault changes and OnAppend stays.
	var fault atomic.Int64
	s.OnAppend = func(int) fake.Fault { return fake.Fault(fault.Load()) }
	fault.Store(int64(fake.Quota))
	if _, err := w.Write(t.Context(), item); err == nil || isUnknown(err) || !strings.Contains(err.Error(), "quota") {
		t.Errorf("over the quota: %v", err)
	}
	fault.Store(int64(fake.AckLost))
	if _, err := w.Write(t.Context(), item); !isUnknown(err) && w.Committed("a-1") == (err != nil) {
		t.Errorf("no answers: %v", err)
	}
	fault.Store(int64(fake.None))
	persist(t, w, item)
	exact(t, s, item)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Write(ctx, item); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if _, err := w.Write(t.Context(), item); !errors.Is(err, warehouse.ErrClosed) {
		t.Error(err)
	}
}

func TestNewWriter_DirectoryLocked(t *testing.T) {
	s := fake.New(t)
	dir := t.TempDir()
	open(t, options(s, dir))
	if _, err := bigquery.NewWriter(t.Context(), options(s, dir)); !errors.Is(err, warehouse.ErrLocked) {
		t.Error(err)
	}
}

func TestDataset_Check(t *testing.T) {
	s := fake.New(t)
	for _, d := range []bigquery.Dataset{{}, {Project: "p", Name: "d"}, {Project: "my-project", Name: "a`; DROP"}, {Project: "../x-y-z", Name: "d"}} {
		o := options(s, t.TempDir())
		o.Dataset = d
		if _, err := bigquery.NewWriter(t.Context(), o); err == nil {
			t.Errorf("%v is accepted", d)
		}
	}
}
