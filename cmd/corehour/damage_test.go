package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/warehouse/maintain"
	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/internal/warehouse/table"
	"github.com/corehour/corehour/test/fixture"
)

// ofAllKinds returns a warehouse of five days with files of every kind: rolled up, merged, raw, raw with
// rollups next to them, and files that maintenance has removed from the table. today is the time of the
// query.
func ofAllKinds(t *testing.T) (root string, today time.Time) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	root = t.TempDir()
	today = fixture.Start.Add(4 * 24 * time.Hour)
	for day := range 5 {
		start := today.Add(time.Duration(day-4) * 24 * time.Hour)
		for part := range 3 {
			items, _ := fixture.Shop{
				Seed: uint64(10*day + part), Version: fmt.Sprintf("1.%d", day), Instances: []string{"a", "b"},
				Start: start.Add(time.Duration(part) * 10 * time.Minute), Minutes: 10, Requests: 5,
			}.Run()
			fixture.Append(t, root, start.Add(time.Hour), items)
		}
	}
	keep := func(at time.Time, p maintain.Policy) {
		t.Helper()
		job := maintain.Job{Root: root, Policy: p, Parquet: table.Options{Now: func() time.Time { return at }}}
		if _, err := job.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	day := 24 * time.Hour
	keep(today.Add(-day), maintain.Policy{MaxFiles: 200, HourAfter: 2 * day}) // rolls up the first day
	keep(today.Add(-day), maintain.Policy{MaxFiles: 2, SumRows: 1})           // merges files and adds hourly rollups of all closed days
	late, _ := fixture.Shop{Seed: 99, Version: "1.4", Instances: []string{"c"}, Start: today, Minutes: 10, Requests: 5}.Run()
	fixture.Append(t, root, today.Add(time.Hour), late)
	kinds := map[string]int{}
	for _, path := range filesOf(t, root) {
		kind, _, _ := strings.Cut(filepath.Base(path), "-")
		kinds[kind]++
	}
	for _, kind := range []string{"raw", "merge", "roll", "beside", "removed"} {
		if kinds[kind] == 0 {
			t.Fatalf("no file of kind %s among %v", kind, kinds)
		}
	}
	return root, today.Add(2 * time.Hour)
}

// filesOf returns the paths of all files on disk in the directories of a warehouse.
func filesOf(t *testing.T, root string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "*", "*-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		longAgo(t, path)
	}
	return paths
}

