package maintain

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
	"github.com/corehour/corehour/internal/weights"
)

// figures holds the estimates of a method's calls.
type figures struct {
	calls    float64
	measured int64
	wall     float64 // weighted estimate for all calls
}

func (f figures) is(other figures) bool {
	return f.calls == other.calls && f.measured == other.measured && math.Abs(f.wall-other.wall) <= 1e-6*math.Abs(other.wall)
}

// figuresOf returns the figures of each method in rows.
func figuresOf(rows []methodspan.Row) map[methodKey]figures {
	byMethod := map[methodKey][]*methodspan.Row{}
	for i := range rows {
		byMethod[methodOf(&rows[i])] = append(byMethod[methodOf(&rows[i])], &rows[i])
	}
	out := map[methodKey]figures{}
	var cells weights.Cells
	for method, rows := range byMethod {
		cells.Reset()
		for _, r := range rows {
			cells.Add(r)
		}
		var f figures
		for _, r := range rows {
			f.calls += r.Calls
			f.measured += r.Measured
			f.wall += cells.Weigh(r).Wall * float64(r.WallNS)
		}
		out[method] = f
	}
	return out
}

func rowsIn(paths ...string) (rows []methodspan.Row, err error) {
	for _, path := range paths {
		more, err := parquet.ReadRows(path)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// sumsAgree checks that each rollup of s was made from files listed in s, and that its figures equal theirs for
// every method.
func sumsAgree(s *table.Snapshot) error {
	counts := map[string]string{}
	for _, f := range s.Files {
		counts[f.Path] = f.Date
	}
	for _, sums := range s.Sums {
		for _, path := range sums.Of {
			if counts[path] != sums.Date {
				return fmt.Errorf("generation %d: %s is of %s, which does not count", s.Generation, sums.Path, path)
			}
		}
		if _, ok := counts[sums.Path]; ok {
			return fmt.Errorf("generation %d: the sums %s count", s.Generation, sums.Path)
		}
		rows, err := rowsIn(sums.Of...)
		if err != nil {
			return err
		}
		kept, err := rowsIn(sums.Path)
		if err != nil {
			return err
		}
		if int64(len(kept)) != sums.Rows {
			return fmt.Errorf("%s has %d rows, its manifest says %d", sums.Path, len(kept), sums.Rows)
		}
		want, got := figuresOf(rows), figuresOf(kept)
		if len(got) != len(want) {
			return fmt.Errorf("generation %d: %s has %d methods, its files have %d", s.Generation, sums.Path, len(got), len(want))
		}
		for method, f := range want {
			if !got[method].is(f) {
				return fmt.Errorf("generation %d: of %v %s says %+v, its files say %+v", s.Generation, method, sums.Path, got[method], f)
			}
		}
	}
	return nil
}

// sumsWorld is a warehouse whose rows and rollups are created and removed by a test.
type sumsWorld struct {
	t       *testing.T
	root    string
	now     time.Time
	options table.Options
	rng     *rand.Rand
	w       *table.Writer
	items   int
}

func newSumsWorld(t *testing.T, seed uint64) *sumsWorld {
	t.Helper()
	w := &sumsWorld{t: t, root: t.TempDir(), now: noon, rng: rand.New(rand.NewPCG(seed, 5))}
	w.options = table.Options{Late: 60 * day, Now: func() time.Time { return w.now }}.Inject(func(string, string, bool) error { return nil })
	var err error
	if w.w, err = table.NewWriter(w.root, w.options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.w.Close() })
	return w
}

// write writes calls and counts of a service for the date daysAgo days ago.
func (w *sumsWorld) write(service string, daysAgo, rows int) {
	w.t.Helper()
	w.items++
	it := methodspan.Item{ID: fmt.Sprintf("item-%d", w.items)}
	for i := range rows {
		start := w.now.Truncate(day).AddDate(0, 0, -daysAgo).Add(time.Duration(w.rng.Int64N(int64(w.now.Sub(w.now.Truncate(day)) + 1)))).UnixNano()
		r := methodspan.Row{
			Resource: &methodspan.Resource{Service: service, Version: fmt.Sprint(w.rng.IntN(2)), Instance: fmt.Sprint("i-", w.rng.IntN(3))},
			Level:    methodspan.LevelRaw, WeightBasis: methodspan.BasisExact, Class: "c", Method: fmt.Sprint("m", w.rng.IntN(3)),
			StartNS: start, EndNS: start + 1e6, BatchID: it.ID, RowSeq: int32(i),
		}
		if i%3 == 0 {
			r.Kind, r.Calls = methodspan.KindCounts, float64(1+w.rng.IntN(100))
		} else {
			r.Kind, r.Measured, r.WallNS, r.WallMaxNS, r.P = methodspan.KindCall, 1, 1e6, 1e6, 0.5
			r.TraceID[0], r.SpanID[0] = 1, 1
		}
		it.Rows = append(it.Rows, r)
	}
	if _, err := w.w.Write(w.t.Context(), []methodspan.Item{it}); err != nil {
		if _, failure := warehouse.RowErrors(err); failure != nil {
			w.t.Fatal(failure)
		}
	}
}

func (w *sumsWorld) job(p Policy) *Job { return &Job{Root: w.root, Policy: p, Parquet: w.options} }

func (w *sumsWorld) run(p Policy) []Action {
	w.t.Helper()
	report, err := w.job(p).Run(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return actionsOf(report)
}

func actionsOf(r *Result) (actions []Action) {
	for _, s := range r.Steps {
		actions = append(actions, s.Action)
	}
	return actions
}

// open checks that the rollups agree with their source files and returns them.
func (w *sumsWorld) open(what string) []table.Sums {
	w.t.Helper()
	s, err := table.Open(w.root)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := sumsAgree(s); err != nil {
		w.t.Fatalf("%s: %v", what, err)
	}
	return s.Sums
}

// onlyNamed checks that, after the readers' grace period, the disk has only listed files and their rollups.
func (w *sumsWorld) onlyNamed() {
	w.t.Helper()
	w.now = w.now.Add(table.DefaultGrace)
	m, err := table.NewMaintainer(w.root, w.options)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		w.t.Fatal(err)
	}
	s, err := table.Open(w.root)
	if err != nil {
		w.t.Fatal(err)
	}
	var want []string
	for _, f := range s.Files {
		want = append(want, f.Path)
	}
	for _, sums := range s.Sums {
		want = append(want, sums.Path)
	}
	got, err := filepath.Glob(filepath.Join(w.root, "date=*", "*"))
	if err != nil {
		w.t.Fatal(err)
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.t.Errorf("on the disk are %v, want %v", got, want)
	}
}

// After any sequence of actions, the rollups of a date are made from listed files, agree with these, and contain
// no deleted service. Their files are deleted once no manifest lists them.
func TestRollup_RandomActions(t *testing.T) {
	steps, states := map[Action]int{}, map[string]int{}
	seeds := uint64(8)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		w := newSumsWorld(t, seed)
		services := []string{"a", "b", "c"}
		w.write("d", 0, 3) // so that the warehouse is never empty
		for n := range 50 {
			service := services[w.rng.IntN(len(services))]
			what := fmt.Sprintf("seed %d, step %d", seed, n)
			before := w.open(what)
			switch k := w.rng.IntN(20); {
			case k < 7:
				w.write(service, w.rng.IntN(5), 1+w.rng.IntN(15))
				if after := w.open(what); len(before) > 0 && len(after) == len(before) {
					states["late rows and a rollup"]++
				} else if len(after) < len(before) {
					t.Fatalf("%s: rows took sums away", what)
				}
			case k < 11:
				w.now = w.now.Add([]time.Duration{20 * time.Minute, 2 * time.Hour, 2 * time.Hour, 20 * time.Hour}[w.rng.IntN(4)])
			case k == 11, k == 12:
				action, report, err := Delete, (*Result)(nil), error(nil)
				if k == 11 {
					report, err = w.job(Policy{}).DeleteService(t.Context(), service)
				} else {
					action = Relabel
					report, err = w.job(Policy{}).RelabelService(t.Context(), service, services[(slices.Index(services, service)+1)%3])
				}
				if err != nil {
					t.Fatal(err)
				}
				steps[action] += len(report.Steps)
				for _, sums := range w.open(what) {
					rows, err := rowsIn(sums.Path)
					if err != nil {
						t.Fatal(err)
					}
					if slices.ContainsFunc(rows, func(r methodspan.Row) bool { return r.Resource.Service == service }) {
						t.Fatalf("%s: %s has rows of %s", what, sums.Path, service)
					}
				}
			default:
				p := Policy{MaxFiles: 2 + w.rng.IntN(6), SumRows: 12}
				switch w.rng.IntN(6) {
				case 0:
					p.KeepIDs = day
				case 1:
					p.MinuteAfter = 2 * day
				case 2:
					p.MinuteAfter, p.HourAfter = day, 4*day
				case 3:
					p.KeepRaw = 3 * day
				}
				for _, action := range w.run(p) {
					steps[action]++
				}
				if again := w.run(p); slices.Contains(again, Sum) {
					t.Fatalf("%s: sums were kept again at once: %v", what, again)
				}
			}
			after := w.open(what)
			if len(after) > 0 {
				states["with sums"]++
			}
			for _, sums := range before {
				if !slices.ContainsFunc(after, func(s table.Sums) bool { return s.Path == sums.Path }) {
					states["sums gone"]++
				}
			}
		}
		w.onlyNamed()
	}
	t.Logf("steps %v, states %v", steps, states)
	if testing.Short() {
		return // few steps need not cover all actions
	}
	for _, action := range []Action{Expire, Hour, Minute, DropIDs, Merge, Sum, Delete, Relabel} {
		if steps[action] == 0 {
			t.Errorf("it never came to %s", action)
		}
	}
	for _, state := range []string{"late rows and a rollup", "with sums", "sums gone"} {
		if states[state] < 20 {
			t.Errorf("%s %d times", state, states[state])
		}
	}
}

