package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/maintain"
	"github.com/corehour/corehour/internal/warehouse/table"
	"github.com/corehour/corehour/test/fixture"
)

var sizes = regexp.MustCompile(`\d+ bytes`)

// manyFiles returns a warehouse with one day of a shop, in one data file per item.
func manyFiles(t *testing.T) string {
	t.Helper()
	items, _ := fixture.Shop{Seed: 1, Version: "1.9.0", Instances: []string{"a"}, Start: fixture.Start, Minutes: 6, Requests: 20}.Run()
	var commits [][]methodspan.Item
	for _, item := range items {
		commits = append(commits, []methodspan.Item{item})
	}
	return fixture.Write(t, commits...)
}

func totalCalls(t *testing.T, root, service string) string {
	t.Helper()
	r := corehour("sql", "--warehouse", root, "--format", "csv", fmt.Sprintf("SELECT SUM(calls), COUNT(*) FILTER (level = 'raw') FROM method_calls WHERE service = '%s'", service))
	if r.code != exitNothing {
		t.Fatalf("%+v", r)
	}
	return strings.Split(strings.TrimSpace(r.stdout), "\n")[1]
}

func TestCompact(t *testing.T) {
	clock(t, fixture.Start.Add(30*time.Hour))
	root := manyFiles(t)
	before := totalCalls(t, root, "shop")
	r := corehour("compact", "--warehouse", root, "--max-files", "5", "--dry-run")
	golden(t, "compact_dry.txt", sizes.ReplaceAllString(r.stdout, "N bytes"))
	if r.code != exitNothing || r.stderr != "" {
		t.Errorf("%+v", r)
	}
	r = corehour("compact", "--warehouse", root, "--max-files", "5", "--format", "json")
	var report struct {
		DryRun bool `json:"dry_run"`
		Steps  []struct {
			Action  string `json:"action"`
			Files   int    `json:"files"`
			OutRows int64  `json:"out_rows"`
			Rows    int64  `json:"rows"`
		} `json:"steps"`
	}
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil || r.code != exitNothing || len(report.Steps) != 1 {
		t.Fatalf("%v %+v", err, r)
	}
	if s := report.Steps[0]; s.Action != "merge" || s.Files != 6 || s.Rows != s.OutRows || s.Rows == 0 || report.DryRun {
		t.Errorf("%+v", report)
	}
	if after := totalCalls(t, root, "shop"); after != before {
		t.Errorf("%s became %s", before, after)
	}
	clock(t, fixture.Start.Add(31*time.Hour))
	r = corehour("compact", "--warehouse", root)
	golden(t, "compact_nothing.txt", sizes.ReplaceAllString(r.stdout, "N bytes"))
	clock(t, fixture.Start.Add(100*time.Hour))
	r = corehour("compact", "--warehouse", root, "--minute-after", "2d")
	if r.code != exitNothing || !strings.Contains(r.stderr, "2026-03-10: roll up by minute: 1 files") {
		t.Errorf("%+v", r)
	}
	if after := totalCalls(t, root, "shop"); !strings.HasSuffix(after, ",0") || !strings.HasPrefix(after, strings.Split(before, ",")[0]+",") {
		t.Errorf("%s became %s", before, after)
	}
	r = corehour("compact", "--warehouse", root, "--minute-after", "1d", "--keep-rollups", "3d", "--format", "csv")
	if r.code != exitNothing || !strings.Contains(r.stdout, "drop (age)") {
		t.Errorf("%+v", r)
	}
}

func TestCompact_Services(t *testing.T) {
	clock(t, fixture.Start.Add(30*time.Hour))
	root := manyFiles(t)
	before := totalCalls(t, root, "shop")
	if r := corehour("compact", "--warehouse", root, "--relabel", "shop=market"); r.code != exitNothing || !strings.Contains(r.stdout, "give --yes to apply") {
		t.Errorf("%+v", r)
	}
	if after := totalCalls(t, root, "shop"); after != before {
		t.Errorf("without --yes %s became %s", before, after)
	}
	if r := corehour("compact", "--warehouse", root, "--relabel", "shop=market", "--yes"); r.code != exitNothing {
		t.Errorf("%+v", r)
	}
	if after := totalCalls(t, root, "market"); after != before {
		t.Errorf("%s became %s", before, after)
	}
	if r := corehour("compact", "--warehouse", root, "--delete-service", "market", "--yes"); r.code != exitNothing || !strings.Contains(r.stderr, "delete service") {
		t.Errorf("%+v", r)
	}
	if r := corehour("cost", "--warehouse", root, "--from", "2026-03-10"); r.code != exitCannotTell {
		t.Errorf("%+v", r)
	}
}

