package methodspan

import (
	"cmp"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

func TestParseFunction(t *testing.T) {
	for _, tc := range []struct{ name, class, method, signature string }{
		{"shop/cart.(*Cart).Total", "shop/cart.Cart", "Total", ""},
		{"shop/cart.Cart.Total", "shop/cart.Cart", "Total", ""},
		{"shop/cart.Total", "shop/cart", "Total", ""},
		{"github.com/acme/shop/cart.(*Cart[...]).Total", "github.com/acme/shop/cart.Cart", "Total", ""},
		{"shop/cart.Sum[...]", "shop/cart", "Sum", ""},
		{"gopkg.in/yaml%2ev3.Unmarshal", "gopkg.in/yaml.v3", "Unmarshal", ""},
		{"shop/cart.Run.func1.2", "shop/cart", "Run.func1.2", ""},
		{"shop/cart.(*Cart).Run.func1", "shop/cart.Cart", "Run.func1", ""},
		{"main.(*Server).ServeHTTP", "main.Server", "ServeHTTP", ""},
		{"main.run", "main", "run", ""},
		{"com.shop.Cart.total(int, java.lang.String)", "com.shop.Cart", "total", "(int, java.lang.String)"},
		{"com.shop.Cart.total", "com.shop.Cart", "total", ""},
		{"com/shop/Cart.total", "com.shop.Cart", "total", ""},
		{"com.shop.Cart$Inner.lambda$total$0", "com.shop.Cart$Inner", "lambda$total$0", ""},
		{"Cart.total", "Cart", "total", ""},
		{"new Cart", "Cart", "new", ""},
		{"async Cart.total [as sum]", "Cart", "total", ""},
		{"Object.<anonymous>", "Object", "<anonymous>", ""},
		{"shop.cart.Cart.total", "shop.cart.Cart", "total", ""},
		{"shop.f.<locals>.<lambda>", "shop.f", "<locals>.<lambda>", ""},
		{"shop::cart::Cart::total", "shop::cart::Cart", "total", ""},
		{"App\\Cart::total", "App\\Cart", "total", ""},
		{"Cart#total", "Cart", "total", ""},
		{"total", "", "total", ""},
		{"", "", "", ""},
		{".", "", ".", ""},
		{"a.", "", "a.", ""},
		{"::", "", "::", ""},
		{"()", "", "()", ""},
		{"shop/", "", "shop/", ""},
		{"(overflow)", "", "(overflow)", ""},
	} {
		got := ParseFunction(tc.name)
		if want := (Function{tc.class, tc.method, tc.signature}); got != want {
			t.Errorf("ParseFunction(%q) = %+v, want %+v", tc.name, got, want)
		}
	}
}

// The normal form of a caller must equal class and method of that method's rows.
func TestFunction_FullReparses(t *testing.T) {
	for _, name := range []string{"shop/cart.(*Cart).Total", "shop/cart.Total", "com.shop.Cart.total", "shop.cart.Cart.total", "total", "main.(*T).M"} {
		full := ParseFunction(name).Full()
		if again := ParseFunction(full).Full(); again != full {
			t.Errorf("%q: Full %q becomes %q when parsed again", name, full, again)
		}
	}
}

func FuzzParseFunction(f *testing.F) {
	for _, seed := range []string{"shop/cart.(*Cart).Total", "a/b.c[d].(e)", "x.<locals>.y", "new ", "((((", "/.(", "a::b#c.d"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := ParseFunction(name)
		if name != "" && got.Class == "" && got.Method == "" && !strings.ContainsAny(name, "[](). ") {
			t.Errorf("ParseFunction(%q) lost the name", name)
		}
		if n := len(got.Class) + len(got.Method) + len(got.Signature); n > len(name)+len("new") {
			t.Errorf("ParseFunction(%q) grew to %d bytes", name, n)
		}
	})
}

func TestParsedSpan_Identity(t *testing.T) {
	for _, tc := range []struct {
		name  string
		attrs map[string]any
		span  string
		want  Function
		ok    bool
	}{
		{"qualified", map[string]any{AttrFunction: "a/b.(*C).D"}, "x", Function{"a/b.C", "D", ""}, true},
		{"old pair", map[string]any{AttrOldNamespace: "com.C", AttrOldFunction: "d"}, "x", Function{"com.C", "d", ""}, true},
		{"old function alone", map[string]any{AttrOldFunction: "d"}, "x", Function{"", "d", ""}, true},
		{"span name", nil, "GET /cart", Function{"scope", "GET /cart", ""}, true},
		{"signature", map[string]any{AttrFunction: "a.B.c", AttrSignature: "(int)"}, "x", Function{"a.B", "c", "(int)"}, true},
		{"nothing", nil, "", Function{}, false},
	} {
		span := ptrace.NewSpan()
		span.SetName(tc.span)
		if err := span.Attributes().FromRaw(tc.attrs); err != nil {
			t.Fatal(err)
		}
		var parsed ParsedSpan
		parsed.Parse(span.Attributes(), AllFields)
		id, ok := parsed.Identity(span, "scope")
		got := id.Function()
		got.Signature = cmp.Or(parsed.Text(FieldSignature), got.Signature)
		if got != tc.want || ok != tc.ok {
			t.Errorf("%s: %+v %v, want %+v %v", tc.name, got, ok, tc.want, tc.ok)
		}
	}
}
