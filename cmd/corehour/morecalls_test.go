package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/test/fixture"
)

// repeated returns a warehouse in which version 2 writes three log lines where version 1 writes one.
func repeated(t *testing.T) string {
	t.Helper()
	var commits [][]methodspan.Item
	for side := range 2 {
		s := fixture.Shop{Seed: uint64(1 + side), Version: fmt.Sprint(1 + side), Start: fixture.Start.Add(time.Duration(side) * time.Second), Minutes: 40, Requests: 20}
		for i := range 3 {
			s.Instances = append(s.Instances, fmt.Sprint(1+side, "-", i))
		}
		if side == 1 {
			s.Calls = map[string]int{fixture.Log: 3}
		}
		items, _ := s.Run()
		commits = append(commits, items)
	}
	return fixture.Write(t, commits...)
}

// TestRegress_MoreCalls: every output of a more_calls alert names the caller, and prints calls per call without a
// time unit.
func TestRegress_MoreCalls(t *testing.T) {
	skipLong(t)
	clock(t, evening)
	root := repeated(t)
	var calls alert.Alert
	var found struct{ Alerts []alert.Alert }
	if err := json.Unmarshal([]byte(corehour("regress", "--warehouse", root, "--format", "json").stdout), &found); err != nil {
		t.Fatal(err)
	}
	for _, a := range found.Alerts {
		if a.Kind == alert.MoreCalls {
			calls = a
		}
	}
	if len(found.Alerts) != 1 || calls.Caller != "shop/web.Handler.Serve" {
		t.Fatalf("alerts %+v", found.Alerts)
	}
	const about = "shop/log.Write called by shop/web.Handler.Serve"
	for _, c := range []struct {
		args     []string
		code     int
		want, no []string
	}{
		{[]string{"regress", "--format", "markdown"}, exitFound, []string{"1 methods called more often by a caller from 1 ", about, "| calls per call of its caller |", "| 1 | 3 |"}, []string{"1ns", "3ns", "methods regressed"}},
		{[]string{"report", "--format", "text", "--wide"}, exitNothing, []string{about, "more_calls", "3 calls per call of its caller", calls.ID}, []string{"3ns"}},
		{[]string{"report", "--format", "html"}, exitNothing, []string{"more_calls", "3 calls per call of its caller", calls.ID}, []string{"3ns"}},
		{[]string{"report", "--format", "json"}, exitNothing, []string{`"caller": "shop/web.Handler.Serve"`, calls.ID}, nil},
		{[]string{"explain", fixture.Log}, exitNothing, []string{calls.ID + ", more_calls by shop/web.Handler.Serve", "an alert of its calls, no alert of its cost, because of"}, []string{" no alert, because"}},
		{[]string{"accept", calls.ID, "--reason", "it is audited", "--by", "ann"}, exitNothing, []string{about + " of store/shop (production), 3 calls per call of its caller: accepted by ann"}, []string{"ns"}},
		{[]string{"explain", fixture.Log}, exitNothing, []string{"3 calls per call of its caller: accepted by ann"}, []string{"3ns"}},
		{[]string{"regress"}, exitNothing, []string{about + " of shop"}, nil},
	} {
		r := corehour(append(c.args, "--warehouse", root)...)
		if r.code != c.code {
			t.Errorf("%q: exit %d: %s", c.args, r.code, r.stderr)
		}
		for _, want := range c.want {
			if !strings.Contains(r.stdout, want) {
				t.Errorf("%q: no %q in %s", c.args, want, r.stdout)
			}
		}
		for _, no := range c.no {
			if strings.Contains(r.stdout, no) {
				t.Errorf("%q: %q in %s", c.args, no, r.stdout)
			}
		}
	}
}
