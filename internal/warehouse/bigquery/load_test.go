package bigquery_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/bigquery"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/test/fake"
)

// byHand returns options of a loader whose rounds are made by the test.
func byHand() bigquery.LoadOptions {
	o := bigquery.LoadOptions{Bucket: fake.Bucket, Prefix: "corehour/a"}
	o.ByHand(func(string) {})
	return o
}

func openLoader(t *testing.T, o bigquery.Options, load bigquery.LoadOptions) *bigquery.Loader {
	t.Helper()
	l, err := bigquery.NewLoader(t.Context(), o, load)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// spool writes items and fails the test on an error.
func spool(t *testing.T, l *bigquery.Loader, items ...methodspan.Item) {
	t.Helper()
	if _, err := l.Write(t.Context(), items); err != nil {
		t.Fatal(err)
	}
}

// rounds makes up to most rounds until no row waits.
func rounds(t *testing.T, l *bigquery.Loader, most int) {
	t.Helper()
	var err error
	for range most {
		if err = l.Round(t.Context(), true); l.Stats().SpoolRows == 0 {
			return
		}
	}
	t.Fatalf("%d rows still wait: %v", l.Stats().SpoolRows, err)
}

func TestLoader_RowsUnchanged(t *testing.T) {
	s := fake.New(t)
	s.Polls = 2
	dir := t.TempDir()
	l := openLoader(t, options(s, dir), byHand())
	r := rand.New(rand.NewPCG(21, 1))
	items := []methodspan.Item{randomItem(r, "a-1", 300), randomItem(r, "a-2", 1), randomItem(r, "plain", 50)}
	res, err := l.Write(t.Context(), items)
	if err != nil || res.Rows != 351 || res.Items != 3 || res.Bytes == 0 || res.Files != 2 { // of two dates
		t.Fatalf("%+v %v", res, err)
	}
	if got := len(s.Rows(dataset)); got != 0 || !l.Committed("a-1") || l.Stats().SpoolRows != 351 {
		t.Errorf("%d rows are stored before a job ran", got)
	}
	if err := l.Round(t.Context(), false); err != nil || s.Loads() != 0 || len(s.Objects()) != 2 {
		t.Errorf("before the end of the interval: %d jobs, objects %v, %v", s.Loads(), s.Objects(), err)
	}
	if !slices.IsSortedFunc(s.Objects(), strings.Compare) || !strings.HasPrefix(s.Objects()[0], "corehour/a/20260310-120000-") {
		t.Errorf("%v", s.Objects())
	}
	rounds(t, l, 4)
	exact(t, s, items)
	if st := l.Stats(); st.Loads != 1 || st.LoadedRows != 351 || st.LoadsRunning != 0 || st.SpoolBytes != 0 || !st.SpooledSince.IsZero() || s.Loads() != 1 {
		t.Errorf("%+v", st)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "spool", "*")); len(left) != 0 || len(s.Objects()) != 0 {
		t.Errorf("left over: %v %v", left, s.Objects())
	}
	if res, err = l.Write(t.Context(), items); err != nil || res.Rows != 0 || res.DuplicateItems != 3 {
		t.Errorf("written again: %+v %v", res, err)
	}
}

// Both modes store the same values, names and types of every column.
func TestModes_StoreEqualRows(t *testing.T) {
	items := func() []methodspan.Item {
		r := rand.New(rand.NewPCG(22, 1))
		single := randomItem(r, "a-2", 100)
		for i := range single.Rows {
			row := &single.Rows[i]
			row.WallMaxNS, row.CPUMaxNS = row.WallNS, row.CPUNS // like rows of one call
		}
		return []methodspan.Item{randomItem(r, "a-1", 200), single}
	}
	stored := func(s *fake.Server) map[string]fake.Row {
		rows := map[string]fake.Row{}
		for _, row := range s.Rows(dataset) {
			rows[row["batch_id"].(string)+"/"+string(rune(row["row_seq"].(int64)))] = row
		}
		return rows
	}
	write, load := fake.New(t), fake.New(t)
	persist(t, open(t, options(write, t.TempDir())), items())
	l := openLoader(t, options(load, t.TempDir()), byHand())
	spool(t, l, items()...)
	rounds(t, l, 2)
	if a, b := write.Table(dataset, "method_calls").Schema, load.Table(dataset, "method_calls").Schema; !reflect.DeepEqual(a, b) {
		t.Errorf("%+v\n%+v", a, b)
	}
	a, b := stored(write), stored(load)
	if len(a) != 300 || !reflect.DeepEqual(a, b) {
		t.Errorf("%d and %d rows, which differ", len(a), len(b))
	}
}

