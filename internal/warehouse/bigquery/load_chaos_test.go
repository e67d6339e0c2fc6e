package bigquery_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/bigquery"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/test/fake"
)

// loadChaos injects faults into a loader and its services, from one random source.
type loadChaos struct {
	mu       sync.Mutex // the server calls from its own goroutines
	r        *rand.Rand
	calm     bool
	injected map[string]int
}

// hits reports whether a fault is injected: one time in n, and never while calm.
func (c *loadChaos) hits(n int, what string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calm || c.r.IntN(n) != 0 {
		return false
	}
	c.injected[what]++
	return true
}

func (c *loadChaos) int(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.r.IntN(n)
}

// killed is the panic that stands for the end of the loader's process.
type killed string

// survives runs f and reports whether it ended without a killed panic.
func survives(f func()) (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			if _, is := p.(killed); !is {
				panic(p)
			}
			ok = false
		}
	}()
	f()
	return true
}

func (c *loadChaos) breaks(s *fake.Server) {
	s.OnREST = func(string, string) int {
		if c.hits(10, "refused") {
			return []int{500, 503, 429}[c.int(3)]
		}
		return 0
	}
	s.LoseAnswer = func(method, _ string) bool { return c.hits(10, "answer lost "+method) }
	s.OnLoad = func(int) *bigquery.JobError {
		if c.hits(3, "job failed") {
			return &bigquery.JobError{Reason: []string{"quotaExceeded", "backendError", "notFound", "stopped"}[c.int(4)]}
		}
		return nil
	}
	s.Refuse = func(r fake.Row) string {
		if r["class"] == "bad" {
			return "bad"
		}
		return ""
	}
}

// open starts a loader, and repeats that until it succeeds.
func (c *loadChaos) open(t *testing.T, o bigquery.Options, load bigquery.LoadOptions) *bigquery.Loader {
	t.Helper()
	for {
		var l *bigquery.Loader
		var err error
		if survives(func() { l, err = bigquery.NewLoader(t.Context(), o, load) }) && err == nil {
			return l
		}
	}
}

// crash ends a loader, loses some of its unsynced bytes, and starts the next one.
func (c *loadChaos) crash(t *testing.T, l *bigquery.Loader, o bigquery.Options, load bigquery.LoadOptions) *bigquery.Loader {
	t.Helper()
	keep := func(n int64) int64 { return int64(c.int(int(n) + 1)) }
	if err := l.Abandon(keep); err != nil {
		t.Fatal(err)
	}
	return c.open(t, o, load)
}

// The loader is killed between any two of its steps while answers are lost, jobs fail and requests
// are refused at random. Items come again as from a stored queue. Every row is in the table once,
// or in a file that was given up.
func TestLoader_RandomFaultsAndKills(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	injected := map[string]int{}
	for seed := range uint64(5) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := fake.New(t)
			c := &loadChaos{r: rand.New(rand.NewPCG(seed, 77)), injected: injected}
			s.Polls = int(seed % 3)
			c.breaks(s)
			o := options(s, t.TempDir())
			o.DeadLetters = 1 << 30
			load := bigquery.LoadOptions{Bucket: fake.Bucket, Jobs: 1 + int(seed%4)}
			load.ByHand(func(what string) {
				if c.hits(12, "killed after "+what) {
					panic(killed(what))
				}
			})
			l := c.open(t, o, load)
			var all []methodspan.Item
			for n := range 55 {
				var items []methodspan.Item
				c.mu.Lock()
				for i := range 1 + c.r.IntN(3) {
					items = append(items, randomItem(c.r, fmt.Sprintf("p%d-%d", c.r.IntN(3), n*10+i), 1+c.r.IntN(8)))
				}
				if c.r.IntN(8) == 0 {
					items[0].Rows[0].Class = "bad"
				}
				again := n > 5 && c.r.IntN(4) == 0
				c.mu.Unlock()
				all = append(all, items...)
				if again {
					items = append(items, all[len(all)-5:]...)
				}
				for done := false; !done; {
					done = survives(func() {
						if _, err := l.Write(context.Background(), items); err != nil {
							t.Fatal(err)
						}
					})
					if !done {
						l = c.crash(t, l, o, load)
					}
				}
				if !survives(func() { _ = l.Round(context.Background(), n%3 == 0) }) || c.int(20) == 0 {
					l = c.crash(t, l, o, load)
				}
			}
			for n := 0; l.Stats().SpoolRows > 0; n++ {
				c.mu.Lock()
				c.calm = n > 60
				c.mu.Unlock()
				if n > 400 {
					t.Fatalf("%+v", l.Stats())
				}
				if n > 60 && n%20 == 0 { // a file is only given up after others were loaded
					item := randomItem(c.r, fmt.Sprintf("late-%d", n), 3)
					all = append(all, item)
					spool(t, l, item)
				}
				if !survives(func() { _ = l.Round(context.Background(), true) }) {
					l = c.crash(t, l, o, load)
				}
			}
			c.mu.Lock()
			c.calm = true
			c.mu.Unlock()
			if st := l.Stats(); st.UnknownRows != 0 || st.DeadLettersDropped != 0 { // of the last run
				t.Errorf("%+v", st)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			exact(t, s, withoutDead(t, o.Directory, all))
		})
	}
	for _, what := range []string{"spooled", "noted", "uploaded", "planned", "started", "done", "removed objects", "removed files", "ended", "failed"} {
		if injected["killed after "+what] == 0 {
			t.Errorf("the loader was never killed after step %q", what)
		}
	}
	total := 0
	for _, n := range injected {
		total += n
	}
	t.Logf("%d faults", total)
	if total < 1000 {
		t.Errorf("only %d faults were injected: %v", total, injected)
	}
}

