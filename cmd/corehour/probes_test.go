package main

import (
	"strings"
	"testing"
)

// TestProbes_Graph: --graph finds the call graph anywhere in a file.
func TestProbes_Graph(t *testing.T) {
	table := "corehour:calls:1\nshop/cart\n.(*Cart).Total 2 1\n.Sum\nshop/web\n.Serve 0 2\n\x00"
	binary := write(t, "binary", "\x7fELF\x00"+table+"\x00")
	r := corehour("probes", "--graph", binary)
	want := `shop/cart.(*Cart).Total -> shop/cart.Sum
shop/cart.(*Cart).Total -> shop/web.Serve
shop/web.Serve -> shop/cart.(*Cart).Total
shop/web.Serve -> shop/web.Serve
`
	if r.code != exitNothing || r.stdout != want || r.stderr != "" {
		t.Errorf("found %+v", r)
	}
	r = corehour("probes", "--graph", write(t, "plain", "\x7fELF"))
	if r.code != exitFound || r.stdout != "" || !strings.Contains(r.stderr, "plain has no call graph: build it with corehour go and a method file with an entry whose scope is eager or lazy\n") {
		t.Errorf("found %+v", r)
	}
}

// TestProbes_Binary: the list of probes is read from a binary of any build, including builds whose tables have
// no signatures.
func TestProbes_Binary(t *testing.T) {
	tables := "corehour:probes:1\nshop/cart\nshop/cart.(*Cart).Total\t\t(context.Context) (Money, error)\n" +
		"shop/cart.Sum\tw\t(...int) int\n\x00 corehour:probes:1\nshop/old\nshop/old.A\nshop/old.B\tw\n\x00"
	binary := write(t, "binary", "\x7fELF\x00"+tables)
	for _, c := range []struct{ flag, want string }{
		{"--signatures=false", "shop/cart.(*Cart).Total\nshop/cart.Sum  wall time only\nshop/old.A\nshop/old.B  wall time only\n"},
		{"--signatures", `shop/cart.(*Cart).Total(context.Context) (Money, error)
shop/cart.Sum(...int) int  wall time only
shop/old.A
shop/old.B  wall time only
`},
	} {
		r := corehour("probes", c.flag, binary)
		if r.code != exitNothing || r.stdout != c.want || r.stderr != "" {
			t.Errorf("%s: found %+v", c.flag, r)
		}
	}
}
