package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/regression/drift/evaluation"
	"github.com/corehour/corehour/test/fixture"
)

func date(t time.Time) string { return t.Format(time.DateOnly) }

var (
	months = fixture.Months
	april  = time.Date(2026, 4, 7, 15, 0, 0, 0, time.UTC)
)

// The output for the same rows is the same on every day, and each drift is written and sent once.
func TestDrift(t *testing.T) {
	fixture.SkipRaced(t)
	root := months().Write(t)
	file := filepath.Join(t.TempDir(), "alerts.jsonl")
	owners := write(t, "owners.json", `{"version": 1, "owners": [{"owner": "team-tax", "class": "shop/tax"}]}`)
	hook := newInbox(t)
	t.Setenv("COREHOUR_TEST_HOOK", hook.URL)
	outputs := map[string]bool{}
	for day := range 2 {
		at := april.AddDate(0, 0, day)
		clock(t, at)
		r := corehour("drift", "--warehouse", root, "--alerts", file, "--owners", owners, "--webhook", "env:COREHOUR_TEST_HOOK", "--to", date(at))
		if r.code != exitFound || r.stderr != "" || !strings.Contains(r.stdout, "team-tax") {
			t.Fatalf("%+v", r)
		}
		outputs[strings.ReplaceAll(r.stdout, at.Format(time.RFC3339), "")] = true
	}
	data, err := os.ReadFile(file)
	if got := hook.take(); err != nil || strings.Count(string(data), "\n") != 2 || len(outputs) != 1 || len(got) != 1 || strings.Count(got[0], `"kind":"drift"`) < 2 {
		t.Errorf("%v: %d answers; alerts: %s; sent: %q", err, len(outputs), data, got)
	}
	r := corehour("drift", "--warehouse", root, "--json")
	var found evaluation.Evaluation
	if err := json.Unmarshal([]byte(r.stdout), &found); err != nil || r.code != exitFound || len(found.Alerts) != 2 {
		t.Errorf("%v: %+v", err, r)
	}
}

// drift --every prints each drift once.
func TestDrift_Watch(t *testing.T) {
	clock(t, april)
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	code := make(chan int, 1)
	root := months().Write(t)
	go func() {
		code <- run(ctx, []string{"drift", "--warehouse", root, "--every", "1s"}, in, io.Discard)
		in.Close()
	}()
	lines := bufio.NewReader(out)
	for _, want := range []string{" DRIFTED cart.Cart.Total (", " DRIFTED tax.Rate ("} {
		if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, want) {
			t.Errorf("%v: %q", err, line)
		}
	}
	cancel()
	if rest, _ := io.ReadAll(lines); len(rest) > 0 || <-code != exitNothing {
		t.Errorf("said again: %s", rest)
	}
}

func TestDrift_CSV(t *testing.T) {
	var series strings.Builder
	series.WriteString("date,value\n")
	for day := range 90 {
		value := 1000 + day*day%7
		if day >= 60 {
			value += 100
		}
		fmt.Fprintf(&series, "%s,%d\n", date(time.Date(2026, 1, 5+day, 0, 0, 0, 0, time.UTC)), value)
	}
	few, broken := write(t, "few.csv", "date,value\n2026-01-05,1\n2026-01-06,2\n"), write(t, "broken.csv", "date,value\n2026-01-05\n")
	for args, c := range map[string]struct {
		code int
		want string
	}{
		write(t, "series.csv", series.String()): {exitFound, "DRIFT"},
		few:                                     {exitCannotTell, "29 days with a value"},
		broken:                                  {exitFailed, broken + ": "},
		few + ".none":                           {exitFailed, "--csv: "},
		few + " --service shop":                 {exitFailed, "--service has no effect with --csv"},
		few + " --metric gpu":                   {exitFailed, `--metric: want cpu or wall, found "gpu"`},
	} {
		if r := corehour(append([]string{"drift", "--csv"}, strings.Fields(args)...)...); r.code != c.code || !strings.Contains(r.stdout+r.stderr, c.want) {
			t.Errorf("%s: %+v, want %+v", args, r, c)
		}
	}
}
