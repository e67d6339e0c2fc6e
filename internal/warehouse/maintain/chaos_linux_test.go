package maintain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// TestMaintenance_RandomFaults runs this test binary as writer, maintenance and reader, each in its own process,
// and kills writer and maintenance with SIGKILL.
const roleEnv = "COREHOUR_TEST_ROLE"

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleEnv); role {
	case "write", "maintain", "read":
		var c chaosChild
		err := json.Unmarshal([]byte(os.Getenv(roleEnv+"_PLAN")), &c)
		if err == nil {
			err = map[string]func() error{"write": c.write, "maintain": c.maintain, "read": c.read}[role]()
		}
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// chaosChild is the plan of a child process.
type chaosChild struct {
	Dir   string
	Items int // the writer offers items 0 to Items-1, except those acknowledged or refused before
	Seed  uint64
	// At is the file system step that fails, 0 for none. With Kill the process is killed there; otherwise the
	// step fails with ENOSPC.
	At    int
	After bool
	Kill  bool

	sums int // number of rollups that the reader has read
}

const (
	chaosDates  = 10
	chaosRound  = 20 * time.Minute // on the test's clock
	chaosGrace  = 30 * time.Minute
	chaosKept   = 8 * day
	itemsRound  = 4
	datesRounds = 3
)

// chaosEnd is midnight at the end of the newest date.
var chaosEnd = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

func (c *chaosChild) root() string { return filepath.Join(c.Dir, "warehouse") }

// now returns the time of the clock that all processes share. Only the test moves it.
func (c *chaosChild) now() (time.Time, error) {
	text, err := os.ReadFile(filepath.Join(c.Dir, "now"))
	if err != nil {
		return time.Time{}, err
	}
	ns, err := strconv.ParseInt(string(text), 10, 64)
	return time.Unix(0, ns).UTC(), err
}

// note appends a line to file in one write, so that a kill leaves only whole lines.
func (c *chaosChild) note(file, line string) error {
	f, err := os.OpenFile(filepath.Join(c.Dir, file), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}

func (c *chaosChild) noted(file string) (map[int]bool, error) {
	data, err := os.ReadFile(filepath.Join(c.Dir, file))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	out := map[int]bool{}
	for line := range strings.Lines(string(data)) {
		n, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			return nil, err
		}
		out[n] = true
	}
	return out, nil
}

func (c *chaosChild) options() (table.Options, error) {
	now, err := c.now()
	steps := 0
	o := table.Options{Now: func() time.Time { return now }, Grace: chaosGrace}
	return o.Inject(func(_, _ string, after bool) error {
		if !after {
			steps++
		}
		if steps != c.At || after != c.After {
			return nil
		}
		if c.Kill {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		c.At = -1
		if err := c.note("full", strconv.Itoa(steps)); err != nil {
			return err
		}
		return syscall.ENOSPC
	}), err
}

// chaosDate returns the start of the n-th date, counted backwards from the newest (0).
func chaosDate(n int) time.Time { return chaosEnd.Add(-day * time.Duration(1+n%chaosDates)) }

func datesOfItem(n int) []int {
	first := n / itemsRound / datesRounds
	if n%3 == 0 {
		return []int{first % chaosDates, (first + 1) % chaosDates}
	}
	return []int{first % chaosDates}
}

// chaosItem returns the n-th item. On each of its dates it has a method that no other item has, with 1000+n
// calls, two of them measured. This makes items distinguishable in rollups, too.
func chaosItem(n int) methodspan.Item {
	it := methodspan.Item{ID: fmt.Sprintf("p%d-%d", n%5, n)}
	for _, date := range datesOfItem(n) {
		start := chaosDate(date).Add(9*time.Hour + time.Duration(n%600)*time.Second).UnixNano()
		row := methodspan.Row{
			Resource: &methodspan.Resource{Service: fmt.Sprintf("service-%d", n%3), Version: "1", Instance: fmt.Sprintf("i-%d", n%7), ProcessStartNS: 1},
			Level:    methodspan.LevelRaw, WeightBasis: methodspan.BasisExact,
			Class: "c", Method: chaosMethod(n, date), StartNS: start, EndNS: start + 1e6,
		}
		counts := row
		counts.Kind, counts.Calls = methodspan.KindCounts, float64(1000+n)
		it.Rows = append(it.Rows, counts)
		for i := range 2 {
			call := row
			call.Kind, call.Measured, call.WallNS, call.WallMaxNS, call.P = methodspan.KindCall, 1, int64(1e6*(i+1)), int64(1e6*(i+1)), 0.5
			call.TraceID[0], call.SpanID[0] = 1, 1
			it.Rows = append(it.Rows, call)
		}
	}
	for i := range it.Rows {
		it.Rows[i].BatchID, it.Rows[i].RowSeq = it.ID, int32(i)
	}
	return it
}

func chaosMethod(n, date int) string { return fmt.Sprintf("m%d.%d", n, date) }

// write writes the items that are neither acknowledged nor refused yet, and records the result of each.
func (c *chaosChild) write() error {
	o, err := c.options()
	if err != nil {
		return err
	}
	acknowledged, err := c.noted("acknowledged")
	if err != nil {
		return err
	}
	refused, err := c.noted("refused")
	if err != nil {
		return err
	}
	w, err := table.NewWriter(c.root(), o)
	if errors.Is(err, warehouse.ErrFull) || errors.Is(err, warehouse.ErrUnknown) {
		return nil // the next writer tries again
	}
	if err != nil {
		return err
	}
	defer w.Close()
	for n := range c.Items {
		if acknowledged[n] || refused[n] {
			continue
		}
		for attempt := 0; ; attempt++ {
			res, err := w.Write(context.Background(), []methodspan.Item{chaosItem(n)})
			_, failure := warehouse.RowErrors(err)
			if failure != nil && attempt < 3 && (errors.Is(failure, warehouse.ErrFull) || errors.Is(failure, warehouse.ErrUnknown)) {
				continue
			}
			if failure != nil {
				return failure
			}
			file := "acknowledged"
			if res.Refused[warehouse.Expired] > 0 {
				file = "refused"
			}
			if err := c.note(file, strconv.Itoa(n)); err != nil {
				return err
			}
			break
		}
	}
	return nil
}

// maintain runs maintenance with a random policy.
func (c *chaosChild) maintain() error {
	o, err := c.options()
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(c.Seed, 3))
	job := Job{Root: c.root(), Parquet: o, Policy: Policy{
		MaxFiles: 2 + rng.IntN(3), SumRows: 1 + rng.Int64N(60), KeepIDs: day, MinuteAfter: day * time.Duration(2+rng.IntN(2)),
		HourAfter: day * time.Duration(4+rng.IntN(2)), KeepRollups: chaosKept,
	}, Done: func(s Step) { _ = c.note("steps", string(s.Action)) }}
	_, err = job.Run(context.Background())
	var typed *warehouse.Error
	if errors.Is(err, warehouse.ErrFull) || errors.Is(err, warehouse.ErrUnknown) || errors.Is(err, warehouse.ErrEmpty) || errors.Is(err, warehouse.ErrMissing) ||
		errors.As(err, &typed) && errors.Is(typed.Err, syscall.ENOSPC) {
		return nil
	}
	return err
}

// read reads the warehouse repeatedly, until the test creates the file "enough". Each time it checks that every
// acknowledged item is stored exactly once.
func (c *chaosChild) read() error {
	for reads := 0; ; reads++ {
		if _, err := os.Stat(filepath.Join(c.Dir, "enough")); err == nil {
			fmt.Println("reads", reads, "sums", c.sums)
			return nil
		}
		before, err := c.now()
		if err != nil {
			return err
		}
		acknowledged, err := c.noted("acknowledged")
		if err != nil {
			return err
		}
		if err := c.look(acknowledged); err != nil {
			// Files are kept for readers only during the grace period. A slower reader tries again.
			if after, nerr := c.now(); nerr == nil && after.Sub(before) >= chaosGrace {
				continue
			}
			return err
		}
	}
}

// look checks that the newest commit contains every acknowledged item, with correct figures.
func (c *chaosChild) look(acknowledged map[int]bool) error {
	s, err := table.Open(c.root())
	if errors.Is(err, warehouse.ErrEmpty) || errors.Is(err, warehouse.ErrMissing) {
		if len(acknowledged) > 0 {
			return fmt.Errorf("%d items were acknowledged: %w", len(acknowledged), err)
		}
		return nil
	}
	if err != nil {
		return err
	}
	if err := sumsAgree(s); err != nil {
		return err
	}
	c.sums += len(s.Sums)
	var stored []methodspan.Row
	for _, f := range s.Files {
		rows, err := parquet.ReadRows(f.Path)
		if err != nil {
			return err
		}
		if int64(len(rows)) != f.Rows {
			return fmt.Errorf("%s has %d rows, its manifest says %d", f.Path, len(rows), f.Rows)
		}
		stored = append(stored, rows...)
	}
	got := map[string]figures{}
	for method, x := range figuresOf(stored) {
		got[method.method] = x // each method has one service and version
	}
	known := map[string]bool{}
	for n := range 100_000 {
		if len(known) >= len(got) && n > maxOf(acknowledged) {
			break
		}
		for _, date := range datesOfItem(n) {
			method := chaosMethod(n, date)
			x, stored := got[method]
			if stored {
				known[method] = true
			}
			// The estimate for all calls is their number times the mean of the two measured ones.
			want := figures{float64(1000 + n), 2, 1.5e6 * float64(1000+n)}
			switch expires := chaosEnd.Sub(chaosDate(date)) >= chaosKept; {
			case !stored && acknowledged[n] && !expires:
				return fmt.Errorf("generation %d: item %d was acknowledged and is not stored", s.Generation, n)
			case stored && !x.is(want):
				return fmt.Errorf("generation %d: of item %d %+v is stored", s.Generation, n, x)
			}
		}
	}
	if len(known) != len(got) {
		return fmt.Errorf("generation %d: %d methods are stored, %d are known", s.Generation, len(got), len(known))
	}
	return nil
}

func maxOf(set map[int]bool) int {
	most := -1
	for n := range set {
		most = max(most, n)
	}
	return most
}

// world is a warehouse and the processes that use it.
type world struct {
	t      *testing.T
	rng    *rand.Rand
	child  chaosChild
	clock  time.Time
	reader *exec.Cmd
	out    bytes.Buffer
	rounds int
	faults map[string]int
	steps  map[string]int // of maintenance, by action
}

func (w *world) start(role string, c chaosChild) *exec.Cmd {
	w.t.Helper()
	plan, err := json.Marshal(c)
	if err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"="+role, roleEnv+"_PLAN="+string(plan))
	cmd.Stderr = os.Stderr
	return cmd
}

