package prefix

import (
	"strings"
	"testing"
)

func TestPatterns(t *testing.T) {
	for pattern, want := range map[string]string{"a.*": "a.", "*": "", "a": "-", "a*b": "-", "a**": "-", "": "-"} {
		text, ok := Of(pattern)
		if !ok {
			text = "-"
		}
		if text != want {
			t.Errorf("%q: %q, want %q", pattern, text, want)
		}
	}
}

// The table finds what a look at every prefix finds.
func FuzzFind(f *testing.F) {
	f.Add("a ab abc a.b a", "abcd")
	f.Add(" x", "")
	f.Fuzz(func(t *testing.T, prefixes, name string) {
		var table Table[int]
		want, longest := 0, -1
		all := strings.Split(prefixes, " ")
		for i, text := range all {
			earlier, replaced := table.Add(text, i)
			if replaced && all[earlier] != text {
				t.Fatalf("%q replaced %q", text, all[earlier])
			}
			if strings.HasPrefix(name, text) && len(text) >= longest {
				want, longest = i, len(text)
			}
		}
		got, ok := table.Find(name)
		if ok != (longest >= 0) || got != want {
			t.Errorf("%q among %q: %d %t, want %d", name, prefixes, got, ok, want)
		}
		n := 0
		table.Each(func(string, int) { n++ })
		if n > len(all) {
			t.Errorf("%d prefixes of %d", n, len(all))
		}
	})
}
