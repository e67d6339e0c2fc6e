package main

import (
	"regexp"
	"runtime"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	want := regexp.MustCompile(`^corehour \S+\ncommit .+\nGo ` + regexp.QuoteMeta(runtime.Version()) + `\nDuckDB v\d+\.\d+\.\d+\S*\n$`)
	for _, name := range []string{"version", "--version", "-version"} {
		if r := corehour(name); r.code != exitNothing || r.stderr != "" || !want.MatchString(r.stdout) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r := corehour("version", "x"); r.code != exitFailed || !strings.Contains(r.stderr, `found "x"`) {
		t.Errorf("%+v", r)
	}
}

func TestHelpOfACommand(t *testing.T) {
	for _, c := range commands {
		if asked, want := corehour("help", c.name), corehour(c.name, "--help"); asked != want || asked.code != exitNothing || asked.stdout == "" {
			t.Errorf("help %s: %+v, want %+v", c.name, asked, want)
		}
	}
	for args, want := range map[string]string{"help csot": `did you mean "cost"?`, "help cost regress": `want one command, found the further argument "regress"`} {
		if r := corehour(strings.Fields(args)...); r.code != exitFailed || r.stdout != "" || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: %+v", args, r)
		}
	}
}