// compact deletes or relabels nothing if the service is unknown. It fails with a suggestion, also when the
// user confirms with --yes.
func TestCompact_UnknownService(t *testing.T) {
	clock(t, fixture.Start.Add(30*time.Hour))
	root := manyFiles(t)
	address := inBucket(t, map[string]string{"gone": root})
	for _, warehouse := range []string{root, address} {
		for _, args := range [][]string{{"--delete-service", "shpo"}, {"--delete-service", "shpo", "--yes"}, {"--relabel", "shpo=market", "--yes"}} {
			r := corehour(append([]string{"compact", "--warehouse", warehouse}, args...)...)
			if want := `corehour compact: nothing of service "shpo" is stored (did you mean "shop"?)`; r.code != exitCannotTell || r.stdout != "" || !strings.Contains(r.stderr, want) {
				t.Errorf("%v: %q is missing: %+v", args, want, r)
			}
		}
	}
}

func TestCompact_Fails(t *testing.T) {
	clock(t, fixture.Start.Add(30*time.Hour))
	root := manyFiles(t)
	for _, tc := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"--max-files", "1", "--minute-after", "soon", "--relabel", "a"}, exitFailed, []string{"--minute-after: want a duration", "--relabel: want two different names"}},
		{[]string{"--max-files", "1", "--keep-raw", "3d", "--minute-after", "2d"}, exitFailed, []string{"--max-files must be at least 2, found 1", "--keep-raw has no effect"}},
		{[]string{"--drop-oldest", "--yes"}, exitFailed, []string{"--drop-oldest has no effect without", "--yes has no effect"}},
		{[]string{"--delete-service", "a", "--relabel", "a=b"}, exitFailed, []string{"want one of them"}},
		{[]string{"--delete-service", "shop", "--minute-after", "1d", "--max-bytes", "1GB"}, exitFailed, []string{"--minute-after 1d has no effect with --delete-service", "--max-bytes 1GB has no effect with --delete-service"}},
		{[]string{"--relabel", "shop=store", "--yes", "--dry-run"}, exitFailed, []string{"--yes and --dry-run: want one of them"}},
		{[]string{"--max-bytes", "10GB", "--min-free-bytes", "1GB"}, exitFailed, []string{"--max-bytes 10GB has no effect without --drop-oldest: add it", "--min-free-bytes 1GB has no effect"}},
		{[]string{"--max-bytes", "ten", "--drop-oldest"}, exitFailed, []string{"--max-bytes: want a number of bytes, one or more, like 500MB"}},
		{[]string{"--warehouse", filepath.Join(root, "nowhere")}, exitFailed, []string{"no warehouse there"}},
		{[]string{"all"}, exitFailed, []string{"want flags only"}},
	} {
		r := corehour(append([]string{"compact", "--warehouse", root}, tc.args...)...)
		for _, want := range tc.want {
			if r.code != tc.code || !strings.Contains(r.stderr, want) {
				t.Errorf("%v: %q is missing: %+v", tc.args, want, r)
			}
		}
	}
	if r := corehour("compact", "--warehouse", root, "--max-bytes", "10GB", "--drop-oldest"); r.code != exitNothing {
		t.Errorf("%+v", r)
	}
	m, err := table.NewMaintainer(root, table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r := corehour("compact", "--warehouse", root); r.code != exitCannotTell || !strings.Contains(r.stderr, "wait for it to end") {
		t.Errorf("%+v", r)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}

// The command has a display name for every maintenance action.
func TestCompact_ActionNames(t *testing.T) {
	for _, action := range maintain.Actions {
		if actionNames[action] == "" {
			t.Errorf("%s has none", action)
		}
	}
}