func (w *world) tick() {
	w.clock = w.clock.Add(chaosRound)
	// Renamed into place, since processes read it at any time.
	tmp := filepath.Join(w.child.Dir, "now.tmp")
	if err := os.WriteFile(tmp, []byte(strconv.FormatInt(w.clock.UnixNano(), 10)), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(tmp, filepath.Join(w.child.Dir, "now")); err != nil {
		w.t.Fatal(err)
	}
}

// round runs a writer and maintenance concurrently. If faulty, each gets a random fault.
func (w *world) round(faulty bool) {
	w.t.Helper()
	w.rounds++
	w.tick()
	var running []*exec.Cmd
	var outs []*bytes.Buffer
	for _, role := range []string{"write", "maintain"} {
		c := w.child
		c.Items, c.Seed = w.rounds*itemsRound, w.rng.Uint64()
		outside := time.Duration(0)
		if faulty {
			switch w.rng.IntN(6) {
			case 0:
				outside = time.Duration(1+w.rng.IntN(60_000)) * time.Microsecond
			case 1, 2:
				c.At, c.After = 1+w.rng.IntN(90), w.rng.IntN(2) == 0
			default:
				c.At, c.After, c.Kill = 1+w.rng.IntN(90), w.rng.IntN(2) == 0, true
			}
		}
		cmd := w.start(role, c)
		out := &bytes.Buffer{}
		cmd.Stdout = out
		if err := cmd.Start(); err != nil {
			w.t.Fatal(err)
		}
		if outside > 0 {
			time.AfterFunc(outside, func() { _ = cmd.Process.Kill() })
		}
		running, outs = append(running, cmd), append(outs, out)
	}
	for i, cmd := range running {
		err := cmd.Wait()
		status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
		switch {
		case err == nil:
		case status.Signaled() && status.Signal() == syscall.SIGKILL:
			w.faults["processes killed"]++
		default:
			w.t.Fatalf("round %d: %v: %s", w.rounds, err, outs[i])
		}
	}
}

// damage corrupts one file at a time, while no reader runs, and checks that the error names the file.
func (w *world) damage() {
	w.t.Helper()
	root := w.child.root()
	s, err := table.Open(root)
	if err != nil {
		w.t.Fatal(err)
	}
	spoil := func(path string, change func([]byte) []byte, check func() error) {
		w.t.Helper()
		data, err := os.ReadFile(path)
		if err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(path, change(slices.Clone(data)), 0o600); err != nil {
			w.t.Fatal(err)
		}
		err = check()
		if !errors.Is(err, warehouse.ErrCorrupt) || !strings.Contains(err.Error(), filepath.Base(path)) {
			w.t.Errorf("%s was spoiled: %v", path, err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	file := s.Files[w.rng.IntN(len(s.Files))]
	spoil(file.Path, func(data []byte) []byte {
		data[w.rng.IntN(len(data))] ^= 1 << w.rng.IntN(8)
		return data
	}, func() error {
		job := Job{Root: root, Policy: Policy{MaxFiles: DefaultMaxFiles}, Parquet: table.Options{Now: func() time.Time { return w.clock }}}
		if _, err := job.DeleteService(context.Background(), "nobody"); err == nil {
			return errors.New("maintenance went on")
		}
		return file.Verify(context.Background())
	})
	w.faults["files spoiled"]++
	current, err := os.ReadFile(filepath.Join(root, "CURRENT"))
	if err != nil {
		w.t.Fatal(err)
	}
	generation, _, _ := strings.Cut(string(current), " ")
	spoil(filepath.Join(root, "_manifest", generation), func(data []byte) []byte { return data[:w.rng.IntN(len(data))] }, func() error {
		if writer, err := table.NewWriter(root, table.Options{}); err == nil {
			writer.Close()
			return errors.New("a writer went on")
		}
		_, err := table.Open(root)
		return err
	})
	w.faults["manifests cut"]++
}

// run plays rounds until about the given number of faults occurred, then rounds without faults, and checks the
// result.
func (w *world) run(faults int) (reads, sums int) {
	w.t.Helper()
	total := func() (n int) {
		full, err := w.child.noted("full")
		if err != nil {
			w.t.Fatal(err)
		}
		return w.faults["processes killed"] + len(full)
	}
	begin := w.faults["processes killed"]
	w.reader = w.start("read", w.child)
	w.reader.Stdout = &w.out
	w.tick()
	if err := w.reader.Start(); err != nil {
		w.t.Fatal(err)
	}
	for total()-begin < faults && w.rounds < 20*faults {
		w.round(true)
	}
	for range 4 { // long enough for every date to be quiet and every grace period to end
		w.round(false)
	}
	if err := os.WriteFile(filepath.Join(w.child.Dir, "enough"), nil, 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := w.reader.Wait(); err != nil {
		w.t.Fatalf("a reader: %v: %s", err, w.out.String())
	}
	if _, err := fmt.Sscanf(w.out.String(), "reads %d sums %d", &reads, &sums); err != nil {
		w.t.Fatal(err)
	}
	w.damage()
	w.settle()
	steps, err := os.ReadFile(filepath.Join(w.child.Dir, "steps"))
	if err != nil {
		w.t.Fatal(err)
	}
	for step := range strings.Lines(string(steps)) {
		w.steps[strings.TrimSpace(step)]++
	}
	return reads, sums
}

// settle checks that every item was acknowledged or refused, and that every file in a date's directory is
// listed in a manifest.
func (w *world) settle() {
	w.t.Helper()
	acknowledged, err := w.child.noted("acknowledged")
	if err != nil {
		w.t.Fatal(err)
	}
	refused, err := w.child.noted("refused")
	if err != nil {
		w.t.Fatal(err)
	}
	for n := range w.rounds * itemsRound {
		if !acknowledged[n] && !refused[n] {
			w.t.Errorf("item %d is not accounted for", n)
		}
	}
	if err := w.child.look(acknowledged); err != nil {
		w.t.Error(err)
	}
	w.clock = w.clock.Add(2 * chaosGrace)
	m, err := table.NewMaintainer(w.child.root(), table.Options{Now: func() time.Time { return w.clock }, Grace: chaosGrace})
	if err != nil {
		w.t.Fatal(err)
	}
	if _, doomed, err := m.Size(); err != nil || doomed != 0 {
		w.t.Errorf("%d bytes were not deleted, %v", doomed, err)
	}
	if err := m.Close(); err != nil {
		w.t.Error(err)
	}
	s, err := table.Open(w.child.root())
	if err != nil {
		w.t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, f := range s.Files {
		listed[f.Path] = true
	}
	for _, sums := range s.Sums {
		listed[sums.Path] = true
	}
	// The writer deletes unfinished raw files when it starts.
	paths, err := filepath.Glob(filepath.Join(w.child.root(), "date=*", "*"))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, p := range paths {
		if !listed[p] {
			w.t.Errorf("%s is left over", p)
		}
	}
	full, err := w.child.noted("full")
	if err != nil {
		w.t.Fatal(err)
	}
	w.faults["full disks"] += len(full)
}

// A fault at any step of any process loses no acknowledged row and counts none twice. Readers see neither an
// error nor a partial commit.
func TestMaintenance_RandomFaults(t *testing.T) {
	wanted := 60
	if text := os.Getenv("FAULTS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("FAULTS: want a number above 0, found %q", text)
		}
		wanted = n
	} else if testing.Short() {
		wanted = 20
	}
	faults, steps := map[string]int{}, map[string]int{}
	reads, sums, worlds := 0, 0, 0
	sum := func() (n int) {
		for _, k := range faults {
			n += k
		}
		return n
	}
	for ; sum() < wanted && !t.Failed(); worlds++ {
		w := &world{t: t, rng: rand.New(rand.NewPCG(uint64(worlds), 11)), child: chaosChild{Dir: t.TempDir()}, clock: chaosEnd, faults: faults, steps: steps}
		read, seen := w.run(min(60, wanted-sum()))
		reads, sums = reads+read, sums+seen
	}
	t.Logf("%d worlds, faults %v, steps of maintenance %v, %d reads meanwhile, of %d rollups", worlds, faults, steps, reads, sums)
	for _, action := range []Action{Merge, DropIDs, Minute, Hour, Sum, Expire} {
		if wanted >= 60 && steps[string(action)] == 0 {
			t.Errorf("maintenance never came to %s", action)
		}
	}
	if reads < worlds || wanted >= 60 && sums == 0 {
		t.Errorf("readers read only %d times, and sums %d times", reads, sums)
	}
	if path := os.Getenv("CHAOS_FIGURES"); path != "" {
		writeChaosFigures(t, path, sum(), faults, reads)
	}
}

func writeChaosFigures(t *testing.T, path string, total int, faults map[string]int, reads int) {
	t.Helper()
	type figure struct {
		Name   string   `json:"name"`
		Value  int      `json:"value"`
		Unit   string   `json:"unit"`
		Better string   `json:"better"`
		Goal   *float64 `json:"goal,omitempty"`
	}
	failed, none := 0, 0.0
	if t.Failed() {
		failed = 1
	}
	figures := []figure{
		{"faults", total, "faults", "higher", nil},
		{"reads during maintenance", reads, "reads", "higher", nil},
		{"losses, duplicates and failed reads (0: none, 1: see the log)", failed, "", "lower", &none},
	}
	for _, name := range []string{"processes killed", "full disks", "files spoiled", "manifests cut"} {
		figures = append(figures, figure{name, faults[name], "faults", "higher", nil})
	}
	data, err := json.Marshal(map[string]any{"name": "chaos", "results": figures})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