// The loader is killed after it moved a bad file and before it recorded that. The next run counts
// the file as given up.
func TestLoader_KilledWhileGivingUpFile(t *testing.T) {
	s := fake.New(t)
	c := &loadChaos{r: rand.New(rand.NewPCG(5, 5)), calm: true, injected: map[string]int{}}
	c.breaks(s)
	o := options(s, t.TempDir())
	load := bigquery.LoadOptions{Bucket: fake.Bucket}
	load.ByHand(func(what string) {
		if what == "moved" {
			panic(killed(what))
		}
	})
	l := c.open(t, o, load)
	bad, good := randomItem(c.r, "bad", 9), randomItem(c.r, "good", 5)
	for i := range bad.Rows {
		bad.Rows[i].StartNS = noon.UnixNano()
	}
	bad.Rows[0].Class = "bad"
	spool(t, l, bad)
	_ = l.Round(t.Context(), true)
	spool(t, l, good)
	for n := 0; survives(func() { _ = l.Round(t.Context(), true) }); n++ {
		if n > 20 {
			t.Fatal("the file was never given up")
		}
	}
	l = c.crash(t, l, o, load)
	if st := l.Stats(); st.DeadLetters != 9 || st.SpoolRows != 0 || st.UnknownRows != 0 {
		t.Errorf("%+v", st)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	exact(t, s, withoutDead(t, o.Directory, []methodspan.Item{bad, good}))
}

// withoutDead returns the items without the rows of given-up files. It checks that no row was given
// up twice.
func withoutDead(t *testing.T, dir string, items []methodspan.Item) []methodspan.Item {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "dead", "*.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	dead := map[string]map[int32]bool{}
	bad := 0
	for _, f := range files {
		rows, err := parquet.ReadRows(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if dead[r.BatchID] == nil {
				dead[r.BatchID] = map[int32]bool{}
			}
			if dead[r.BatchID][r.RowSeq] {
				t.Errorf("row %d of item %s was given up twice", r.RowSeq, r.BatchID)
			}
			dead[r.BatchID][r.RowSeq] = true
			if r.Class == "bad" {
				bad++
			}
		}
	}
	if bad != len(files) {
		t.Errorf("%d files were given up for %d bad rows", len(files), bad)
	}
	left := make([]methodspan.Item, 0, len(items))
	for _, item := range items {
		var rows []methodspan.Row
		for _, r := range item.Rows {
			if !dead[item.ID][r.RowSeq] {
				rows = append(rows, r)
			}
		}
		left = append(left, methodspan.Item{ID: item.ID, Rows: rows})
	}
	return left
}
