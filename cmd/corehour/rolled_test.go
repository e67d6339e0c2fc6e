package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/test/fixture"
)

// lossThenRollUp returns a warehouse with one process that lost calls. Its only day is rolled up.
func lossThenRollUp(t *testing.T) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "warehouse")
	p := fixture.NewProcess("1", "a", fixture.Start)
	p.Counts("a.B", fixture.Start, time.Minute, 100)
	p.Call("a.B", "(entry)", fixture.Start, time.Millisecond, time.Millisecond, 1, 1)
	p.Beat(fixture.Start, time.Minute, time.Second, true).Process.CallsTotal = 1_000_000
	fixture.Append(t, root, fixture.Start.Add(time.Hour), []methodspan.Item{p.Item()})
	if r := corehour("check", "--warehouse", root); r.code != exitFound || !strings.HasPrefix(r.stdout, "NOT BALANCED: 999900 calls") {
		t.Fatalf("%+v", r)
	}
	clock(t, fixture.Start.Add(80*time.Hour))
	if r := corehour("compact", "--warehouse", root, "--hour-after", "1d"); r.code != exitNothing {
		t.Fatalf("%+v", r)
	}
	return root
}

func TestCheck_RolledUpDates(t *testing.T) {
	unracedWhenShort(t)
	root := lossThenRollUp(t)
	const why = "dates up to 2026-03-10 are rolled up and keep no account"
	type told struct {
		Balanced     bool   `json:"balanced"`
		CouldNotTell bool   `json:"could_not_tell"`
		RolledUpTo   string `json:"rolled_up_to"`
		AccountsFrom string `json:"accounts_from"`
	}
	requireTold := func(code int, verdict string, want told) {
		t.Helper()
		if r := corehour("check", "--warehouse", root); r.code != code || !strings.HasPrefix(r.stdout, verdict) {
			t.Errorf("exit %d, want %d and %q:\n%s%s", r.code, code, verdict, r.stdout, r.stderr)
		}
		r := corehour("check", "--warehouse", root, "--format", "json")
		var got told
		if err := json.Unmarshal([]byte(r.stdout), &got); err != nil || r.code != code || got != want {
			t.Errorf("exit %d, %+v, %v, want %d, %+v", r.code, got, err, code, want)
		}
	}
	report := func(format string) string {
		r := corehour("report", "--warehouse", root, "--format", format, "--since", "30d")
		if r.code != exitNothing {
			t.Errorf("%+v", r)
		}
		return r.stdout
	}
	requireTold(exitCannotTell, "could not tell: "+why+"\n", told{CouldNotTell: true, RolledUpTo: "2026-03-10"})
	for _, format := range []string{"text", "html"} {
		if page := report(format); strings.Contains(page, "The accounts balance") || !strings.Contains(page, "is unknown: "+why) {
			t.Errorf("report as %s:\n%s", format, page)
		}
	}

	// A later process is checked. The rolled-up day of the earlier process stays unchecked.
	later := fixture.NewProcess("1", "b", fixture.Start.Add(70*time.Hour))
	later.Counts("a.B", later.Start, time.Minute, 100)
	later.Beat(later.Start, time.Minute, time.Second, true)
	fixture.Append(t, root, fixture.Start.Add(71*time.Hour), []methodspan.Item{later.Item()})
	some := told{Balanced: true, RolledUpTo: "2026-03-10", AccountsFrom: "2026-03-13"}
	requireTold(exitNothing, "balanced: every emitted call is stored once\naccounts are of 2026-03-13 and later: "+why+"\n", some)
	if page := report("text"); !strings.Contains(unwrapped(page), "The accounts balance: every call that was emitted is stored once. (accounts are of 2026-03-13 and later: "+why+")") {
		t.Errorf("%s", page)
	}
	if r := corehour("check", "--warehouse", root, "--from", "2026-03-13"); r.code != exitNothing || strings.Contains(r.stdout, why) {
		t.Errorf("dates that are not asked for: %+v", r)
	}
}
