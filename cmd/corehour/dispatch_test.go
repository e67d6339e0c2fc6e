package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/test/fixture"
)

// Equivalent command lines have equal results.
func TestRun_EquivalentCommandLines(t *testing.T) {
	fixture.SkipLong(t)
	clock(t, evening)
	root := twoReleases(t, 0.5)
	ask := corehour("cost", "--warehouse", root, "--since", "6h", "--wide")
	if ask.code != exitNothing || !strings.Contains(ask.stdout, "cart.Cart.Total") {
		t.Fatalf("%+v", ask)
	}
	for _, c := range []string{
		"cost --warehouse W --since 6h --wide",
		"cost --warehouse=W --since=6h --wide=true",
		"cost --warehouse=W --since=6h --wide=1",
		"cost --wide --since 1h --since 6h --warehouse W",
		"cost --warehouse W --since 360m --format text --wide",
		"cost --warehouse W --since 6h --wide --percentiles=false --",
	} {
		if got := corehour(strings.Fields(strings.ReplaceAll(c, "W", root))...); got != ask {
			t.Errorf("%s: %+v", c, got)
		}
	}
	text := corehour("cost", "--warehouse", root)
	for _, c := range []string{"cost --warehouse W --json=false", "cost --warehouse W --json=F --service=", "cost --top 30 --warehouse W"} {
		if got := corehour(strings.Fields(strings.ReplaceAll(c, "W", root))...); got != text || got.code != exitNothing {
			t.Errorf("%s: %+v", c, got)
		}
	}
	query := corehour("sql", "--warehouse", root, "--format", "csv", "SELECT 1 AS a")
	for _, args := range [][]string{
		{"sql", "SELECT 1 AS a", "--warehouse", root, "--format", "csv"},
		{"sql", "--warehouse", root, "SELECT 1 AS a", "--format=csv"},
		{"sql", "--format=csv", "--warehouse=" + root, "--", "SELECT 1 AS a"},
	} {
		if got := corehour(args...); got != query || got.stdout != "a\n1\n" {
			t.Errorf("%q: %+v", args, got)
		}
	}
	method := corehour("explain", "--warehouse", root, "--wide", "Rate")
	for _, args := range [][]string{{"explain", "Rate", "--warehouse", root, "--wide"}, {"explain", "--wide", "Rate", "--warehouse", root}} {
		if got := corehour(args...); got != method || got.code != exitNothing {
			t.Errorf("%q: %+v", args, got)
		}
	}
	if a, b := corehour("check", "--warehouse", root, "--warehouse="+root), corehour("check", "--warehouse", root); a.code != b.code || a.code != exitNothing {
		t.Errorf("check of two: %+v, of one: %+v", a, b)
	}
	if a, b := corehour("prices", "check", "--warehouse", root), corehour("prices", "--warehouse", root); a != b || a.stdout == "" {
		t.Errorf("prices without its verb: %+v, want %+v", b, a)
	}
}