// A rollup is due for a closed and quiet date, if enough of its rows are in no rollup for it to save more work
// than it takes.
func TestPolicy_RollupDue(t *testing.T) {
	named := func(name, level string, rows int64) parquet.File {
		f := file(level, rows)
		f.Path = name
		return f
	}
	with := func(d table.Date, of ...string) table.Date {
		d.Sums = &table.Sums{Of: of}
		return d
	}
	raw := named("raw", methodspan.LevelRaw, 10*DefaultSumRows)
	minute := named("minute", methodspan.LevelMinute, DefaultSumRows)
	few := named("few", methodspan.LevelRaw, DefaultSumRows-1)
	late := named("late", methodspan.LevelRaw, DefaultSumRows)
	much := named("much", methodspan.LevelRaw, 2*DefaultSumRows)
	p := Policy{MaxFiles: 4, SumRows: DefaultSumRows}
	for name, tc := range map[string]struct {
		date table.Date
		want bool
	}{
		"over and quiet":             {dateOf(1, time.Hour, raw), true},
		"not over":                   {dateOf(0, time.Hour, raw), false},
		"not quiet":                  {dateOf(1, 59*time.Minute, raw), false},
		"a small date":               {dateOf(1, time.Hour, few), false},
		"of minutes":                 {dateOf(1, time.Hour, minute), true},
		"of hours":                   {dateOf(1, time.Hour, named("hour", methodspan.LevelHour, 10*DefaultSumRows)), false},
		"with sums":                  {with(dateOf(1, time.Hour, raw), "raw"), false},
		"some late rows":             {with(dateOf(1, time.Hour, raw, few), "raw"), false},
		"enough, but too few of all": {with(dateOf(1, time.Hour, raw, late), "raw"), false},
		"many late rows":             {with(dateOf(1, time.Hour, raw, much), "raw"), true},
	} {
		if got := p.sumsDue(&tc.date, noon); got != tc.want {
			t.Errorf("%s: due %v, want %v", name, got, tc.want)
		}
		if none := (&Policy{MaxFiles: 4}); none.sumsDue(&tc.date, noon) {
			t.Errorf("%s: due where none are to be kept", name)
		}
	}
}

