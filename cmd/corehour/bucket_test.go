package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/bucket"
	"github.com/corehour/corehour/internal/warehouse/table"
	"github.com/corehour/corehour/test/fixture"
)

// inBucket uploads each of the warehouses roots, by prefix, to a new bucket and returns its address.
func inBucket(t *testing.T, roots map[string]string) (address string) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	address = "file://" + t.TempDir()
	for prefix, root := range roots {
		if err := uploader(t, address, prefix, root).Close(); err != nil {
			t.Fatal(err)
		}
	}
	return address
}

func uploader(t *testing.T, address, prefix, root string) *bucket.Mirror {
	t.Helper()
	b, err := bucket.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	if err := os.CopyFS(directory, os.DirFS(root)); err != nil {
		t.Fatal(err)
	}
	m, err := bucket.NewMirror(t.Context(), b, bucket.Options{Address: address, Prefix: prefix, Directory: directory})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestBucket_EveryCommand(t *testing.T) {
	fixture.SkipLong(t)
	clock(t, fixture.Start.Add(30*time.Hour))
	root := twoReleases(t, 0.5)
	address := inBucket(t, map[string]string{"host-1": root, "host-2": manyFiles(t)})

	for _, args := range [][]string{
		{"report", "--since", "48h"}, {"cost", "--service", "shop", "--since", "48h"}, {"regress", "--since", "48h"}, {"sql", "SELECT COUNT(*) FROM method_calls"},
	} {
		first := corehour(append(args[:1:1], append([]string{"--warehouse", address}, args[1:]...)...)...)
		if first.code == exitFailed || !strings.Contains(first.stderr, "fetching") && args[0] == "report" {
			t.Errorf("%v: %+v", args, first)
		}
		again := corehour(append(args[:1:1], append([]string{"--warehouse", address}, args[1:]...)...)...)
		if again.stdout != first.stdout || strings.Contains(again.stderr, "fetching") {
			t.Errorf("%v: the second time %+v", args, again)
		}
	}
	alone := inBucket(t, map[string]string{"host": root})
	local, remote := corehour("cost", "--warehouse", root), corehour("cost", "--warehouse", alone)
	if local.stdout != remote.stdout || local.code != remote.code {
		t.Errorf("%+v, of the directory itself %+v", remote, local)
	}
	if r := corehour("check", "--warehouse", alone, "--deep"); r.code != exitNothing {
		t.Errorf("%+v", r)
	}

	for args, want := range map[string]string{
		"cost --warehouse " + address + " --cache-size 1kB":      "the cache is limited to 1000",
		"cost --warehouse " + address + " --cache-size much":     "want a number of bytes",
		"cost --warehouse " + address + "?cache_size=1000":       "the cache is limited to 1000",
		"cost --warehouse " + root + " --cache-size 1GB":         "--cache-size has no effect here",
		"cost --warehouse file://" + t.TempDir():                 "no prefix of a collector",
		"cost --warehouse ftp://x":                               "there is no reader for ftp://",
		"cost --warehouse gs://user:secret@x":                    "credentials are those of the environment",
		"cost --warehouse " + address + " --to 2020-01-01":       "holds rows from",
		"compact --warehouse " + address + " --min-free-bytes 5": "--min-free-bytes has no effect on a bucket",
	} {
		if r := corehour(strings.Fields(args)...); r.code < exitFailed || !strings.Contains(r.stderr, want) || strings.Contains(r.stderr, "secret") {
			t.Errorf("%s: %+v", args, r)
		}
	}
}

// Every command fetches only the files of the dates in its window. Commands that compute costs also fetch
// the 7 days before, from which they learn how skewed calls are.
func TestBucket_FetchesSelectedDates(t *testing.T) {
	fixture.SkipRaced(t)
	var items []methodspan.Item
	root := t.TempDir()
	const days = 10
	for day := range days {
		shop, _ := fixture.Shop{Seed: 1, Version: "1.9.0", Instances: []string{"a"}, Start: fixture.Start.AddDate(0, 0, day), Minutes: 2, Requests: 20}.Run()
		items = append(items, shop...)
	}
	fixture.Append(t, root, fixture.Start.AddDate(0, 0, days), items)
	clock(t, fixture.Start.AddDate(0, 0, days-1).Add(time.Hour))
	address := inBucket(t, map[string]string{"host": root})
	dates, err := filepath.Glob(filepath.Join(strings.TrimPrefix(address, "file://"), "host", "date=*"))
	if err != nil || len(dates) != days {
		t.Fatalf("%v %v", dates, err)
	}
	bytesOf := func(pattern string) (total int64) {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			total += info.Size()
		}
		return total
	}
	for _, c := range []struct {
		args string
		from int // index of the first date that is fetched
		to   int // index after the last date that is fetched
	}{
		{"check", days - 3, days}, // 48h touch three dates
		{"check --from 2026-03-11 --to 2026-03-12T00:00:01Z", 1, 3},
		{"check --deep", 0, days},
		{"check --deep --since 2h", days - 1, days},
		{"report --since 2h", days - 8, days},
		{"cost --since 2h", days - 8, days},
		{"regress --since 24h", days - 2, days},
	} {
		t.Setenv("XDG_CACHE_HOME", t.TempDir())
		r := corehour(append(strings.Fields(c.args), "--warehouse", address)...)
		if r.code >= exitFailed && !strings.HasPrefix(c.args, "regress") {
			t.Errorf("%s: %+v", c.args, r)
		}
		var want int64
		for _, date := range dates[c.from:c.to] {
			want += bytesOf(date + "/*.parquet")
		}
		if got := bytesOf(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "corehour", "objects", "*")); got != want || want == 0 {
			t.Errorf("%s: fetched %d bytes, want the %d of dates %d to %d", c.args, got, want, c.from, c.to-1)
		}
	}
	r := corehour("check", "--warehouse", address)
	if !strings.Contains(r.stdout, "bucket_behind") || r.code != exitNothing {
		t.Errorf("%+v", r)
	}
}