func TestNewLoader_BadBucketOrTable(t *testing.T) {
	s := fake.New(t)
	want := func(o bigquery.LoadOptions, texts ...string) {
		t.Helper()
		_, err := bigquery.NewLoader(t.Context(), options(s, t.TempDir()), o)
		for _, text := range texts {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%v, want %q", err, text)
			}
		}
	}
	o := byHand()
	o.Bucket = "another-bucket"
	want(o, "gs://another-bucket", "the bucket must exist, in the location of the dataset")
	o.Bucket = "gs://x"
	want(o, "without gs://")
	s.OnREST = func(_, path string) int {
		if strings.HasPrefix(path, "/upload/") {
			return 403
		}
		return 0
	}
	want(byHand(), "roles/storage.objectUser on the bucket")
	s.OnREST = nil

	// A column is nullable in the table and required in the files.
	table := *s.Table(dataset, "method_calls")
	table.Schema = &bigquery.Schema{Fields: slices.Clone(table.Schema.Fields)}
	for i, f := range table.Schema.Fields {
		switch f.Name {
		case "calls":
			table.Schema.Fields[i].Mode = "NULLABLE"
		case "wall_hist":
			table.Schema.Fields[i].Fields = slices.Clone(f.Fields)
			table.Schema.Fields[i].Fields[0].Mode = ""
		}
	}
	s.PutTable(table)
	want(byHand(), "the column calls must be REQUIRED, found NULLABLE", "the column wall_hist.bin must be REQUIRED, found NULLABLE", "`mode: storage_write`")
	open(t, options(s, t.TempDir())) // storage_write accepts the table
}

