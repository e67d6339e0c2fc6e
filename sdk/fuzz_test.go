package corehour

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/corehour/corehour/sdk/internal/messagelog"
)

func FuzzPairs(f *testing.F) {
	f.Add("service.name=shop,team=a%20b")
	f.Add("=,x,=%zz,a=b=c,,")
	f.Fuzz(func(t *testing.T, value string) {
		if strings.ContainsRune(value, 0) {
			return // no environment variable can contain it
		}
		t.Setenv("COREHOUR_FUZZED", value)
		into := map[string]string{}
		pairs("COREHOUR_FUZZED", func(key, value string) string {
			into[key] = value
			return ""
		})
		if len(into) > strings.Count(value, ",")+1 {
			t.Errorf("%d pairs of %q", len(into), value)
		}
		if _, ok := into[""]; ok {
			t.Errorf("a pair without key of %q", value)
		}
	})
}

func FuzzNames(f *testing.F) {
	f.Add("shop/cart.(*Cart).Total")
	f.Add("pkg.Map[go.shape.int,[]string].Get")
	f.Add("main.(*T[...]).M-fm")
	f.Add("\xff(*)[[]")
	f.Fuzz(func(t *testing.T, name string) {
		if got := methodName(name); !utf8.ValidString(got) || len(got) > maxNameLength+2 {
			t.Errorf("%q becomes %q", name, got)
		}
		if got := messagelog.Printable(name); strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Errorf("%q is printed as %q", name, got)
		}
	})
}
