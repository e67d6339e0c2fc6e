package main

import (
	"strings"
	"testing"
)

// TestCommands_WrongFlags: the error for a wrong flag contains its name, the value found and the values accepted.
func TestCommands_WrongFlags(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"sql", "--limit", "many", "SELECT 1"}, `corehour sql: --limit: want a whole number like 20, found "many"`},
		{[]string{"regress", "--threshold", "20%"}, `corehour regress: --threshold: want a number like 2.5, found "20%"`},
		{[]string{"demo", "--before", "40"}, `corehour demo: --before: want a duration like 90s or 5m, found "40"`},
		{[]string{"cost", "--percentiles=maybe"}, `corehour cost: --percentiles: want true or false, or nothing after it, found "maybe"`},
		{[]string{"accept", "068116bb", "--reason"}, `corehour accept: --reason: want a value (text), found nothing after it`},
		{[]string{"cost", "---by"}, `corehour cost: "---by" is no flag: want --name or --name=value; corehour cost --help lists them`},
		{[]string{"cost", "--wide", "--format", "csv"}, `--wide: has an effect on text only, found --format csv: leave one of them out`},
	} {
		if r := corehour(c.args...); r.code != exitFailed || r.stdout != "" || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%q: no %q in %+v", c.args, c.want, r)
		}
	}
}