// A rollup step reports its input and, unless it is a dry run, its output. Late rows are added to the rollup once
// there are enough of them. The rows themselves stay.
func TestRollup_LateRows(t *testing.T) {
	w := newSumsWorld(t, 1)
	w.write("a", 1, 40)
	w.write("b", 1, 20)
	w.now = w.now.Add(2 * time.Hour)
	job := w.job(Policy{MaxFiles: DefaultMaxFiles, SumRows: 30})
	// step checks that maintenance takes one rollup step over the given numbers of files and rows.
	step := func(what string, files int, rows int64) Step {
		t.Helper()
		report, err := job.Run(t.Context())
		if err != nil || len(report.Steps) != 1 {
			t.Fatalf("%s: %+v, %v", what, report, err)
		}
		s := report.Steps[0]
		if s.Action != Sum || s.Files != files || s.Rows != rows || s.Bytes == 0 || (s.OutRows == 0) != job.DryRun {
			t.Fatalf("%s: %+v", what, s)
		}
		return s
	}
	job.DryRun = true
	step("a dry run", 2, 60)
	if sums := w.open("a dry run"); len(sums) > 0 {
		t.Errorf("%+v", sums)
	}
	job.DryRun = false
	s := step("at first", 2, 60)
	sums := w.open("at first")
	if len(sums) != 1 || len(sums[0].Of) != 2 || sums[0].Rows != s.OutRows || sums[0].Bytes != s.OutBytes || sums[0].Level != methodspan.LevelHour || !sums[0].NoIDs {
		t.Errorf("%+v after %+v", sums, s)
	}
	w.write("a", 1, 10)
	w.now = w.now.Add(2 * time.Hour)
	if actions := w.run(job.Policy); len(actions) > 0 {
		t.Errorf("ten late rows took %v", actions)
	}
	if sums := w.open("ten late rows"); len(sums) != 1 || len(sums[0].Of) != 2 {
		t.Errorf("%+v", sums)
	}
	w.write("a", 1, 20)
	w.now = w.now.Add(2 * time.Hour)
	step("thirty late rows", 4, 90)
	if sums := w.open("thirty late rows"); len(sums) != 1 || len(sums[0].Of) != 4 {
		t.Errorf("%+v", sums)
	}
	if s, err := table.Open(w.root); err != nil || s.Rows() != 90 {
		t.Errorf("%+v, %v", s, err)
	}
	w.onlyNamed()
}

