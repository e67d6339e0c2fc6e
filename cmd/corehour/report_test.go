package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corehour/corehour/test/fixture"
)

func TestReport(t *testing.T) {
	fixture.SkipRaced(t)
	clock(t, evening)
	root := twoReleases(t, 1)
	file := filepath.Join(t.TempDir(), "report.html")
	if r := corehour("report", "--warehouse", root, "--output", file); r.code != exitNothing || r.stdout != "" || !strings.Contains(r.stderr, "wrote "+file) {
		t.Fatalf("%+v", r)
	}
	page, err := os.ReadFile(file)
	if err != nil || !strings.HasPrefix(string(page), "<!doctype html>") || !strings.Contains(string(page), "1.9.0 → 1.10.0") {
		t.Errorf("%v: %s", err, page)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("the page is not readable by others: %v, %v", info, err)
	}
	r := corehour("report", "--warehouse", root, "--format", "json", "--methods", "2", "--top", "3")
	var report struct{ Costs, Methods []any }
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil || r.code != exitNothing || len(report.Costs) != 3 || len(report.Methods) != 2 {
		t.Errorf("%v: %+v", err, r)
	}
	for args, c := range map[string]struct {
		code int
		want string
	}{
		"--format csv":          {exitFailed, "--format: a report has many tables"},
		"--methods 51":          {exitFailed, "--methods: want 0 to 50, found 51"},
		"--output /none/r.html": {exitFailed, "--output: "},
		"--head 7":              {exitFailed, "--head: version not seen"},
		"--service shopp":       {exitCannotTell, `nothing of service "shopp" (did you mean "shop"?)`},
	} {
		r := corehour(append([]string{"report", "--warehouse", root}, strings.Fields(args)...)...)
		if r.code != c.code || r.stdout != "" || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%s: %+v, want %+v", args, r, c)
		}
	}
}
