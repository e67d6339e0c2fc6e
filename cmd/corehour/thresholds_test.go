package main

import (
	"strings"
	"testing"
)

// TestThresholds: a file sets the thresholds of some methods. Invalid entries are left out with a message.
func TestThresholds(t *testing.T) {
	clock(t, evening)
	root := twoReleases(t, 1)
	for _, c := range []struct {
		entry, message string
		code           int
	}{
		{`{"method": "shop/log", "threshold_percent": 500}`, "", exitFound},
		{`{"service": "shop", "class": "shop/tax", "threshold_percent": 500}, {"service": 7}`, "left out", exitNothing},
	} {
		path := write(t, "thresholds.json", `{"version": 1, "thresholds": [`+c.entry+`]}`)
		r := corehour("regress", "--warehouse", root, "--method", "threshold", "--thresholds", path)
		if r.code != c.code || !strings.Contains(r.stderr, c.message) || (r.stderr == "") != (c.message == "") {
			t.Errorf("%s: %+v", c.entry, r)
		}
	}
	if r := corehour("regress", "--warehouse", root, "--method", "threshold", "--warm-up", "70m"); r.code != exitCannotTell || !strings.Contains(r.stdout, "nothing that version 1.10.0 measured is compared") {
		t.Errorf("--warm-up: %+v", r)
	}
	for _, c := range []struct{ args, want string }{
		{"--thresholds " + write(t, "t.json", `{"version":1,"thresholds":[]}`), "no effect without --method threshold"}, {"--method threshold --slot soon", "--slot: has no effect"}, {"--method threshold --warm-up soon", "--warm-up: want"},
	} {
		if r := corehour(append([]string{"regress", "--warehouse", root}, strings.Fields(c.args)...)...); r.code != exitFailed || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%s: %+v", c.args, r)
		}
	}
}