// Expensive calls of earlier days that have no sample in the window make its costs lower bounds, in a bucket
// as in a directory.
func TestBucket_CostUsesEarlierDays(t *testing.T) {
	const days = 3
	clock(t, fixture.Start.AddDate(0, 0, days-1).Add(2*time.Hour))
	var items []methodspan.Item
	for day := range days {
		p := fixture.NewProcess("1", "a", fixture.Start.AddDate(0, 0, day))
		for m := range 10 {
			at := p.Start.Add(time.Duration(m) * time.Minute)
			p.Counts("a.B", at, time.Minute, 400)
			for i := range 20 {
				cpu := time.Duration(1100+10*i) * time.Microsecond
				if day < days-1 && i == 0 && m == 3 {
					cpu = 3 * time.Second
				}
				p.Call("a.B", methodspan.CallerEntry, at.Add(time.Duration(i)*time.Second), cpu, cpu, 0.05, 1)
			}
			p.Beat(at, time.Minute, time.Second, m == 9)
		}
		items = append(items, p.Item())
	}
	root := t.TempDir()
	fixture.Append(t, root, fixture.Start.AddDate(0, 0, days), items)
	address := inBucket(t, map[string]string{"host": root})
	local, remote := corehour("cost", "--since", "2h", "--warehouse", root), corehour("cost", "--since", "2h", "--warehouse", address)
	if !strings.Contains(local.stdout, "lower bound, tail not sampled") || remote.stdout != local.stdout {
		t.Errorf("of the directory %+v, of the bucket %+v", local, remote)
	}
	// The cache must have room for all files that a command needs, even if it fetches them in several steps.
	r := corehour("cost", "--since", "2h", "--warehouse", address, "--cache-size", fmt.Sprint(sizeOf(t, root)-1))
	if r.code != exitFailed || !strings.Contains(r.stderr, "3 files with ") || !strings.Contains(r.stderr, "allow more with --cache-size") {
		t.Errorf("%+v", r)
	}
}

// sizeOf returns the total size in bytes of the data files of the warehouse root.
func sizeOf(t *testing.T, root string) (total int64) {
	t.Helper()
	snapshot, err := table.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	for i := range snapshot.Files {
		total += snapshot.Files[i].Bytes
	}
	return total
}

