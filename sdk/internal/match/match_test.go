package match

import (
	"regexp"
	"strings"
	"testing"
)

func TestTheMostSpecificFits(t *testing.T) {
	var p Patterns[int]
	for i, text := range []string{"a.*", "*", "a.b.*", "*.c", "a.*.c", "a.b*"} {
		if _, replaced := p.Add(text, i); replaced {
			t.Errorf("%s was not there before", text)
		}
	}
	for name, want := range map[string]int{"x": 1, "x.c": 3, "a.x": 0, "a.x.c": 4, "a.b.x": 2, "a.bx": 5, "": 1} {
		if got, ok := p.Find(name); !ok || got != want {
			t.Errorf("%q: pattern %d, want %d", name, got, want)
		}
	}
	if earlier, replaced := p.Add("*", 9); !replaced || earlier != 1 {
		t.Errorf("replaced %d, %t", earlier, replaced)
	}
	if got, _ := p.Find("x"); got != 9 {
		t.Errorf("the later value does not hold: %d", got)
	}
	var empty Patterns[int]
	if _, ok := empty.Find("x"); ok {
		t.Error("an empty table finds something")
	}
}

func FuzzFits(f *testing.F) {
	f.Add("a*b*c", "axxbxxc")
	f.Add("*a*a", "aa")
	f.Add("ab*ba", "aba")
	f.Add("**", "")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if len(pattern) > 64 || strings.ContainsRune(pattern+name, '\uFFFD') {
			return
		}
		parts := strings.Split(pattern, "*")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		same, err := regexp.Compile(`(?s)\A` + strings.Join(parts, ".*") + `\z`)
		if err != nil {
			return // not UTF-8
		}
		if got, want := fits(pattern, name), same.MatchString(name); got != want {
			t.Errorf("%q fits %q: %t, want %t", name, pattern, got, want)
		}
	})
}
