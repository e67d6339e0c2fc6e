package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/ledger"
	"github.com/corehour/corehour/test/fixture"
)

// atTwoCollectors returns the warehouses of two collectors. A process sent the middle of three batches to the second.
func atTwoCollectors(t *testing.T) (a, b string) {
	t.Helper()
	p := fixture.NewProcess("1", "a", fixture.Start)
	var items []methodspan.Item
	for minute := range 3 {
		at := fixture.Start.Add(time.Duration(minute) * time.Minute)
		p.Counts("a.B", at, time.Minute, 10)
		p.Beat(at, time.Minute, time.Second, minute == 2)
		items = append(items, p.Item())
	}
	return fixture.Write(t, items[:1], items[2:]), fixture.Write(t, items[1:2])
}

// checked runs check, as text and as JSON.
func checked(t *testing.T, code int, args ...string) (ledger.Accounts, result) {
	t.Helper()
	text := corehour(append([]string{"check"}, args...)...)
	r := corehour(append([]string{"check", "--json"}, args...)...)
	var report ledger.Accounts
	if err := json.Unmarshal([]byte(r.stdout), &report); r.code != code || text.code != code || err != nil {
		t.Fatalf("%v: exit %d and %d, want %d, %v:\n%s%s", args, r.code, text.code, code, err, text.stdout, r.stderr)
	}
	return report, text
}

func TestCheck_SeveralWarehouses(t *testing.T) {
	fixture.SkipRaced(t)
	clock(t, evening)
	a, b := atTwoCollectors(t)
	if report, text := checked(t, exitCannotTell, "--warehouse", a); report.Losses.NotJudgedCalls != 10 || !strings.Contains(unwrapped(text.stdout), "pass the other --warehouse too") {
		t.Errorf("%+v: %s", report.Losses, text.stdout)
	}
	if r := corehour("cost", "--warehouse", a); r.code != exitNothing || !strings.Contains(unwrapped(r.stdout), "missing: store/shop (production): 10 of 30 calls") {
		t.Errorf("cost: %+v", r)
	}
	if report, _ := checked(t, exitNothing, "--warehouse", a, "--warehouse", b); len(report.Warehouses) != 2 {
		t.Errorf("%+v", report.Warehouses)
	}
	// A warehouse that is given twice is read once, even under another path.
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(a, link); err != nil {
		t.Fatal(err)
	}
	if report, text := checked(t, exitCannotTell, "--warehouse", a, "--warehouse", link); len(report.Warehouses) != 1 || text.stderr != "--warehouse "+link+": is the same as "+a+", and read once\n" {
		t.Errorf("%+v %q", report.Warehouses, text.stderr)
	}
	// A bucket next to a directory, and a bucket that contains the prefixes of both collectors.
	bucket := inBucket(t, map[string]string{"host-2": b})
	report, _ := checked(t, exitNothing, "--warehouse", a, "--warehouse", bucket, "--deep")
	if w := report.Warehouses; len(w) != 2 || w[1].Warehouse != bucket || w[1].FreshnessNote == "" || w[0].FreshnessNote != "" {
		t.Errorf("%+v", w)
	}
	checked(t, exitNothing, "--warehouse", inBucket(t, map[string]string{"host-1": a, "host-2": b}))
}

func TestCheck_NamesInvalidWarehouse(t *testing.T) {
	clock(t, evening)
	a, b := atTwoCollectors(t)
	none := filepath.Join(t.TempDir(), "none")
	for args, want := range map[string]string{
		"check --warehouse " + a + " --warehouse " + none:                                "--warehouse " + none + ": ",
		"check --warehouse " + a + " --warehouse bigquery://p/d":                         "--warehouse bigquery://p/d: several warehouses must be directories or buckets",
		"cost --warehouse " + a + " --warehouse " + b:                                    "--warehouse: corehour cost reads one, found 2",
		"check --from 2020-01-01 --to 2020-01-02 --warehouse " + a + " --warehouse " + b: b + ": no rows of these dates",
	} {
		if r := corehour(strings.Fields(args)...); r.code < exitFailed || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: want %q: %+v", args, want, r)
		}
	}
	files, err := filepath.Glob(filepath.Join(b, "date=*", "*.parquet"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2]++
	if err := os.WriteFile(files[0], data, 0o644); err != nil {
		t.Fatal(err)
	}
	if r := corehour("check", "--deep", "--warehouse", a, "--warehouse", b); r.code != exitFailed || !strings.Contains(r.stderr, files[0]) || strings.Contains(r.stderr, a+"/") {
		t.Errorf("%+v", r)
	}
}
