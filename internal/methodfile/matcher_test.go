package methodfile

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/rulefile"
)

func TestLookup_MostSpecificEntry(t *testing.T) {
	f, warnings := parse(t, `{"version": 1, "methods": [
    {"match": "*"},
    {"match": "shop/*"},
    {"match": "shop/cart.Cart.T*"},
    {"class": "shop/cart.Cart", "method": "*"},
    {"class": "shop/cart.Cart", "method": "Total"},
    {"class": "com.shop.Cart", "method": "total"},
    {"class": "com.shop.Cart", "method": "total", "signature": "(int)"},
    {"class": "", "method": "main"}
  ]}`)
	assert.Empty(t, warnings)
	assert.Equal(t, 8, f.Len())
	for _, c := range []struct{ function, reason string }{
		{"shop/cart.(*Cart).Total", "methods[4] shop/cart.Cart.Total"},
		{"shop/cart.Cart.Totals", "methods[3] shop/cart.Cart.*"},
		{"shop/cart.(*Carts).Total", "methods[1] shop/*"},
		{"shop/cart.Cart", "methods[1] shop/*"},
		{"com.shop.Cart.total(int)", "methods[6] com.shop.Cart.total(int)"},
		{"com.shop.Cart.total(long)", "methods[5] com.shop.Cart.total"},
		{"com.shop.Cart.total", "methods[5] com.shop.Cart.total"},
		{"main", "methods[7] main"},
		{"other", "methods[0] *"},
	} {
		rule, ok := f.Lookup(methodspan.ParseFunction(c.function))
		require.True(t, ok, c.function)
		assert.Equal(t, c.reason, rule.Reason, c.function)
	}
}

func TestParse_LaterOfEqualEntries(t *testing.T) {
	f, warnings := parse(t, `{"version": 1, "methods": [
    {"match": "a*", "rate": 0.1}, {"class": "c", "method": "m", "rate": 0.1}, {"class": "c", "method": "*", "rate": 0.1},
    {"match": "a*", "rate": 0.2}, {"class": "c", "method": "m", "rate": 0.2}, {"class": "c", "method": "*", "rate": 0.2}]}`)
	assert.Equal(t, []string{
		`methods[0]: must be the only entry for its methods, found methods[3] for "a*" too: the later, methods[3], is used: remove one`,
		`methods[1]: must be the only entry for its methods, found methods[4] for "c.m" too: the later, methods[4], is used: remove one`,
		`methods[2]: must be the only entry for its methods, found methods[5] for "c.*" too: the later, methods[5], is used: remove one`,
	}, warnings)
	assert.Equal(t, 3, f.Len())
	for _, name := range []string{"abc", "c.m", "c.n"} {
		rule, ok := f.Lookup(methodspan.ParseFunction(name))
		require.True(t, ok)
		assert.Equal(t, 0.2, rule.Rate, name)
	}
}

// Lookup finds the same rule as a search of all rules.
func TestLookup_EqualsSearchOfAllEntries(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		b := make([]byte, random.IntN(4))
		for i := range b {
			b[i] = "ab."[random.IntN(3)]
		}
		return string(b)
	}
	for range 300 {
		var rules []*Rule
		for i := range random.IntN(12) {
			rule := &Rule{Index: i}
			switch random.IntN(4) {
			case 0:
				rule.prefix, rule.isPrefix = word(), true
			case 1:
				rule.class, rule.method = word(), "*"
			case 2:
				rule.class, rule.method = word(), "m"
			case 3:
				rule.class, rule.method, rule.signature = word(), "m", "()"
			}
			rules = append(rules, rule)
		}
		m := newMatcher(rules, &rulefile.Report{})
		for range 30 {
			f := methodspan.Function{Class: word(), Method: "m"}
			if random.IntN(2) == 0 {
				f.Signature = "()"
			}
			if random.IntN(3) == 0 {
				f.Method = "n"
			}
			want := slowLookup(rules, f)
			got, ok := m.Lookup(f)
			require.Equal(t, want != nil, ok, "%v", f)
			if ok {
				require.Equal(t, want.Index, got.Index, "%v", f)
			}
		}
	}
}

func slowLookup(rules []*Rule, f methodspan.Function) *Rule {
	var best *Rule
	bestScore := -1
	for _, r := range rules {
		score := -1
		switch {
		case r.isPrefix:
			if strings.HasPrefix(f.Full(), r.prefix) {
				score = len(r.prefix)
			}
		case r.class != f.Class:
		case r.method == "*":
			score = 1000
		case r.method != f.Method:
		case r.signature == "":
			score = 2000
		case r.signature == f.Signature:
			score = 3000
		}
		if score >= bestScore && score >= 0 {
			best, bestScore = r, score
		}
	}
	return best
}

func BenchmarkLookup(b *testing.B) {
	var rules []*Rule
	for i := range 10_000 {
		rules = append(rules, &Rule{Index: i, class: fmt.Sprintf("shop/pkg%d.Type", i), method: "Method"})
	}
	for i := range 100 {
		rules = append(rules, &Rule{Index: i, prefix: fmt.Sprintf("lib/%d", i), isPrefix: true})
	}
	m := newMatcher(rules, &rulefile.Report{})
	for _, c := range []struct {
		name string
		f    methodspan.Function
	}{
		{"exact", methodspan.Function{Class: "shop/pkg77.Type", Method: "Method"}},
		{"prefix", methodspan.Function{Class: "lib/5/codec.Encoder", Method: "Encode"}},
		{"none", methodspan.Function{Class: "other/codec.Encoder", Method: "Encode"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m.Lookup(c.f)
			}
		})
	}
}