// read returns the files that a reader of the newest commit needs, and the data files among them.
func read(t *testing.T, root string) (needed, data []string) {
	t.Helper()
	tree, err := table.CurrentTree(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range tree.Objects {
		data = append(data, filepath.Join(root, filepath.FromSlash(o.Path)))
	}
	needed = append(slices.Clone(data), filepath.Join(root, "CURRENT"))
	for _, o := range tree.Manifests {
		if !strings.HasPrefix(filepath.Base(o.Path), "removed") { // lists files to delete, which readers ignore
			needed = append(needed, filepath.Join(root, filepath.FromSlash(o.Path)))
		}
	}
	return needed, data
}

// flip changes a random bit of the file path. It returns a function that restores the file, and a
// description of the bit.
func flip(t *testing.T, path string, rng *rand.Rand) (restore func(), what string) {
	t.Helper()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at, bit := rng.IntN(len(whole)), rng.IntN(8)
	if rng.IntN(3) == 0 { // the last quarter, because most damage with an effect is in the footer
		at = len(whole) - 1 - rng.IntN((len(whole)+3)/4)
	}
	damaged := bytes.Clone(whole)
	damaged[at] ^= 1 << bit
	write := func(data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(damaged)
	return func() { write(whole); longAgo(t, path) }, fmt.Sprintf("bit %d of byte %d of %s", bit, at, filepath.Base(path))
}

// longAgo sets the modification time of path back by an hour. Commands remember that a file is intact only
// if it was not modified recently.
func longAgo(t *testing.T, path string) {
	t.Helper()
	at := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

// A flipped bit never changes an answer, in 300 warehouses with one flipped bit each. A command either
// prints the same as before, if the bit has no effect, or fails and names the file. Queries of other dates
// still work.
func TestDamage_NoBitChangesAnswer(t *testing.T) {
	fixture.SkipLong(t)
	root, at := ofAllKinds(t)
	clock(t, at)
	needed, data := read(t, root)
	// Includes three files that the newest commit does not use: damage in them must have no effect.
	paths := append(slices.Clone(needed), slices.DeleteFunc(filesOf(t, root), func(path string) bool { return slices.Contains(needed, path) })[:3]...)
	commands := [][]string{
		{"cost", "--since", "10d"}, {"regress", "--since", "10d"}, {"check"}, {"report", "--format", "text", "--since", "10d"},
		{"sql", "SELECT COUNT(*) AS rows, SUM(calls) AS calls, BIT_XOR(hash(method, start_ns, wall_ns, cpu_ns)) AS digest FROM method_calls"},
	}
	ask := func(args []string) result {
		return corehour(append([]string{args[0], "--warehouse", root}, args[1:]...)...)
	}
	want := make([]result, len(commands))
	for i, args := range commands {
		if want[i] = ask(args); want[i].code == exitFailed || want[i].stdout == "" {
			t.Fatalf("%v: %+v", args, want[i])
		}
	}
	// Rollups are optional: without them the answer comes from the raw rows.
	isSums := func(path string) bool { return strings.HasSuffix(path, table.Extension(table.KindPreaggregated)) }
	rows := make([]result, len(commands))
	hidden := t.TempDir()
	for _, path := range data {
		if isSums(path) {
			if err := os.Rename(path, filepath.Join(hidden, filepath.Base(path))); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, args := range commands {
		rows[i] = ask(args)
	}
	for _, path := range data {
		if isSums(path) {
			if err := os.Rename(filepath.Join(hidden, filepath.Base(path)), path); err != nil {
				t.Fatal(err)
			}
		}
	}

	rng := rand.New(rand.NewPCG(23, 6))
	dates := []string{}
	for day := range 5 {
		dates = append(dates, fixture.Start.Add(time.Duration(day)*24*time.Hour).Format(time.DateOnly))
	}
	other := map[string]result{} // results by date
	ofDate := func(date string) result {
		return ask([]string{"sql", "--from", date, "--to", date + "T23:59:59Z", "SELECT COUNT(*) AS rows, SUM(calls) AS calls FROM method_calls"})
	}
	for _, date := range dates {
		if other[date] = ofDate(date); other[date].code != exitNothing {
			t.Fatalf("%+v", other[date])
		}
	}
	const rounds = 300
	noticed, same, without := 0, 0, 0
	for round := range rounds {
		path := paths[round%len(paths)]
		restore, what := flip(t, path, rng)
		n := rng.IntN(len(commands))
		r := ask(commands[n])
		said := r.stderr
		switch {
		case r == want[n]:
			same++
			if slices.Contains(needed, path) && !isSums(path) && filepath.Base(path) != "CURRENT" { // CURRENT ends in white space, which has no effect
				t.Errorf("%s: %v does not notice it", what, commands[n])
			}
		case r.code == exitFailed && strings.Contains(said, path):
			noticed++
			if r.stdout != "" {
				t.Errorf("%s: %v fails, and prints %q", what, commands[n], r.stdout)
			}
		case isSums(path) && r.stdout == rows[n].stdout && r.code == rows[n].code:
			without++
			if !strings.Contains(said, path) {
				t.Errorf("%s: %v does not name it: %s", what, commands[n], said)
			}
		default:
			t.Errorf("%s: %v: %+v\nwant %+v", what, commands[n], r, want[n])
		}
		if date := dates[rng.IntN(len(dates))]; round%5 == 0 && strings.Contains(path, "date=") && !strings.Contains(path, date) {
			if got := ofDate(date); got != other[date] {
				t.Errorf("%s: of %s: %+v, want %+v", what, date, got, other[date])
			}
		}
		restore()
	}
	t.Logf("%d files: of %d bits %d were named, %d made no difference, %d were in sums whose rows were read", len(paths), rounds, noticed, same, without)
	if noticed < rounds/2 {
		t.Errorf("%d of %d bits were noticed: most of them matter", noticed, rounds)
	}
}

// Every command lists all damaged files at once. check --deep compares all contents, so it also finds
// damage that left the modification time unchanged.
func TestDamage_NamesAllFiles(t *testing.T) {
	fixture.SkipRaced(t)
	root, at := ofAllKinds(t)
	clock(t, at)
	rng := rand.New(rand.NewPCG(1, 1))
	filesOf(t, root)
	_, data := read(t, root)
	if r := corehour("check", "--warehouse", root); r.code == exitFailed {
		t.Fatalf("%+v", r)
	}
	for _, path := range data {
		flip(t, path, rng)
		longAgo(t, path) // damage by the disk leaves the modification time unchanged
	}
	r := corehour("check", "--warehouse", root, "--deep")
	for _, path := range data {
		if !strings.Contains(r.stderr, path) {
			t.Errorf("%s is not named", path)
		}
	}
	if r.code != exitFailed || r.stdout != "" || !strings.Contains(r.stderr, "restore it from a backup under the same name") {
		t.Errorf("%+v", r)
	}
	for _, path := range data {
		if err := os.Chtimes(path, time.Now(), time.Now().Add(-time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	sums := func(path string) bool { return strings.HasSuffix(path, ".sums") }
	for _, command := range [][]string{{"check"}, {"cost", "--since", "10d"}, {"explain", "--since", "10d", "shop/tax.Rate"}, {"regress", "--since", "10d"}, {"sql", "SELECT 1 AS a"}} {
		r := corehour(slices.Insert(slices.Clone(command), 1, "--warehouse", root)...)
		for _, path := range data {
			if !strings.Contains(r.stderr, path) && (command[0] == "check" || !sums(path)) {
				t.Errorf("%v: %s is not named", command, path)
			}
		}
		if r.code != exitFailed {
			t.Errorf("%v: %+v", command, r)
		}
	}
	// A damaged manifest of one date does not hide the damaged files of other dates.
	manifests, err := filepath.Glob(filepath.Join(root, "_manifest", "date=2026-03-10-*.json"))
	if err != nil || len(manifests) == 0 {
		t.Fatal(manifests, err)
	}
	for _, path := range manifests {
		flip(t, path, rng)
	}
	r = corehour("check", "--warehouse", root)
	for _, path := range data {
		if named := strings.Contains(r.stderr, path); named == strings.Contains(path, "date=2026-03-10") {
			t.Errorf("%s: named is %t", path, named)
		}
	}
	if r.code != exitFailed || !strings.Contains(r.stderr, filepath.Join(root, "_manifest", "date=2026-03-10-")) {
		t.Errorf("%+v", r)
	}
}

// compact --drop-damaged removes damaged files from the table, and their calls are missing.
func TestDamage_DropDamaged(t *testing.T) {
	fixture.SkipRaced(t)
	root, at := ofAllKinds(t)
	clock(t, at)
	_, data := read(t, root)
	if r := corehour("compact", "--warehouse", root, "--drop-damaged", "--yes"); r.code != exitNothing || !strings.Contains(r.stdout, "nothing to do") {
		t.Fatalf("%+v", r)
	}
	rng := rand.New(rand.NewPCG(2, 2))
	lost := 0
	for _, path := range data {
		// A damaged data file, a deleted data file, and a damaged rollup whose date has no other damage.
		switch name := strings.TrimPrefix(path, root+"/date="); {
		case strings.HasPrefix(name, "2026-03-14/raw"), strings.HasPrefix(name, "2026-03-12/beside"):
			flip(t, path, rng)
			lost++
		case strings.HasPrefix(name, "2026-03-11/merge"):
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			lost++
		}
	}
	if lost != 3 {
		t.Fatalf("%d files are damaged, want 3", lost)
	}
	if r := corehour("check", "--warehouse", root); r.code != exitFailed || !strings.Contains(r.stderr, "compact --drop-damaged") {
		t.Errorf("%+v", r)
	}
	for _, call := range []struct {
		args []string
		code int
		want []string
	}{
		{nil, exitNothing, []string{"dry run: nothing was changed; give --yes to apply", "2026-03-11", "2026-03-12", "2026-03-14", "drop damaged files"}},
		{[]string{"--yes"}, exitNothing, []string{"2026-03-11", "2026-03-12", "2026-03-14", "drop hourly rollup"}},
		{[]string{"--yes"}, exitNothing, []string{"nothing to do"}},
		{[]string{"--max-files", "3"}, exitFailed, []string{"--max-files 3 has no effect"}},
		{[]string{"--relabel", "a=b"}, exitFailed, []string{"want one of them"}},
	} {
		r := corehour(append([]string{"compact", "--warehouse", root, "--drop-damaged"}, call.args...)...)
		for _, want := range call.want {
			if r.code != call.code || !strings.Contains(r.stdout+r.stderr, want) {
				t.Errorf("%v: want %q: %+v", call.args, want, r)
			}
		}
	}
	// Queries work on the remaining files. Instance "c" was in the dropped raw file only, so it has no rows.
	if r := corehour("check", "--warehouse", root, "--deep"); r.code == exitFailed || r.stderr != "" {
		t.Errorf("%+v", r)
	}
	r := corehour("sql", "--warehouse", root, "--format", "csv", "SELECT event_date, COUNT(DISTINCT instance) AS n FROM method_calls WHERE level = 'raw' GROUP BY ALL ORDER BY ALL")
	if want := "event_date,n\n2026-03-12,2\n2026-03-13,2\n2026-03-14,2\n"; r.stdout != want {
		t.Errorf("%+v, want %q", r, want)
	}
}

// A damaged copy in the cache of a bucket is fetched again. A damaged or deleted object is named in the
// error, and removed with --drop-damaged.
func TestDamage_Bucket(t *testing.T) {
	fixture.SkipLong(t)
	root, at := ofAllKinds(t)
	clock(t, at)
	address := inBucket(t, map[string]string{"host": root})
	ask := func() result { return corehour("cost", "--warehouse", address, "--since", "10d") }
	if r := ask(); r.code != exitNothing || !strings.Contains(r.stderr, "fetching") {
		t.Fatalf("%+v", r)
	}
	want := ask()
	if want.code != exitNothing || want.stderr != "" {
		t.Fatalf("%+v", want)
	}
	cached, err := filepath.Glob(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "corehour", "objects", "*"))
	if err != nil || len(cached) < 6 {
		t.Fatal(cached, err)
	}
	rng := rand.New(rand.NewPCG(3, 3))
	for _, path := range cached {
		longAgo(t, path)
	}
	if r := ask(); r != want { // the cached files count as verified from here on
		t.Fatalf("%+v", r)
	}
	for _, path := range cached {
		flip(t, path, rng)
		r := ask()
		if r.code != want.code || r.stdout != want.stdout || !strings.Contains(r.stderr, "a file of the cache is damaged and fetched again") {
			t.Errorf("%s: %+v", path, r)
		}
		if r := ask(); r != want {
			t.Errorf("%s: after that %+v", path, r)
		}
	}
	objects, err := filepath.Glob(strings.TrimPrefix(address, "file://") + "/host/date=2026-03-13/*.parquet")
	if err != nil || len(objects) != 1 {
		t.Fatal(objects, err)
	}
	flip(t, objects[0], rng)
	if r := ask(); r != want {
		t.Errorf("with a copy that is whole: %+v", r)
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	if r := ask(); r.code != exitFailed || r.stdout != "" || !strings.Contains(r.stderr, "host/date=2026-03-13/"+filepath.Base(objects[0])) {
		t.Errorf("%+v", r)
	}
	if r := corehour("cost", "--warehouse", address, "--from", "2026-03-10", "--to", "2026-03-13"); r.code != exitNothing {
		t.Errorf("%+v", r)
	}
	gone, err := filepath.Glob(strings.TrimPrefix(address, "file://") + "/host/date=2026-03-11/merge-*")
	if err != nil || len(gone) != 1 {
		t.Fatal(gone, err)
	}
	if err := os.Remove(gone[0]); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	r := ask()
	for _, path := range []string{objects[0], gone[0]} {
		if name := "host/date=" + strings.SplitN(path, "date=", 2)[1]; r.code != exitFailed || strings.Count(r.stderr, name) != 1 {
			t.Errorf("want %s: %+v", name, r)
		}
	}
	for _, call := range []struct {
		args []string
		want []string
	}{
		{nil, []string{"dry run: nothing was changed", "2026-03-11", "2026-03-13", "drop damaged files"}},
		{[]string{"--yes"}, []string{"2026-03-11", "2026-03-13", "drop damaged files"}},
		{[]string{"--yes"}, []string{"nothing to do"}},
	} {
		r := corehour(append([]string{"compact", "--warehouse", address, "--drop-damaged"}, call.args...)...)
		for _, want := range call.want {
			if r.code != exitNothing || !strings.Contains(r.stdout, want) {
				t.Errorf("%v: want %q: %+v", call.args, want, r)
			}
		}
	}
	if r := ask(); r.code != exitNothing {
		t.Errorf("%+v", r)
	}
}

// bounds.yaml, the source of docs/reference/bounds.md, contains the limits of the code.
func TestBoundsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("bounds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const keyAndTime = 20
	for _, want := range []string{
		fmt.Sprintf("default: %d files, %.1f MB on the disk, for %.0fh\n", parquet.MostVerified, parquet.MostVerified*keyAndTime/1e6, parquet.VerifiedFor.Hours()),
		"default: " + defaultCacheSize + "\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("bounds.yaml has no %q", want)
		}
	}
}