// Help is printed on standard output with exit code 0, errors on standard error with exit code 2.
func TestHelp_AndMistakes(t *testing.T) {
	for _, c := range []struct{ line, stdout, stderr string }{
		{"", "", "usage: corehour <command>"},
		{"help", "usage: corehour <command>", ""},
		{"-h", "usage: corehour <command>", ""},
		{"--help", "usage: corehour <command>", ""},
		{"help cost", "usage: corehour cost [flags]", ""},
		{"--help cost", "usage: corehour cost [flags]", ""},
		{"cost --help", "usage: corehour cost [flags]", ""},
		{"cost -h", "usage: corehour cost [flags]", ""},
		{"cost --top 3 --help --nonsense", "usage: corehour cost [flags]", ""},
		{"prices --help", "usage: corehour prices check [flags]", ""},
		{"prices check -h", "usage: corehour prices check [flags]", ""},
		{"version -h", "usage: corehour version", ""},
		{"--version", "DuckDB v", ""},
		{"csot", "", `corehour: unknown command "csot": did you mean "cost"?`},
		{"nothing-like-it", "", `corehour: unknown command "nothing-like-it": see corehour --help`},
		{"ui", "", `corehour: "ui" is reserved for a later release`},
		{"help csot", "", `corehour help: unknown command "csot": did you mean "cost"?`},
		{"regres", "", `did you mean "regress"?`},
		{"help cost drift", "", `corehour help: want one command, found the further argument "drift"`},
		{"--json cost", "", "corehour: unknown flag --json: see corehour --help"},
		{"cost --wharehouse=x", "", `did you mean "--warehouse"?`},
		{"cost --wharehouse x", "", `corehour cost: unknown flag --wharehouse: did you mean "--warehouse"?`},
		{"cost -since 6h", "", "corehour cost: unknown flag -since: flags have two dashes: did you mean \"--since\"?"},
		{"cost -wharehouse=x", "", `corehour cost: unknown flag -wharehouse: flags have two dashes: did you mean "--warehouse"?`},
		{"cost --nothing-like-it", "", "corehour cost: unknown flag --nothing-like-it: see corehour cost --help"},
		{"cost -x", "", "corehour cost: unknown flag -x: flags have two dashes: see corehour cost --help"},
		{"cost --since", "", "corehour cost: --since: want a value (duration), found nothing after it"},
		{"cost --since -1h", "", `corehour cost: --since: want a duration above 0 like 90m, 24h or 7d, found "-1h"`},
		{"cost --json=perhaps", "", `corehour cost: --json: want true or false, or nothing after it, found "perhaps"`},
		{"cost --top many", "", `corehour cost: --top: want a whole number like 20, found "many"`},
		{"cost --json false", "", `corehour cost: want flags only, found the argument "false"`},
		{"cost --warehouse a --warehouse b", "", "corehour cost: --warehouse: corehour cost reads one, found 2: leave out all but one"},
		{"compact all", "", `corehour compact: want flags only, found the argument "all"`},
		{"completion", "", "corehour completion: want one shell (bash, zsh, fish, powershell), found 0 arguments"},
		{"completion csh", "", `corehour completion: want one shell (bash, zsh, fish, powershell), found "csh"`},
		{"completion bash", "__start_corehour", ""},
		{"completion zsh", "#compdef corehour", ""},
		{"completion fish", "complete -c corehour", ""},
		{"completion powershell", "Register-ArgumentCompleter", ""},
	} {
		r := corehour(strings.Fields(c.line)...)
		code := exitNothing
		if c.stderr != "" {
			code = exitFailed
		}
		if r.code != code || !strings.Contains(r.stdout, c.stdout) || !strings.Contains(r.stderr, c.stderr) || (c.stdout == "") != (r.stdout == "") || (c.stderr == "") != (r.stderr == "") {
			t.Errorf("corehour %s: %+v", c.line, r)
		}
		if c.stderr != "" && c.line != "" && strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("corehour %s: more than one line: %s", c.line, r.stderr)
		}
	}
}

// The help of a command has a summary, a paragraph, examples, flags and exit codes.
func TestHelp_Form(t *testing.T) {
	root := newRoot()
	if len(root.Short) > 60 {
		t.Errorf("the summary has %d characters", len(root.Short))
	}
	for _, c := range root.Commands() {
		if c.Hidden {
			continue
		}
		lines := strings.Split(c.Long, "\n")
		long := slices.ContainsFunc(lines, func(l string) bool { return len(l) > 105 })
		if len(c.Short) > 60 || len(lines) > 5 || long || c.Example == "" || c.Annotations[exitCodes] == "" || c.GroupID == "" && c.Name() != "help" {
			t.Errorf("%s: a summary of %d characters, %d lines, examples %q, exit codes %q, group %q", c.Name(), len(c.Short), len(lines), c.Example, c.Annotations[exitCodes], c.GroupID)
		}
		help := corehour(c.Name(), "--help").stdout
		at := 0
		for _, heading := range []string{"usage: corehour " + c.Name(), "\nEXAMPLES\n", "\nEXIT CODES\n"} {
			i := strings.Index(help[at:], heading)
			if i < 0 {
				t.Fatalf("%s: no %q after %d of\n%s", c.Name(), heading, at, help)
			}
			at += i
		}
	}
	for _, heading := range []string{"\nFLAGS\n", "\nTIME\n  --from time\n", "\nFILTER\n", "\nOUTPUT\n", "\nALERTS\n", "\nWAREHOUSE\n"} {
		if help := corehour("cost", "--help").stdout; !strings.Contains(help, heading) {
			t.Errorf("no %q in\n%s", heading, help)
		}
	}
}

