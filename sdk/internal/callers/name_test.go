package callers

import "testing"

func FuzzNormal(f *testing.F) {
	f.Add("shop/cart.(*Cart).Total")
	f.Add("pkg.Map[go.shape.int,[]string].Get")
	f.Add("main.(*T[...]).M-fm")
	f.Add("\xff(*)[[]")
	f.Fuzz(func(t *testing.T, name string) {
		once := Normal(name)
		if again := Normal(once); again != once {
			t.Errorf("%q becomes %q, which becomes %q", name, once, again)
		}
	})
}

func TestNormal_Names(t *testing.T) {
	for name, want := range map[string]string{
		"shop/cart.(*Cart).Total":            "shop/cart.Cart.Total",
		"shop/cart.Cart.Total":               "shop/cart.Cart.Total",
		"shop/cart.Map[...]":                 "shop/cart.Map",
		"shop/cart.(*Set[go.shape.int]).Add": "shop/cart.Set.Add",
		"shop/cart.(*Cart).Total.func1":      "shop/cart.Cart.Total.func1",
	} {
		if got := Normal(name); got != want {
			t.Errorf("%s becomes %s, want %s", name, got, want)
		}
	}
	if got := runtimeName("gopkg.in/yaml%2ev3.Unmarshal"); got != "gopkg.in/yaml.v3.Unmarshal" {
		t.Errorf("the runtime's name becomes %s", got)
	}
}