// --import recovers the files of a collector that was killed before it uploaded them, and whose prefix
// another collector has taken over since.
func TestImport(t *testing.T) {
	clock(t, fixture.Start.Add(30*time.Hour))
	address := inBucket(t, nil)
	root := manyFiles(t)
	open := func(directory string) *bucket.Mirror {
		b, err := bucket.Open(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		m, err := bucket.NewMirror(t.Context(), b, bucket.Options{Address: address, Prefix: "host", Directory: directory, Interval: time.Hour, Abandoned: time.Nanosecond})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	crashed := open(root)
	second := open(t.TempDir())
	if err := crashed.Close(); err == nil {
		t.Fatal("the prefix is another's, and the first could close")
	}
	if err := second.Push(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"rows of", "an earlier import"} {
		if r := corehour("compact", "--warehouse", address, "--import", root); r.code != exitNothing || !strings.Contains(r.stdout, want) || !strings.Contains(r.stdout, "/left-") {
			t.Errorf("%+v, want %q", r, want)
		}
	}
	r := corehour("check", "--warehouse", address, "--since", "48h")
	if r.code != exitNothing || !strings.Contains(r.stdout, "balanced: every emitted call") {
		t.Errorf("%+v", r)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"--import " + root: "want the bucket of the directory as --warehouse",
		"--warehouse " + address + " --import " + root + " --dry-run --minute-after 7d": "--dry-run has no effect with --import",
		"--warehouse " + address + " --import " + t.TempDir():                           "want the `path` of a collector",
	} {
		if r := corehour(append([]string{"compact"}, strings.Fields(args)...)...); r.code != exitFailed || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: %+v", args, r)
		}
	}
}

func TestOpen_RejectsSpool(t *testing.T) {
	address := inBucket(t, nil)
	root := manyFiles(t)
	b, err := bucket.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	m, err := bucket.NewMirror(t.Context(), b, bucket.Options{Address: address, Prefix: "host", Directory: root})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cost", "compact"} {
		if r := corehour(name, "--warehouse", root); r.code != exitFailed || !strings.Contains(r.stderr, "name the bucket") {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestCompact_Bucket(t *testing.T) {
	clock(t, fixture.Start.Add(30*time.Hour))
	address := inBucket(t, map[string]string{"gone": manyFiles(t)})
	running := uploader(t, address, "running", manyFiles(t))
	if err := running.Push(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := totalCalls(t, address, "shop")
	r := corehour("compact", "--warehouse", address, "--max-files", "5")
	if r.code != exitNothing || !strings.Contains(r.stderr, "/gone") || !strings.Contains(r.stderr, "skipped: ") {
		t.Errorf("%+v", r)
	}
	if after := totalCalls(t, address, "shop"); after != before {
		t.Errorf("%s before, %s after", before, after)
	}
	merged, err := filepath.Glob(strings.TrimPrefix(address, "file://") + "/gone/date=*/merge-*.parquet")
	if err != nil || len(merged) != 1 {
		t.Errorf("%v %v", merged, err)
	}
	if leaves, _ := filepath.Glob(os.Getenv("XDG_CACHE_HOME") + "/corehour/compact-*"); len(leaves) > 0 {
		t.Errorf("left over: %v", leaves)
	}
	if err := running.Close(); err != nil {
		t.Fatal(err)
	}
	left := uploader(t, address, "other", manyFiles(t))
	defer left.Close()
	// Without any collector prefix compact fails, instead of assuming that collectors maintain everything.
	empty, backups := t.TempDir(), t.TempDir()
	if err := os.CopyFS(filepath.Join(backups, "backups"), os.DirFS(manyFiles(t))); err != nil {
		t.Fatal(err)
	}
	for _, directory := range []string{empty, backups} {
		if r := corehour("compact", "--warehouse", "file://"+directory); r.code != exitFailed || !strings.Contains(r.stderr, "no prefix of a collector") {
			t.Errorf("%+v", r)
		}
	}
}

// hook is a buffer that calls told with every line before it stores it.
type hook struct {
	bytes.Buffer
	told func(line string)
}

func (h *hook) Write(line []byte) (int, error) {
	h.told(string(line))
	return h.Buffer.Write(line)
}

// compact reports an action as done only if its upload succeeded. A failed prefix does not hide the others.
func TestCompact_NoUpload(t *testing.T) {
	clock(t, fixture.Start.Add(30*time.Hour))
	address := inBucket(t, map[string]string{"away": manyFiles(t), "here": manyFiles(t)})
	away := filepath.Join(strings.TrimPrefix(address, "file://"), "away")
	var stdout bytes.Buffer
	prefix := ""
	stderr := &hook{}
	stderr.told = func(line string) {
		if strings.HasSuffix(line, "/away\n") || strings.HasSuffix(line, "/here\n") {
			prefix = line
		}
		if !strings.Contains(line, ": merge: ") || !strings.HasSuffix(prefix, "/away\n") {
			return
		}
		// From here on the prefix cannot be written.
		if err := errors.Join(os.Rename(away, t.TempDir()+"/gone"), os.WriteFile(away, nil, 0o600)); err != nil {
			t.Error(err)
		}
	}
	code := run(t.Context(), []string{"compact", "--warehouse", address, "--max-files", "5"}, &stdout, stderr)
	if code != exitFailed || strings.Count(stdout.String(), "  merge  ") != 1 {
		t.Errorf("exit code %d, want one merge done: %s", code, &stdout)
	}
	if text := stderr.String(); strings.Count(text, ": merge: ") != 2 || !strings.Contains(text, "the work may not be stored: "+address+"/away: ") {
		t.Error(text)
	}
}

// compact reports the prefixes that it merged even if another prefix is locked.
func TestCompact_LockedPrefix(t *testing.T) {
	clock(t, fixture.Start.Add(30*time.Hour))
	address := inBucket(t, map[string]string{"a": manyFiles(t), "b": manyFiles(t)})
	var stdout bytes.Buffer
	stderr := &hook{}
	stderr.told = func(line string) {
		if !strings.HasSuffix(line, "/b\n") {
			return
		}
		at, err := filepath.Glob(os.Getenv("XDG_CACHE_HOME") + "/corehour/compact-*/warehouse")
		if err != nil || len(at) != 1 {
			t.Fatal(at, err)
		}
		held, err := warehouse.LockFile(at[0], "LOCK.maintenance", "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { held.Close() })
	}
	code := run(t.Context(), []string{"compact", "--warehouse", address, "--max-files", "5"}, &stdout, stderr)
	if code != exitFailed || strings.Count(stdout.String(), "  merge  ") != 1 || !strings.Contains(stderr.String(), "one maintenance runs at a time") {
		t.Errorf("exit code %d, want one merge done: %s%s", code, &stdout, stderr)
	}
}

// --delete-service does not delete rows under the prefix of a running collector, and reports this in every
// output format.
func TestCompact_ServiceInBucket(t *testing.T) {
	fixture.SkipRaced(t)
	clock(t, fixture.Start.Add(30*time.Hour))
	address := inBucket(t, map[string]string{"gone": manyFiles(t)})
	running := uploader(t, address, "running", manyFiles(t))
	if err := running.Push(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := totalCalls(t, address, "shop")
	for _, args := range []string{"text", "json", "markdown", "csv", "text --yes", "json --yes"} {
		r := corehour(append([]string{"compact", "--warehouse", address, "--delete-service", "shop", "--format"}, strings.Fields(args)...)...)
		if r.code != exitFailed || !strings.Contains(r.stdout, "/running") || !strings.Contains(r.stdout, "holds it") || !strings.Contains(r.stderr, "stop their collectors") {
			t.Errorf("%s: %+v", args, r)
		}
	}
	rest := totalCalls(t, address, "shop")
	if alone := totalCalls(t, inBucket(t, map[string]string{"one": manyFiles(t)}), "shop"); rest != alone || rest == all {
		t.Errorf("%s are left of %s, want the %s of the running collector", rest, all, alone)
	}
	// The command also fails if it skipped every prefix.
	if r := corehour("compact", "--warehouse", address, "--relabel", "shop=market", "--yes"); r.code != exitFailed {
		t.Errorf("%+v", r)
	}
	if err := running.Close(); err != nil {
		t.Fatal(err)
	}
	if r := corehour("compact", "--warehouse", address, "--relabel", "shop=market", "--yes", "--format", "json"); r.code != exitNothing || strings.Contains(r.stdout, "left_alone") {
		t.Errorf("%+v", r)
	}
	if moved := totalCalls(t, address, "market"); moved != rest {
		t.Errorf("%s became %s", rest, moved)
	}
	if r := corehour("compact", "--warehouse", address, "--delete-service", "market", "--yes"); r.code != exitNothing {
		t.Errorf("%+v", r)
	}
	if r := corehour("sql", "--warehouse", address, "--format", "csv", "SELECT COUNT(*) FROM method_calls"); !strings.HasSuffix(r.stdout, "\n0\n") && r.code != exitCannotTell {
		t.Errorf("rows are left: %+v", r)
	}
}

// --max-bytes applies to each prefix of a bucket.
func TestCompact_MaxBytesPerPrefix(t *testing.T) {
	clock(t, fixture.Start.Add(300*time.Hour))
	address := inBucket(t, map[string]string{"one": manyFiles(t), "two": manyFiles(t)})
	files, err := filepath.Glob(strings.TrimPrefix(address, "file://") + "/one/date=*/*.parquet")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var size int64
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	for most, dropped := range map[int64]int{size: 0, size - 1: 2} {
		r := corehour("compact", "--warehouse", address, "--drop-oldest", "--max-bytes", fmt.Sprint(most), "--dry-run")
		if n := strings.Count(r.stdout, "drop (disk)"); n != dropped || r.code != exitNothing {
			t.Errorf("%d bytes: %d dates are dropped, want %d: %+v", most, n, dropped, r)
		}
	}
	if r := corehour("compact", "--help"); !strings.Contains(r.stdout, "in a bucket: each prefix") {
		t.Errorf("%+v", r)
	}
}