func completions(args ...string) []string {
	r := corehour(append([]string{"__completeNoDesc"}, args...)...)
	lines := strings.Split(strings.TrimSuffix(r.stdout, "\n"), "\n")
	return lines[:len(lines)-1] // the last line is a directive for the shell's completion script
}

func TestCompletion(t *testing.T) {
	clock(t, evening)
	w := "--warehouse=" + twoReleases(t, 0.5)
	nowhere := "--warehouse=" + t.TempDir()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"dr"}, "drift"},
		{[]string{"prices", ""}, "check"},
		{[]string{"completion", ""}, "bash zsh fish powershell"},
		{[]string{"help", "dri"}, "drift"},
		{[]string{"cost", "--warehouse", ""}, ""},
		{[]string{"cost", "--percen"}, "--percentiles"},
		{[]string{"cost", "--format", ""}, "text json markdown csv"},
		{[]string{"explain", "--format", ""}, "text json markdown"},
		{[]string{"regress", "--method", ""}, "evidence threshold"},
		{[]string{"cost", w, "--service", ""}, "shop"},
		{[]string{"cost", w, "--service=s"}, "shop"},
		{[]string{"cost", "--since", "6h", w, "--service", "sh"}, "shop"},
		{[]string{"cost", w, "--service", "x"}, ""},
		{[]string{"cost", w, "--namespace", ""}, "store"},
		{[]string{"drift", w, "--environment", ""}, "production"},
		{[]string{"regress", w, "--base", "1."}, "1.10.0 1.9.0"},
		{[]string{"report", w, "--service", "shop", "--head", ""}, "1.10.0 1.9.0"},
		{[]string{"explain", w, "--version", ""}, "1.10.0 1.9.0"},
		{[]string{"explain", w, "shop/c"}, "shop/cart.Cart.Total"},
		{[]string{"explain", w, "a", ""}, ""},
		{[]string{"cost", w, ""}, ""},
		{[]string{"cost", nowhere, "--service", ""}, ""},
		{[]string{"cost", "--warehouse=bigquery://a/b", "--service", ""}, ""},
		{[]string{"cost", w, "--since", "soon", "--service", ""}, ""},
		{[]string{"cost", w, "--from", "2030-01-01", "--service", ""}, ""},
	} {
		if got := strings.Join(completions(c.args...), " "); got != c.want {
			t.Errorf("%q: %q, want %q", c.args, got, c.want)
		}
	}
}

// Completion returns a bounded number of names in bounded time, and never an error.
func TestCompletion_Bounded(t *testing.T) {
	clock(t, evening)
	p := fixture.NewProcess("1", "a", fixture.Start)
	for i := range maxCompletions + 50 {
		p.Counts("m"+strings.Repeat("x", i), fixture.Start, time.Minute, 1)
	}
	p.Counts("evil\nname", fixture.Start, time.Minute, 1)
	w := "--warehouse=" + fixture.Write(t, []methodspan.Item{p.Item()})
	if got := completions("explain", w, ""); len(got) != maxCompletions {
		t.Errorf("%d names", len(got))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	begin := time.Now()
	if code := run(ctx, []string{"__complete", "explain", w, ""}, io.Discard, io.Discard); code != exitNothing || time.Since(begin) > completionTimeout {
		t.Errorf("exit %d after %s", code, time.Since(begin))
	}
}

func TestMan_Pages(t *testing.T) {
	dir := t.TempDir()
	if r := corehour("man", dir); r.code != exitNothing || r.stdout+r.stderr != "" {
		t.Fatalf("%+v", r)
	}
	for _, c := range newRoot().Commands() {
		page, err := os.ReadFile(filepath.Join(dir, "corehour-"+c.Name()+".1"))
		if c.IsAvailableCommand() != (err == nil) {
			t.Errorf("%s: %v", c.Name(), err)
		}
		if err == nil && (!strings.Contains(string(page), c.Short) || !strings.Contains(string(page), "Exit codes")) {
			t.Errorf("%s:\n%s", c.Name(), page)
		}
	}
}
