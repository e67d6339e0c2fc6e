package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/test/fixture"
)

// sideBySide stores two versions whose first rows fall into the same minute. ages is the time since the start of
// their processes; a negative age leaves the start unknown.
func sideBySide(t *testing.T, versions [2]string, ages [2]time.Duration) string {
	t.Helper()
	var all [][]methodspan.Item
	for i, version := range versions {
		items, _ := fixture.Shop{
			Seed: uint64(i), Version: version, Instances: []string{version + "-a", version + "-b"}, Start: fixture.Start, Minutes: 40, Requests: 10,
		}.Run()
		start := fixture.Start.Add(-ages[i]).UnixNano()
		if ages[i] < 0 {
			start = 0
		}
		for _, item := range items {
			for j := range item.Rows {
				item.Rows[j].Resource.ProcessStartNS = start
			}
		}
		all = append(all, items)
	}
	return fixture.Write(t, all...)
}

func TestRegress_SelectsBase(t *testing.T) {
	skipLong(t)
	clock(t, evening)
	for name, tc := range map[string]struct {
		versions   [2]string
		ages       [2]time.Duration
		flags      []string
		base, head string
		rule, said string
	}{
		"one instant":             {versions: [2]string{"1.10.0", "1.9.0"}, base: "1.9.0", head: "1.10.0", rule: "version order", said: "chosen by version order, because nothing says which began first"},
		"processes of one minute": {versions: [2]string{"1.10.0", "1.9.0"}, ages: [2]time.Duration{20 * time.Second, 5 * time.Second}, base: "1.10.0", head: "1.9.0", rule: "process start", said: "chosen by process start"},
		"both run from before":    {versions: [2]string{"1.9.0", "2.0.0"}, ages: [2]time.Duration{time.Hour, 72 * time.Hour}, base: "2.0.0", head: "1.9.0", rule: "process start", said: "chosen by process start"},
		"of unknown processes":    {versions: [2]string{"1.10.0", "1.9.0"}, ages: [2]time.Duration{-1, -1}, base: "1.9.0", head: "1.10.0", rule: "version order", said: "chosen by version order"},
		"both named":              {versions: [2]string{"1.10.0", "1.9.0"}, flags: []string{"--base", "1.10.0", "--head", "1.9.0"}, base: "1.10.0", head: "1.9.0", rule: "asked for", said: "asked for"},
		"the base named":          {versions: [2]string{"1.10.0", "1.9.0"}, flags: []string{"--base", "1.9.0"}, base: "1.9.0", head: "1.10.0", rule: "version order", said: "chosen by version order"},
	} {
		t.Run(name, func(t *testing.T) {
			root := sideBySide(t, tc.versions, tc.ages)
			type pair struct {
				BaseVersion string `json:"base_version"`
				HeadVersion string `json:"head_version"`
				ChosenBy    string `json:"chosen_by"`
			}
			want := pair{tc.base, tc.head, tc.rule}
			ask := func(answer any, args ...string) string {
				t.Helper()
				args = append(append(args, "--warehouse", root), tc.flags...)
				text := corehour(args...)
				r := corehour(append(args, "--format", "json")...)
				if err := json.Unmarshal([]byte(r.stdout), answer); err != nil || text.code == exitFailed {
					t.Fatalf("%v %+v %+v", err, r, text)
				}
				if !strings.Contains(text.stdout, tc.said) {
					t.Errorf("%s does not say %q: %s", args[0], tc.said, text.stdout)
				}
				return text.stdout
			}
			for _, method := range []string{"evidence", "threshold"} {
				var regress struct{ Comparisons []pair }
				if text := ask(&regress, "regress", "--method", method); len(regress.Comparisons) != 1 || regress.Comparisons[0] != want || strings.Contains(text, "only version") {
					t.Errorf("regress by %s: %+v, want %+v: %s", method, regress, want, text)
				}
			}
			var report struct{ Compared []pair }
			if ask(&report, "report"); len(report.Compared) != 1 || report.Compared[0] != want {
				t.Errorf("report: %+v, want %+v", report, want)
			}
			if tc.flags != nil {
				return
			}
			var explain struct{ Methods []struct{ Verdict pair } }
			if ask(&explain, "explain", "Cart.Total"); len(explain.Methods) != 1 || explain.Methods[0].Verdict != want {
				t.Errorf("explain: %+v, want %+v", explain, want)
			}
		})
	}
}
