package main

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/test/fixture"
)

// idleShop returns a warehouse with one day of two processes on two cores each, which are mostly idle.
func idleShop(t *testing.T, cpu time.Duration, change func(*methodspan.Row)) string {
	t.Helper()
	var commits [][]methodspan.Item
	for _, instance := range []string{"a", "b"} {
		p := fixture.NewProcess("1", instance, fixture.Start.Truncate(24*time.Hour))
		for i := range 24 {
			at := p.Start.Add(time.Duration(i) * time.Hour)
			p.Counts("a.B", at, time.Hour, 3)
			p.Call("a.B", "(entry)", at, time.Second, time.Millisecond, 1, 1)
			row := p.Beat(at, time.Hour, cpu, i == 23)
			if change != nil {
				change(row)
			}
		}
		commits = append(commits, []methodspan.Item{p.Item()})
	}
	return fixture.Write(t, commits...)
}

// The cost of idle cores is the same for raw rows, the minute rollup and the hourly rollup.
func TestBudgets_RolledUpRows(t *testing.T) {
	unracedWhenShort(t)
	clock(t, fixture.Start.Add(30*24*time.Hour))
	budgets := write(t, "budgets.json", `{"version":1,"budgets":[{"name":"shop","service":"shop","usd_per_day":4}]}`)
	for _, coreless := range []bool{false, true} {
		root := idleShop(t, time.Second, func(r *methodspan.Row) {
			if coreless && r.Resource.Instance == "b" && r.StartNS%int64(2*time.Hour) == 0 {
				r.Process.Cores = 0
			}
		})
		args := []string{"cost", "--warehouse", root, "--from", "2026-03-10", "--to", "2026-03-11", "--budgets", budgets, "--format", "json"}
		first := 0.0
		for _, level := range []string{"raw", "minute", "hour"} {
			if level != "raw" {
				if r := corehour("compact", "--warehouse", root, "--"+level+"-after", "7d"); r.code != exitNothing {
					t.Fatalf("%+v", r)
				}
			}
			r := corehour(args...)
			var answer struct {
				Services []struct {
					PaidUSD *float64 `json:"paid_usd"`
				}
				Budgets struct{ Spendings []cost.Spending }
			}
			if err := json.Unmarshal([]byte(r.stdout), &answer); err != nil || len(answer.Budgets.Spendings) != 1 || len(answer.Services) != 1 {
				t.Fatalf("%v %+v", err, r)
			}
			if known := answer.Services[0].PaidUSD != nil; known == coreless {
				t.Errorf("%s: paid %v", level, answer.Services[0].PaidUSD)
			}
			if r.code != exitFound && !coreless || r.code != exitCannotTell && coreless {
				t.Errorf("%s: status %d: %+v", level, r.code, r)
			}
			spent := *answer.Budgets.Spendings[0].SpentUSD
			if first == 0 {
				first = spent
			}
			if math.Abs(spent/first-1) > 1e-9 || !coreless && math.Abs(spent/4.8-1) > 1e-9 {
				t.Errorf("%s: %v dollars a day, of raw rows %v", level, spent, first)
			}
		}
	}
}

// While the number of cores is unknown, a budget is neither reported as met nor is its alert resolved. The
// process CPU alone can exceed it.
func TestBudgets_UnknownCores(t *testing.T) {
	unracedWhenShort(t)
	clock(t, fixture.Start.Add(30*24*time.Hour))
	chat := newInbox(t)
	t.Setenv("COREHOUR_TEST_CHAT", chat.URL)
	dir := t.TempDir()
	budgets := write(t, "budgets.json", `{"version":1,"budgets":[{"name":"shop","service":"shop","usd_per_day":2.3}]}`)
	old := func(r *methodspan.Row) { r.Process.Cores = 0 }
	hold := func(root string) result {
		return corehour("cost", "--warehouse", root, "--state", dir, "--from", "2026-03-10", "--to", "2026-03-11", "--budgets", budgets, "--slack", "env:COREHOUR_TEST_CHAT")
	}
	if r := hold(idleShop(t, time.Hour, nil)); r.code != exitFound || len(chat.take()) != 1 {
		t.Fatalf("%+v", r)
	}
	r := hold(idleShop(t, time.Second, old))
	if got := chat.take(); r.code != exitCannotTell || len(got) != 0 {
		t.Errorf("told %q: %+v", got, r)
	}
	for _, want := range []string{"unknown  process CPU", ">= budget shop: 48 of 48 process rows lack the number of cores"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("%q is missing: %s", want, r.stdout)
		}
	}
	r = hold(idleShop(t, time.Hour, old)) // 48 core hours at 5 cents
	if got := chat.take(); r.code != exitFound || len(got) != 0 || !strings.Contains(r.stdout, "process CPU of at least $2.40 a day") {
		t.Errorf("told %q: %+v", got, r)
	}
	if r = hold(idleShop(t, time.Second, func(r *methodspan.Row) { r.Process.Cores = 0.1 })); r.code != exitNothing {
		t.Errorf("%+v", r)
	}
	if got := chat.take(); len(got) != 1 || !strings.Contains(got[0], "planned are $2.30 a day") {
		t.Errorf("told %q", got)
	}
}
