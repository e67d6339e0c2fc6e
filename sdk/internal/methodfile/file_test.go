package methodfile

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

func parse(t *testing.T, text string) *File {
	t.Helper()
	f, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

const shop = `{"version": 1, "$schema": "x", "defaults": {"tier": "mid", "cpu_rate": 0.5},
 "tiers": {"entry": {"rate": 1, "cpu_rate": 0.05}, "mid": {"rate": 0.02}, "inner": {"rate": 0.001, "tail": true, "stack": false}},
 "methods": [
  {"match": "shop/*", "rate": 0.3},
  {"match": "shop/codec.*", "mode": "aggregate"},
  {"class": "shop/web.Handler", "method": "*", "tier": "entry", "scope": "eager"},
  {"class": "shop/web.Handler", "method": "Health", "mode": "off"},
  {"class": "shop/cart.Cart", "method": "Total", "tier": "inner", "rate": 0.004, "min": 1e-5, "max": 0.1},
  {"class": "shop/cart.Cart", "method": "Total", "signature": "(int)", "rate": 0.5},
  {"class": "shop/codec.Wire", "method": "Encode", "blocking": true, "stack": true},
  {"class": "", "method": "outside", "rate": 0.6}]}`

func TestLookup_MostSpecificEntry(t *testing.T) {
	f := parse(t, shop)
	if len(f.Faults) != 0 {
		t.Fatalf("faults: %q", f.Faults)
	}
	for _, c := range []struct{ name, want string }{
		{"bank.Pay", `{"Mode":"","Rate":0.02,"CPURate":0.5,"Min":null,"Max":null,"Tail":null,"Stack":null,"Blocking":false,"Tier":"mid","Lazy":0}`},
		{"shop/a.B.C", `{"Mode":"","Rate":0.3,"CPURate":0.5,"Min":null,"Max":null,"Tail":null,"Stack":null,"Blocking":false,"Tier":"mid","Lazy":0}`},
		{"shop/codec.Wire.Decode", `{"Mode":"aggregate","Rate":0.02,"CPURate":0.5,"Min":null,"Max":null,"Tail":null,"Stack":null,"Blocking":false,"Tier":"mid","Lazy":0}`},
		{"shop/codec.Wire.Encode", `{"Mode":"","Rate":0.02,"CPURate":0.5,"Min":null,"Max":null,"Tail":null,"Stack":true,"Blocking":true,"Tier":"mid","Lazy":0}`},
		{"shop/web.Handler.Serve", `{"Mode":"","Rate":1,"CPURate":0.05,"Min":null,"Max":null,"Tail":null,"Stack":null,"Blocking":false,"Tier":"entry","Lazy":0}`},
		{"shop/web.Handler.Health", `{"Mode":"off","Rate":0.02,"CPURate":0.5,"Min":null,"Max":null,"Tail":null,"Stack":null,"Blocking":false,"Tier":"mid","Lazy":0}`},
		{"shop/cart.Cart.Total", `{"Mode":"","Rate":0.004,"CPURate":0.5,"Min":0.00001,"Max":0.1,"Tail":true,"Stack":false,"Blocking":false,"Tier":"inner","Lazy":0}`},
		{"outside", `{"Mode":"","Rate":0.6,"CPURate":0.5,"Min":null,"Max":null,"Tail":null,"Stack":null,"Blocking":false,"Tier":"mid","Lazy":0}`},
	} {
		settings, _ := f.Lookup(c.name, "")
		got, err := json.Marshal(settings)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestParse_FaultyEntriesLeftOut(t *testing.T) {
	f := parse(t, `{"version": 1, "method": [], "defaults": {"rate": "high", "cpu_rate": 0.5},
	 "tiers": {"inner": {"rate": 0.1, "max": 0.2}, "half": {"rate": 2, "cpu_rate": 0.75}, "bad": 7, "": {}},
	 "methods": [
	  {"class": "a.B", "method": "C", "rate": 1.5, "mode": "sampel"},
	  {"class": "a.B", "method": "D", "raet": 0.5},
	  {"match": "a.*", "class": "a"},
	  {"method": "E"},
	  {"class": "a.B"},
	  {"match": "a.*.F"},
	  {"class": "a.B", "method": "G", "tier": "iner"},
	  "a.B.H",
	  {"class": "a.B", "method": "I", "min": 0.5, "max": 0.1},
	  {"class": "a.B", "method": "J", "blocking": 1, "scope": "all"},
	  {"class": "a.B", "method": "K", "rate": 0},
	  {"class": "a.(*B)", "method": "L"},
	  {"class": "a.B", "method": "*", "signature": "()"},
	  {"class": "a.B", "method": "M", "tier": "inner", "min": 0.3},
	  {"class": "a.B", "method": "half", "tier": "half"},
	  {"class": "a.B", "method": "good", "rate": 0.25}]}`)
	if s, _ := f.Lookup("a.B.good", ""); s.Rate == nil || *s.Rate != 0.25 || *s.CPURate != 0.5 {
		t.Errorf("the good entry is missing: %+v", s)
	}
	if s, _ := f.Lookup("a.B.half", ""); s.Rate != nil || *s.CPURate != 0.75 {
		t.Errorf("the good keys of a tier are missing: %+v", s)
	}
	for _, method := range strings.Split("CDEFGHIJKLM", "") {
		if s, entered := f.Lookup("a.B."+method, ""); entered {
			t.Errorf("%s: a faulty entry is used: %+v", method, s)
		}
	}
}

func TestLookup_LaterOfEqualEntries(t *testing.T) {
	f := parse(t, `{"version": 1, "methods": [
	  {"class": "a.B", "method": "C", "rate": 0.1}, {"class": "a.B", "method": "C", "rate": 0.2},
	  {"match": "x.*", "rate": 0.3}, {"match": "x.*", "rate": 0.4}]}`)
	if s, _ := f.Lookup("a.B.C", ""); *s.Rate != 0.2 {
		t.Errorf("rate %v, want the later, 0.2", *s.Rate)
	}
	if s, _ := f.Lookup("x.Y", ""); *s.Rate != 0.4 {
		t.Errorf("rate %v, want the later, 0.4", *s.Rate)
	}
	want := `methods[0]: must be the only entry for its methods, found methods[1] for "a.B.C" too: the later, methods[1], is used: remove one
methods[2]: must be the only entry for its methods, found methods[3] for "x.*" too: the later, methods[3], is used: remove one`
	if got := strings.Join(f.Faults, "\n"); got != want {
		t.Errorf("faults:\n%s\nwant:\n%s", got, want)
	}
}

// An entry with a signature takes precedence over one without, for a method with that signature.
func TestLookup_Signatures(t *testing.T) {
	f := parse(t, `{"version": 1, "methods": [
	  {"class": "a.B", "method": "C", "rate": 0.1}, {"class": "a.B", "method": "*", "rate": 0.2},
	  {"class": "a.B", "method": "C", "signature": "(int) error", "rate": 0.3},
	  {"class": "a.B", "method": "C", "signature": "(string)", "rate": 0.4},
	  {"class": "a.B", "method": "C", "signature": "(int) error", "rate": 0.5},
	  {"class": "a.B", "method": "D", "signature": "(int)", "rate": 0.6},
	  {"class": "com.shop.Cart", "method": "total", "signature": "(int)", "rate": 0.7}]}`)
	for _, c := range []struct {
		name, signature string
		rate            float64
	}{
		{"a.B.C", "(int) error", 0.5},
		{"a.B.C", "(int)", 0.1},
		{"a.B.C", "", 0.1},
		{"a.B.D", "(int)", 0.6},
		{"a.B.D", "(string)", 0.2},
	} {
		if s, entered := f.Lookup(c.name, c.signature); !entered || *s.Rate != c.rate {
			t.Errorf("%s%s: rate %v, want %v", c.name, c.signature, *s.Rate, c.rate)
		}
	}
	if want := []string{`methods[2]: must be the only entry for its methods, found methods[4] for "a.B.C(int) error" too: the later, methods[4], is used: remove one`}; !slices.Equal(f.Faults, want) {
		t.Errorf("faults %q, want %q", f.Faults, want)
	}
	if want := []string{"methods[3] (a.B.C(string))"}; !slices.Equal(f.Unused(), want) {
		t.Errorf("unused %q, want %q", f.Unused(), want)
	}
}

func TestFile_Unused(t *testing.T) {
	f := parse(t, shop)
	f.Lookup("shop/cart.Cart.Total", "")
	f.Lookup("shop/web.Handler.Health", "")
	got := strings.Join(f.Unused(), ", ")
	want := "methods[0] (shop/*), methods[1] (shop/codec.*), methods[2] (shop/web.Handler.*), methods[5] (shop/cart.Cart.Total(int)), methods[6] (shop/codec.Wire.Encode), methods[7] (outside)"
	if got != want {
		t.Errorf("unused: %s, want %s", got, want)
	}
}

func TestParse_Example(t *testing.T) {
	data, err := os.ReadFile("../../../config/methods.json")
	if err != nil {
		t.Fatal(err)
	}
	f := parse(t, string(data))
	if len(f.Faults) > 0 {
		t.Errorf("faults: %q", f.Faults)
	}
	if s, _ := f.Lookup("shop/web.Handler.Serve", ""); *s.Rate != 1 || s.Tier != "entry" {
		t.Errorf("settings %+v", s)
	}
	if s, _ := f.Lookup("shop/store.DB.Query", ""); *s.Rate != 0.05 || !s.Blocking {
		t.Errorf("settings %+v", s)
	}
}

func TestParse_UnusableFiles(t *testing.T) {
	for text, want := range map[string]string{
		``:                          "must hold a JSON object",
		`[]`:                        "must hold a JSON object",
		"{\n\"version\": 1,\n}":     "3:1: not JSON",
		`{"version": 2}`:            `"version" must be 1, found 2`,
		`{}`:                        `"version" must be 1, found none`,
		`{"version": 1} {}`:         "after top-level value",
		strings.Repeat(" ", 17<<20): "at most",
	} {
		_, err := Parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: error %v, want %q in it", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(shop), "shop/cart.Cart.Total", "(int)")
	f.Add([]byte(`{"version":1,"methods":[{"match":"*"}]}`), "x", "")
	f.Add([]byte(`{"version":1,"tiers":{"":null,"a":null},"defaults":null,"methods":[null,{"match":"(*"}]}`), ".", "")
	f.Fuzz(func(t *testing.T, data []byte, name, signature string) {
		file, err := Parse(data)
		if err != nil {
			return
		}
		s, entered := file.Lookup(name, signature)
		for _, share := range []*float64{s.Rate, s.CPURate, s.Min, s.Max} {
			if share != nil && !(*share >= 0 && *share <= 1) {
				t.Errorf("share %v", *share)
			}
		}
		if entered && s.unordered() != "" {
			t.Errorf("unordered bounds in %+v", s)
		}
		file.Unused()
	})
}