// If a step replaces a source file of a rollup, the same run rebuilds the rollup, even if most rows did not change.
func TestRollup_RebuiltInSameRun(t *testing.T) {
	w := newSumsWorld(t, 4)
	w.write("a", 2, 1000)
	w.now = w.now.Add(2 * time.Hour)
	run := func(p Policy, want ...Action) {
		t.Helper()
		p.MaxFiles = DefaultMaxFiles
		if got := w.run(p); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	run(Policy{KeepIDs: time.Hour}, DropIDs)
	w.write("a", 2, 40)
	w.now = w.now.Add(2 * time.Hour)
	run(Policy{SumRows: 30}, Sum)
	run(Policy{SumRows: 30, KeepIDs: time.Hour}, DropIDs, Sum)
	if sums := w.open("at last"); len(sums) != 1 || len(sums[0].Of) != 2 {
		t.Errorf("%+v", sums)
	}
}

// A date gets no rollup, and causes no error, if its files cannot be fetched or read at once. Files that can be
// merged first are merged.
func TestRollup_TooLarge(t *testing.T) {
	w := newSumsWorld(t, 2)
	for range 4 {
		w.write("a", 1, 20)
	}
	w.now = w.now.Add(2 * time.Hour)
	s, err := table.Open(w.root)
	if err != nil {
		t.Fatal(err)
	}
	size, most := sizeOf(s.Files), int64(0)
	job := w.job(Policy{MaxFiles: DefaultMaxFiles, SumRows: 30})
	job.Fetch = func(_ context.Context, files []parquet.File) (func(), error) {
		most = max(most, sizeOf(files))
		return func() {}, nil
	}
	for _, tc := range []struct {
		name         string
		dry          bool
		bytes        int64
		rowsInMemory int64
		want         []Action
	}{
		{"too large to fetch, dry", true, size - 1, 0, nil},
		{"too large to fetch", false, size - 1, 0, nil},
		{"too large to read", false, 0, 1, []Action{Merge, Merge, Merge}}, // until one file is left
		{"too large to read and to merge", false, 0, 1, nil},
		{"no longer", false, 0, 40, []Action{Sum}},
	} {
		job.DryRun, job.FetchBytes, job.RowsInMemory, most = tc.dry, tc.bytes, tc.rowsInMemory, 0
		report, err := job.Run(t.Context())
		if err != nil || !slices.Equal(actionsOf(report), tc.want) {
			t.Errorf("%s: %v, %v, want %v", tc.name, actionsOf(report), err, tc.want)
		}
		if sums := w.open(tc.name); (len(sums) > 0) != slices.Contains(tc.want, Sum) {
			t.Errorf("%s: %+v", tc.name, sums)
		}
		if most > size {
			t.Errorf("%s: %d bytes fetched at once", tc.name, most)
		}
	}
}

// Rollups keep the names of instances, so that they have the same clusters as the rows. If a service has too
// many instances, some are put into groups, always the same ones.
func TestRollup_KeepsInstances(t *testing.T) {
	w := newSumsWorld(t, 5)
	names := map[string]bool{}
	it := methodspan.Item{ID: "many"}
	for i := range 2 * (maxNamedInstances + 200) {
		r := methodspan.Row{
			Resource: &methodspan.Resource{Service: "few", Instance: fmt.Sprint("few-", i%7)}, Kind: methodspan.KindCounts, Calls: 1,
			Level: methodspan.LevelRaw, WeightBasis: methodspan.BasisExact, Method: "m", StartNS: w.now.Truncate(day).Add(-2*time.Hour).UnixNano() + int64(i), BatchID: it.ID, RowSeq: int32(i),
		}
		if i%2 == 0 {
			r.Resource = &methodspan.Resource{Service: "many", Instance: fmt.Sprint("many-", i/2)}
		}
		names[r.Resource.Instance] = true
		it.Rows = append(it.Rows, r)
	}
	if _, err := w.w.Write(t.Context(), []methodspan.Item{it}); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(2 * time.Hour)
	w.run(Policy{MaxFiles: DefaultMaxFiles, SumRows: 1})
	rows, err := rowsIn(w.open("kept")[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	named, groups := map[string]int{}, map[string]bool{}
	for i := range rows {
		switch r := rows[i].Resource; {
		case names[r.Instance]:
			named[r.Service]++
		case strings.HasPrefix(r.Instance, "group-") && r.Service == "many":
			groups[r.Instance] = true
		default:
			t.Errorf("%s of %s", r.Instance, r.Service)
		}
	}
	if named["few"] != 7 || named["many"] != maxNamedInstances || len(groups) == 0 || len(groups) > maxInstanceGroups {
		t.Errorf("%v by name, and %d groups", named, len(groups))
	}
}

// Rows with too little in common get no rollup. This is tried only once for the same files.
func TestRollup_NotWorthwhile(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	w := newSumsWorld(t, 6)
	write := func(id string, rows, methods int) {
		t.Helper()
		it := methodspan.Item{ID: id}
		for i := range rows {
			it.Rows = append(it.Rows, methodspan.Row{
				Resource: &methodspan.Resource{Service: "a"}, Kind: methodspan.KindCounts, Calls: 1, Level: methodspan.LevelRaw, WeightBasis: methodspan.BasisExact,
				Method: fmt.Sprint("m-", i%methods), StartNS: w.now.Truncate(day).Add(-2 * time.Hour).UnixNano(), BatchID: id, RowSeq: int32(i),
			})
		}
		if _, err := w.w.Write(t.Context(), []methodspan.Item{it}); err != nil {
			t.Fatal(err)
		}
	}
	p := Policy{MaxFiles: DefaultMaxFiles, SumRows: 1000}
	write("sparse", fewSums+1, fewSums+1)
	w.now = w.now.Add(2 * time.Hour)
	generation := func() int64 {
		s, err := table.Open(w.root)
		if err != nil {
			t.Fatal(err)
		}
		return s.Generation
	}
	if actions := w.run(p); len(actions) > 0 || len(w.open("sparse")) > 0 {
		t.Errorf("%v", actions)
	}
	before := generation()
	if w.run(p); generation() != before {
		t.Error("it was tried again")
	}
	w.onlyNamed()
	write("dense", 4*fewSums, 10)
	w.now = w.now.Add(2 * time.Hour)
	if actions := w.run(p); !slices.Equal(actions, []Action{Sum}) || len(w.open("dense")) != 1 {
		t.Errorf("next to dense ones: %v", actions)
	}
	w.onlyNamed()
	// More sparse rows remove the rollup again.
	write("again", 6*fewSums, 6*fewSums)
	w.now = w.now.Add(2 * time.Hour)
	if actions := w.run(p); len(actions) > 0 || len(w.open("again")) > 0 {
		t.Errorf("with sparse ones again: %v", actions)
	}
	w.onlyNamed()
}

// Rollups are dropped before any row is dropped or refused, and are not made near the size limit.
func TestRollup_DroppedBeforeRows(t *testing.T) {
	w := newSumsWorld(t, 3)
	for k := 5; k > 0; k-- {
		w.write("a", k, 600)
	}
	w.now = w.now.Add(2 * time.Hour)
	s, err := table.Open(w.root)
	if err != nil {
		t.Fatal(err)
	}
	rows := sizeOf(s.Files)
	near := Policy{MaxFiles: DefaultMaxFiles, SumRows: 500, MaxBytes: rows + rows/10}
	if actions := w.run(near); len(actions) > 0 {
		t.Errorf("near the limit: %v", actions)
	}
	ample := near
	ample.MaxBytes = 4 * rows
	if actions := w.run(ample); len(actions) != 5 || len(w.open("ample room")) != 5 {
		t.Errorf("with room: %v", actions)
	}
	// The writer's limit applies to rows only, not to rollups.
	o := w.options
	o.MaxBytes = rows + 40_000
	if err := w.w.Close(); err != nil {
		t.Fatal(err)
	}
	if w.w, err = table.NewWriter(w.root, o); err != nil {
		t.Fatal(err)
	}
	w.write("a", 0, 1)
	w.write("a", 0, 1)
	m, err := table.NewMaintainer(w.root, w.options)
	if err != nil {
		t.Fatal(err)
	}
	if size, _, err := m.Size(); err != nil || size < o.MaxBytes {
		t.Errorf("%d bytes, %v: the sums are too small for this test", size, err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	near.DropOldest, near.MaxBytes = true, o.MaxBytes
	if actions := w.run(near); !slices.Equal(actions, []Action{NoSums, NoSums, NoSums, NoSums, NoSums}) || len(w.open("no room")) > 0 {
		t.Errorf("beyond the limit: %v", actions)
	}
	if s, err = table.Open(w.root); err != nil || s.Rows() != 3002 {
		t.Errorf("%d rows are left, %v", s.Rows(), err)
	}
	for range 3 { // the rollups are not made again
		w.now = w.now.Add(time.Hour)
		if actions := w.run(near); len(actions) > 0 {
			t.Errorf("afterwards: %v", actions)
		}
	}
	w.onlyNamed()
}