// After a quota error, a failure of the service, or an object that was deleted from the bucket,
// files wait and are loaded by another job with another id.
func TestLoader_RetriesFailedJobs(t *testing.T) {
	for _, reason := range []string{"quotaExceeded", "backendError", "rateLimitExceeded", "accessDenied", "stopped"} {
		s := fake.New(t)
		s.OnLoad = func(n int) *bigquery.JobError {
			if n <= 3 {
				return &bigquery.JobError{Reason: reason, Message: "not now"}
			}
			return nil
		}
		l := openLoader(t, options(s, t.TempDir()), byHand())
		var failures []error
		l.Watch(func(err error) { failures = append(failures, err) })
		items := []methodspan.Item{randomItem(rand.New(rand.NewPCG(23, 1)), "a-1", 30)}
		spool(t, l, items...)
		rounds(t, l, 4)
		exact(t, s, items)
		if st := l.Stats(); st.LoadsFailed != 3 || st.Loads != 1 || st.DeadLetters != 0 || s.Loads() != 4 {
			t.Errorf("%s: %+v", reason, st)
		}
		if len(failures) != 2 || failures[0] == nil || !strings.Contains(failures[0].Error(), reason) || failures[1] != nil {
			t.Errorf("%s: watched %v", reason, failures)
		}
	}

	s := fake.New(t)
	l := openLoader(t, options(s, t.TempDir()), byHand())
	items := []methodspan.Item{randomItem(rand.New(rand.NewPCG(23, 2)), "a-1", 30)}
	spool(t, l, items...)
	if err := l.Round(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	s.Lose()
	rounds(t, l, 3)
	exact(t, s, items)
}

// One bad row among many files is found by halving. Only its file is given up, after others were
// loaded.
func TestLoader_GivesUpOnlyBadFile(t *testing.T) {
	s := fake.New(t)
	var broken atomic.Bool
	s.Refuse = func(r fake.Row) string {
		if broken.Load() || r["batch_id"] == "b-5" && r["row_seq"].(int64) == 3 {
			return "the service does not like it"
		}
		return ""
	}
	dir := t.TempDir()
	l := openLoader(t, options(s, dir), byHand())
	r := rand.New(rand.NewPCG(24, 1))
	var good []methodspan.Item
	for i := range 12 {
		item := randomItem(r, "b-"+string(rune('0'+i)), 8)
		for j := range item.Rows { // one file each
			item.Rows[j].StartNS = noon.UnixNano() - int64(j)
		}
		if item.ID != "b-5" {
			good = append(good, item)
		}
		spool(t, l, item)
	}
	broken.Store(true)
	for range 9 { // nothing can be loaded: the table is at fault
		_ = l.Round(t.Context(), true)
	}
	if st := l.Stats(); st.SpoolRows != 96 || st.Loads != 0 || st.LoadsFailed < 9 || st.DeadLetters != 0 {
		t.Fatalf("%+v", st)
	}
	broken.Store(false)
	other := randomItem(r, "c-1", 5)
	good = append(good, other)
	spool(t, l, other)
	rounds(t, l, 12)
	exact(t, s, good)
	if st := l.Stats(); st.DeadLetters != 8 || st.DeadLettersDropped != 0 || st.LoadedRows != 93 {
		t.Errorf("%+v", st)
	}
	dead, _ := filepath.Glob(filepath.Join(dir, "dead", "*"))
	if len(dead) != 2 {
		t.Fatalf("%v", dead)
	}
	if rows, err := parquet.ReadRows(dead[0]); err != nil || len(rows) != 8 || rows[0].BatchID != "b-5" {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	if note, err := os.ReadFile(dead[1]); err != nil || !strings.Contains(string(note), `"detail":"the service does not like it","rows":8`) {
		t.Errorf("%s %v", note, err)
	}
}

func TestLoader_DeadFilesBounded(t *testing.T) {
	s := fake.New(t)
	s.Refuse = func(r fake.Row) string {
		if r["class"] == "bad" {
			return "no"
		}
		return ""
	}
	o := options(s, t.TempDir())
	o.DeadLetters = 12_000
	l := openLoader(t, o, byHand())
	r := rand.New(rand.NewPCG(25, 1))
	for i := range 6 {
		item := randomItem(r, "b-"+string(rune('0'+i)), 8)
		for j := range item.Rows {
			item.Rows[j].Class, item.Rows[j].StartNS = "bad", noon.UnixNano()
		}
		spool(t, l, item)
	}
	_ = l.Round(t.Context(), true)
	spool(t, l, randomItem(r, "c-1", 5))
	rounds(t, l, 20)
	if st := l.Stats(); st.DeadLetters+st.DeadLettersDropped != 48 || st.DeadLetters == 0 || st.DeadLettersDropped == 0 || st.LoadedRows != 5 {
		t.Errorf("%+v", st)
	}
}

func TestLoader_SpoolBounded(t *testing.T) {
	s := fake.New(t)
	load := byHand()
	load.SpoolBytes = 60_000
	l := openLoader(t, options(s, t.TempDir()), load)
	r := rand.New(rand.NewPCG(26, 1))
	var taken []methodspan.Item
	var err error
	for i := range 100 {
		item := randomItem(r, "a-"+string(rune('0'+i)), 20)
		if _, err = l.Write(t.Context(), []methodspan.Item{item}); err != nil {
			if _, err := l.Write(t.Context(), []methodspan.Item{item}); !errors.Is(err, warehouse.ErrFull) || isUnknown(err) || l.Committed(item.ID) {
				t.Errorf("again: %v", err)
			}
			break
		}
		taken = append(taken, item)
	}
	if !errors.Is(err, warehouse.ErrFull) || isUnknown(err) || l.Stats().SpoolBytes > 60_000 || len(taken) < 2 {
		t.Fatalf("%d items: %v", len(taken), err)
	}
	rounds(t, l, 2)
	exact(t, s, taken)
	spool(t, l, randomItem(r, "b", 20))
}

// Spooling stops before it uses the space that must stay free: the journal needs some of it when
// the service is back.
func TestLoader_KeepsMinFree(t *testing.T) {
	const disk, minFree = 100_000, 40_000
	s := fake.New(t)
	dir := t.TempDir()
	load := byHand()
	load.MinFree = minFree
	used := func() (n int64) {
		entries, err := os.ReadDir(filepath.Join(dir, "spool"))
		if err != nil {
			t.Error(err)
		}
		for _, e := range entries {
			if info, err := e.Info(); err == nil {
				n += info.Size()
			}
		}
		return n
	}
	load.FreeIs(func() int64 { return disk - used() })
	l := openLoader(t, options(s, dir), load)
	r := rand.New(rand.NewPCG(31, 1))
	var taken []methodspan.Item
	var err error
	for i := 0; err == nil && i < 100; i++ {
		item := randomItem(r, "a-"+strconv.Itoa(i), 20)
		if _, err = l.Write(t.Context(), []methodspan.Item{item}); err == nil {
			taken = append(taken, item)
		} else if l.Committed(item.ID) {
			t.Error("an item that was refused for lack of space counts as committed")
		}
	}
	if !errors.Is(err, warehouse.ErrFull) || isUnknown(err) || !strings.Contains(err.Error(), "40000 must stay free") {
		t.Error(err)
	}
	if n := used(); len(taken) < 2 || n > disk-minFree || n != l.Stats().SpoolBytes {
		t.Errorf("%d items in %d bytes, %d of them are known", len(taken), n, l.Stats().SpoolBytes)
	}
	rounds(t, l, 2)
	last := randomItem(r, "b", 20)
	spool(t, l, last)
	rounds(t, l, 2)
	exact(t, s, append(taken, last))
}

// A shutdown while the objects of a job are deleted leaves the rest to the next start.
func TestLoader_CancelledWhileDeletingObjects(t *testing.T) {
	s := fake.New(t)
	load := byHand()
	load.CloseAtOnce()
	o := options(s, t.TempDir())
	l := openLoader(t, o, load)
	var items []methodspan.Item
	for i := range 5 {
		items = append(items, oneItem(uint64(i), "a-"+strconv.Itoa(i), 4)...)
		spool(t, l, items[i])
	}
	ctx, cancel := context.WithCancel(t.Context())
	deletes := 0
	s.OnREST = func(method, _ string) int {
		if method == http.MethodDelete {
			if deletes++; deletes == 2 {
				cancel()
			}
		}
		return 0
	}
	if err := l.Round(ctx, true); !errors.Is(err, context.Canceled) || len(s.Objects()) == 0 {
		t.Fatalf("%v, %d objects", err, len(s.Objects()))
	}
	s.OnREST = nil
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = openLoader(t, o, byHand())
	rounds(t, l, 2)
	exact(t, s, items)
	if st := l.Stats(); len(s.Objects()) != 0 || st.ObjectsLeft != 0 || st.UnknownRows != 0 || s.Loads() != 1 {
		t.Errorf("%v stay: %+v", s.Objects(), st)
	}
}

// A finished job deletes its files first, which makes room for its journal line.
func TestLoader_RemovesFilesBeforeJournalLine(t *testing.T) {
	s := fake.New(t)
	dir := t.TempDir()
	var l *bigquery.Loader
	var mend func() error
	load := byHand()
	load.ByHand(func(what string) {
		if what == "done" && mend == nil {
			mend = l.FillDisk()
		}
	})
	o := options(s, dir)
	l = openLoader(t, o, load)
	item := oneItem(1, "a", 20)
	spool(t, l, item...)
	if err := l.Round(t.Context(), true); err == nil || l.Stats().SpoolRows != 20 {
		t.Errorf("the note was written to a full disk: %v", err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, "spool")); err != nil || len(left) != 0 {
		t.Errorf("%v %v", left, err)
	}
	if err := mend(); err != nil {
		t.Fatal(err)
	}
	if err := l.Abandon(func(n int64) int64 { return n }); err != nil {
		t.Fatal(err)
	}
	l = openLoader(t, o, byHand()) // it asks for the job, not for its files
	rounds(t, l, 1)
	exact(t, s, item)
	if st := l.Stats(); st.LoadedRows != 20 || st.UnknownRows != 0 || s.Loads() != 1 {
		t.Errorf("%+v, %d jobs", st, s.Loads())
	}
}

// The number of running jobs is bounded; other files wait.
func TestLoader_JobsInFlightBounded(t *testing.T) {
	s := fake.New(t)
	s.Polls = 1 << 30
	load := byHand()
	load.Jobs = 2
	load.CloseAtOnce()
	l := openLoader(t, options(s, t.TempDir()), load)
	r := rand.New(rand.NewPCG(27, 1))
	for i := range 5 {
		spool(t, l, randomItem(r, "a-"+string(rune('0'+i)), 3))
		if err := l.Round(t.Context(), true); err != nil {
			t.Fatal(err)
		}
	}
	if st := l.Stats(); st.LoadsRunning != 2 || s.Loads() != 2 || st.SpoolRows != 15 {
		t.Errorf("%+v", st)
	}
}

// The background rounds load files, and a shutdown loads the spooled rest.
func TestLoader_BackgroundRoundsAndClose(t *testing.T) {
	s := fake.New(t)
	load := bigquery.LoadOptions{Bucket: fake.Bucket, Interval: time.Millisecond}
	load.Quick()
	o := options(s, t.TempDir())
	o.Intake.Now = nil
	l := openLoader(t, o, load)
	item := func(id string) methodspan.Item {
		item := randomItem(rand.New(rand.NewPCG(28, 1)), id, 10)
		for i := range item.Rows {
			item.Rows[i].StartNS = time.Now().UnixNano()
		}
		return item
	}
	first, second := item("a-1"), item("a-2")
	spool(t, l, first)
	for deadline := time.Now().Add(2 * time.Minute); l.Stats().LoadedRows != 10; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%+v", l.Stats())
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	load.Interval = time.Hour
	l = openLoader(t, o, load)
	spool(t, l, second)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	exact(t, s, []methodspan.Item{first, second})
	if _, err := l.Write(t.Context(), nil); !errors.Is(err, warehouse.ErrClosed) {
		t.Error(err)
	}
}

// The mode of a directory can't change while rows of the other mode wait in it.
func TestNewWriter_RowsWaitForLoadJobs(t *testing.T) {
	s := fake.New(t)
	dir := t.TempDir()
	load := byHand()
	load.CloseAtOnce()
	l := openLoader(t, options(s, dir), load)
	spool(t, l, randomItem(rand.New(rand.NewPCG(29, 1)), "a-1", 7))
	if _, err := bigquery.NewWriter(t.Context(), options(s, dir)); !errors.Is(err, warehouse.ErrLocked) {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := bigquery.NewWriter(t.Context(), options(s, dir)); err == nil || !strings.Contains(err.Error(), "7 rows wait there for load jobs") {
		t.Errorf("%v", err)
	}
	l = openLoader(t, options(s, dir), byHand())
	rounds(t, l, 2)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, options(s, dir))
}

// The table of a directory can't change while rows for the other table wait in it.
func TestNewLoader_RowsWaitForOtherTable(t *testing.T) {
	s := fake.New(t)
	dir := t.TempDir()
	item := randomItem(rand.New(rand.NewPCG(32, 1)), "a-1", 7)
	here, there := options(s, dir), options(s, dir)
	there.Dataset.Name = "other"
	l := openLoader(t, here, byHand())
	spool(t, l, item)
	if err := l.Abandon(func(n int64) int64 { return n }); err != nil {
		t.Fatal(err)
	}
	_, err := bigquery.NewLoader(t.Context(), there, byHand())
	if err == nil || !strings.Contains(err.Error(), "7 rows wait there for load jobs into my-project.corehour.method_calls, not into my-project.other.method_calls") {
		t.Errorf("%v", err)
	}
	l = openLoader(t, here, byHand())
	rounds(t, l, 2)
	exact(t, s, []methodspan.Item{item})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = openLoader(t, there, byHand())
	spool(t, l, randomItem(rand.New(rand.NewPCG(32, 2)), "a-2", 5))
	rounds(t, l, 2)
	if n := len(s.Rows(there.Dataset)); n != 5 {
		t.Errorf("%d rows", n)
	}
}

// The state has no table if the disk was full at the first compaction.
func TestLoader_TableNotRecorded(t *testing.T) {
	s := fake.New(t)
	dir := t.TempDir()
	load := byHand()
	load.CloseAtOnce()
	l := openLoader(t, options(s, dir), load)
	item := randomItem(rand.New(rand.NewPCG(33, 1)), "a-1", 7)
	spool(t, l, item)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "load-state.json")
	state, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	old := strings.Replace(string(state), `"table":"my-project.corehour.method_calls",`, "", 1)
	if old == string(state) {
		t.Fatalf("%s", state)
	}
	if err := os.WriteFile(path, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	l = openLoader(t, options(s, dir), load)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	other := options(s, dir)
	other.Dataset.Name = "other"
	if _, err := bigquery.NewLoader(t.Context(), other, byHand()); err == nil || !strings.Contains(err.Error(), "7 rows wait there") {
		t.Errorf("%v", err)
	}
	l = openLoader(t, options(s, dir), byHand())
	rounds(t, l, 2)
	exact(t, s, []methodspan.Item{item})
}

// A start counts the rows of spooled files that are missing.
func TestLoader_SpooledFileMissing(t *testing.T) {
	s := fake.New(t)
	dir := t.TempDir()
	load := byHand()
	load.CloseAtOnce()
	l := openLoader(t, options(s, dir), load)
	item := randomItem(rand.New(rand.NewPCG(30, 1)), "a-1", 7)
	for i := range item.Rows {
		item.Rows[i].StartNS = noon.UnixNano()
	}
	spool(t, l, item)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "spool", "*.parquet"))
	if len(files) != 1 {
		t.Fatalf("%v", files)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	l = openLoader(t, options(s, dir), byHand())
	if st := l.Stats(); st.UnknownRows != 7 || st.SpoolRows != 0 {
		t.Errorf("%+v", st)
	}
}

// The object of a given-up file is deleted, or counted if that fails.
func TestLoader_RemovesObjectOfGivenUpFile(t *testing.T) {
	for _, removable := range []bool{true, false} {
		s := fake.New(t)
		s.OnLoad = func(n int) *bigquery.JobError {
			if n == 1 || n == 3 {
				return &bigquery.JobError{Reason: "invalid", Message: "bad"}
			}
			return nil
		}
		l := openLoader(t, options(s, t.TempDir()), byHand())
		spool(t, l, oneItem(1, "bad", 1)[0])
		_ = l.Round(t.Context(), true) // refused, but every file could be
		bad := s.Objects()[0]
		s.OnREST = func(method, path string) int {
			if method == http.MethodDelete && strings.HasSuffix(path, bad) && !removable {
				return http.StatusForbidden
			}
			return 0
		}
		spool(t, l, oneItem(2, "good", 1)[0])
		for n := 0; l.Stats().DeadLetters == 0; n++ {
			if n > 50 {
				t.Fatalf("the file is never given up: %+v", l.Stats())
			}
			_ = l.Round(t.Context(), true)
		}
		want := int64(1)
		if removable {
			want = 0
		}
		if left := l.Stats().ObjectsLeft; left != want || int64(len(s.Objects())) != want {
			t.Errorf("removable %v: %d objects, %d are counted", removable, len(s.Objects()), left)
		}
	}
}
