package main

import (
	"strings"
	"testing"

	"github.com/corehour/corehour/test/fixture/remote"
)

// TestWindow_BeyondRowTimes: a bound outside the range of possible row times selects the same rows as an open
// bound.
func TestWindow_BeyondRowTimes(t *testing.T) {
	skipLong(t)
	clock(t, evening)
	root := twoReleases(t, 1)
	_, address := remote.Serve(t, root)
	for _, warehouse := range []string{root, address} {
		for _, args := range [][]string{
			{"cost"}, {"regress"}, {"check"}, {"explain", "shop/tax.Rate"},
			{"report", "--format", "text", "--methods", "0"}, {"sql", "SELECT COUNT(*) AS n FROM method_calls"},
		} {
			if warehouse == address && args[0] != "regress" && args[0] != "check" {
				continue
			}
			ask := func(window ...string) result {
				r := corehour(append(append([]string{args[0], "--warehouse", warehouse}, window...), args[1:]...)...)
				if _, rest, ok := strings.Cut(r.stdout, "\n"); ok && (args[0] == "report" || args[0] == "cost") { // the first line contains the window
					r.stdout = rest
				}
				r.stderr = ""
				return r
			}
			open := ask("--from", "1970-01-01", "--to", "2100-01-01")
			if open.code == exitFailed || open.code == exitCannotTell {
				t.Fatalf("%v: %+v", args, open)
			}
			for _, window := range [][]string{
				{"--from", "1500-01-01", "--to", "9999-12-31"}, {"--from", "0002-01-01", "--to", "9999-12-31T23:59:59-05:00"},
				{"--from", "1677-01-01", "--to", "2262-05-01"},
			} {
				got := ask(window...)
				if got != open {
					t.Errorf("%v %v: %+v, want %+v", args, window, got, open)
				}
			}
		}
	}
	// The default --since does not count back from a --to that far in the future, but from now.
	if r := corehour("cost", "--warehouse", root, "--to", "9999-12-31"); r.code != exitNothing || !strings.Contains(r.stdout, "shop/tax.Rate") {
		t.Errorf("%+v", r)
	}
	if r := corehour("drift", "--warehouse", root, "--to", "9999-12-31"); r.code != exitCannotTell || !strings.Contains(r.stderr, "drift needs closed days (UTC)") {
		t.Errorf("%+v", r)
	}
}
