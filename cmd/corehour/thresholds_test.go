package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file says other thresholds for some methods.
func TestThresholdsOfMethods(t *testing.T) {
	clock(t, evening)
	root := twoReleases(t, 1)
	path := filepath.Join(t.TempDir(), "thresholds.json")
	for _, c := range []struct {
		entry string
		code  int
	}{
		{`{"method": "shop/log", "threshold_percent": 500}`, exitFound},
		{`{"service": "shop", "class": "shop/tax", "threshold_percent": 500}, {"service": 7}`, exitNothing},
	} {
		if err := os.WriteFile(path, []byte(`{"version": 1, "thresholds": [`+c.entry+`]}`), 0o600); err != nil {
			t.Fatal(err)
		}
		r := corehour("regress", "--warehouse", root, "--method", "threshold", "--thresholds", path)
		if r.code != c.code || strings.Contains(c.entry, "7") != strings.Contains(r.stderr, "left out") {
			t.Errorf("%s: %+v", c.entry, r)
		}
	}
	if r := corehour("regress", "--warehouse", root, "--thresholds", path); r.code != exitFailed || !strings.Contains(r.stderr, "no effect without --method threshold") {
		t.Errorf("%+v", r)
	}
}
