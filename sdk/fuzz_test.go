package corehour

import (
	"context"
	"errors"
	"net"
	"net/http"
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
			return // no variable of the environment holds it
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

// What is taken for a header is what net/http sends as one.
func FuzzHeaders(f *testing.F) {
	f.Add("x-tenant", "7")
	f.Add("Authorization: Basic dXNlcjpzM2NyZXQ", "")
	f.Add("x\xff", "a\tb\x7f\xff")
	unreached := errors.New("nothing is dialled")
	client := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, unreached }}
	f.Fuzz(func(t *testing.T, name, value string) {
		req, err := http.NewRequest(http.MethodGet, "http://a:1", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{name: {value}}
		_, err = client.RoundTrip(req) // there is no answer
		sendable := errors.Is(err, unreached)
		c := defaultConfig()
		if taken := c.headers.setHeader(name, value) == ""; taken != sendable || taken != (len(c.headers) == 1) {
			t.Errorf("%q: %q is taken: %t; net/http says %v", name, value, taken, err)
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
		once := normalName(name)
		if again := normalName(once); again != once {
			t.Errorf("%q becomes %q, which becomes %q", name, once, again)
		}
		if got := messagelog.Printable(name); strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Errorf("%q is printed as %q", name, got)
		}
	})
}

func TestNormalNames(t *testing.T) {
	for name, want := range map[string]string{
		"shop/cart.(*Cart).Total":            "shop/cart.Cart.Total",
		"shop/cart.Cart.Total":               "shop/cart.Cart.Total",
		"shop/cart.Map[...]":                 "shop/cart.Map",
		"shop/cart.(*Set[go.shape.int]).Add": "shop/cart.Set.Add",
		"shop/cart.(*Cart).Total.func1":      "shop/cart.Cart.Total.func1",
	} {
		if got := normalName(name); got != want {
			t.Errorf("%s becomes %s, want %s", name, got, want)
		}
	}
	if got := runtimeName("gopkg.in/yaml%2ev3.Unmarshal"); got != "gopkg.in/yaml.v3.Unmarshal" {
		t.Errorf("the runtime's name becomes %s", got)
	}
}
