package rulefile

import (
	"fmt"
	"strings"
	"testing"
)

// read returns a line for every valid entry and for every fault.
func read(data string) (good, faults []string, err error) {
	warnings, err := Parse([]byte(data), List{Name: "rules", Fields: []string{"name", "usd", "until", "kind"}, Read: func(e *Entry) {
		name, usd, until, kind := e.Required("name"), e.Positive("usd"), e.Time("until"), e.Choice("kind", "warm", "cold")
		if !e.Faulty() {
			good = append(good, fmt.Sprintf("%d %s %g %s %s", e.Index, name, usd, until.Format("2006-01-02"), kind))
		}
	}})
	for _, w := range warnings {
		faults = append(faults, w.Error())
	}
	return good, faults, err
}

func TestParse(t *testing.T) {
	good, faults, err := read(`{
  "$schema": "x", "version": 1, "ruls": 3,
  "rules": [
    {"name": "a", "usd": 1.5, "until": "2026-12-01", "kind": "warm"},
    {"name": "b", "usd": "1.5"},

    {"nam": "c"}, 7, {"name": ""},
    {"name": "d", "name": "e"}, {"usd": 1e400, "name": "f"}, {"name": "g", "usd": -1, "until": "tomorrow", "kind": "warn"},
    {"name": "h"}
  ],
  "rules": []
}`)
	if err != nil {
		t.Fatal(err)
	}
	if want := "0 a 1.5 2026-12-01 warm|8 h 0 0001-01-01 "; strings.Join(good, "|") != want {
		t.Errorf("read %q", good)
	}
	for i, want := range []string{
		`line 2: unknown key "ruls": did you mean "rules"?`,
		`line 11: duplicate key "rules": first in line 3`,
		`rules[1].usd (line 5): must be a number, found "1.5": remove the quotes`,
		`rules[2] (line 7): unknown key "nam": did you mean "name"?`,
		`rules[2] (line 7): missing key "name"`,
		`rules[3] (line 7): must be an object, found 7`,
		`rules[4].name (line 7): must not be empty`,
		`rules[5] (line 8): duplicate key "name": first in line 8`,
		`rules[6].usd (line 8): must be a number above 0, found 1e400`,
		`rules[7].usd (line 8): must be a number above 0, found -1`,
		`rules[7].until (line 8): must be a date like`,
		`rules[7].kind (line 8): must be one of ["warm" "cold"], found "warn": did you mean "warm"?`,
	} {
		if i >= len(faults) || !strings.HasPrefix(faults[i], want) {
			t.Errorf("fault %d: want %s in\n%s", i, want, strings.Join(faults, "\n"))
			break
		}
	}
	if len(faults) != 12 {
		t.Errorf("%d faults:\n%s", len(faults), strings.Join(faults, "\n"))
	}
}

func TestParse_UnusableFiles(t *testing.T) {
	for data, want := range map[string]string{
		"":                                  "found an empty file",
		"[]":                                "must hold a JSON object",
		"{\n\"version\": 1,\n}":             "3:1: not JSON",
		`{"rules": []}`:                     `add "version": 1`,
		`{"version": 2}`:                    `"version" must be 1, found 2`,
		`{"version": "1"}`:                  `"version" must be 1`,
		"{\"version\": 1, \"a\": \"\xff\"}": "UTF-8",
	} {
		if _, _, err := read(data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", data, err, want)
		}
	}
}

func TestParse_Limits(t *testing.T) {
	good, faults, err := read(`{"version":1,"rules":[` + strings.Repeat(`{"name":"a"},`, MaxEntries) + `{"name":"b"}]}`)
	if err != nil || len(good) != MaxEntries || len(faults) != 1 || !strings.Contains(faults[0], "at most 10000") {
		t.Errorf("%d read, %q, %v", len(good), faults, err)
	}
	if _, faults, _ = read(`{"version":1,"rules":[{"name":"` + strings.Repeat("x", MaxText+1) + `"}]}`); len(faults) != 1 {
		t.Errorf("%q", faults)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"version":1,"rules":[{"name":"a","usd":1,"until":"2026-12-01","kind":"warm"}]}`)
	f.Add(`{"version":1,"rules":[[],{"a":{"b":[1,2]}},null]}`)
	f.Add(`{"version":1}{}`)
	f.Fuzz(func(t *testing.T, data string) {
		good, _, err := read(data)
		if err != nil && len(good) > 0 {
			t.Errorf("refused and read: %q", good)
		}
	})
}
