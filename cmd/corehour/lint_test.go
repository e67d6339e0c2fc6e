package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/capture"
)

func TestLint(t *testing.T) {
	const faulty, old = "../../sdk/testdata/wire/faulty.json", "../../sdk/testdata/wire/go-sdk.json"
	request, err := os.ReadFile(old)
	if err != nil {
		t.Fatal(err)
	}
	sound := filepath.Join(t.TempDir(), "sound")
	now := strings.ReplaceAll(string(request), "17900000", strconv.FormatInt(time.Now().Unix(), 10)[:8]) // to 100 s
	if err := os.WriteFile(sound, []byte(now), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(faulty)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	before := os.Stdin
	os.Stdin = file
	t.Cleanup(func() { os.Stdin = before })
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, c := range map[string]struct {
		code           int
		stdout, stderr string
	}{
		sound:           {exitNothing, "0 findings in 6 spans", ""},
		old:             {exitFound, "rows: the earliest started at 2026-09-21T14:13:20Z, more than 720h0m0s ago", ""},
		faulty:          {exitFound, "10 findings in 8 spans", ""},
		"-":             {exitFound, "10 findings in 8 spans", ""},
		"":              {exitFailed, "", "want one FILE, or - for standard input, found 0 arguments"},
		"a b":           {exitFailed, "", "found 2 arguments"},
		"/absent":       {exitFailed, "", "absent: no such file"},
		text:            {exitFailed, "", text + ": want an OTLP ExportTraceServiceRequest"},
		"--jsn " + text: {exitFailed, "", "jsn"},
	} {
		r := corehour(append([]string{"lint-otlp"}, strings.Fields(args)...)...)
		if r.code != c.code || !strings.Contains(r.stdout, c.stdout) || !strings.Contains(r.stderr, c.stderr) || (c.stderr == "") != (r.stderr == "") || (c.stdout == "") != (r.stdout == "") {
			t.Errorf("%q: %+v, want %+v", args, r, c)
		}
	}
	r := corehour("lint-otlp", "--json", faulty)
	var report capture.Report
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil || r.code != exitFound || len(report.Findings) != 10 {
		t.Errorf("%v: %+v", err, r)
	}
}
