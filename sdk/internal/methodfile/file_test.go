package methodfile

import (
	"encoding/json"
	"strings"
	"testing"
)

func normal(name string) string {
	return strings.NewReplacer("(*", "", ")", "").Replace(name)
}

func parse(t *testing.T, text string) *File {
	t.Helper()
	f, err := Parse([]byte(text), normal)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

const shop = `{"version": 1, "defaults": {"rate": 0.02, "cpu_rate": 0.5},
 "tiers": {"entry": {"rate": 1, "cpu_rate": 0.05}, "inner": {"rate": 0.001, "tail": true}},
 "methods": [
  {"match": "shop/*", "rate": 0.3},
  {"match": "shop/codec.*", "mode": "aggregate"},
  {"match": "shop/*.Encode", "rate": 0.7},
  {"class": "shop/web.Handler", "method": "*", "tier": "entry", "scope": "eager"},
  {"class": "shop/web.(*Handler)", "method": "Health", "mode": "off"},
  {"class": "shop/cart.Cart", "method": "Total", "signature": "func() int", "tier": "inner", "rate": 0.004, "min": 1e-5, "max": 0.1},
  {"match": "shop/codec.Wire.Encode", "blocking": true}]}`

func TestTheMostSpecificEntryHolds(t *testing.T) {
	f := parse(t, shop)
	if len(f.Faults) != 0 {
		t.Fatalf("faults: %q", f.Faults)
	}
	for _, c := range []struct{ name, want string }{
		{"bank.Pay", `{"Mode":"","Rate":0.02,"CPURate":0.5,"Min":null,"Max":null,"Blocking":null,"Tail":null,"Tier":""}`},
		{"shop/a.B.C", `{"Mode":"","Rate":0.3,"CPURate":0.5,"Min":null,"Max":null,"Blocking":null,"Tail":null,"Tier":""}`},
		{"shop/codec.Wire.Decode", `{"Mode":"aggregate","Rate":0.02,"CPURate":0.5,"Min":null,"Max":null,"Blocking":null,"Tail":null,"Tier":""}`},
		{"shop/codec.Wire.Encode", `{"Mode":"","Rate":0.02,"CPURate":0.5,"Min":null,"Max":null,"Blocking":true,"Tail":null,"Tier":""}`},
		{"shop/a.Encode", `{"Mode":"","Rate":0.7,"CPURate":0.5,"Min":null,"Max":null,"Blocking":null,"Tail":null,"Tier":""}`},
		{"shop/web.Handler.Serve", `{"Mode":"","Rate":1,"CPURate":0.05,"Min":null,"Max":null,"Blocking":null,"Tail":null,"Tier":"entry"}`},
		{"shop/web.Handler.Health", `{"Mode":"off","Rate":0.02,"CPURate":0.5,"Min":null,"Max":null,"Blocking":null,"Tail":null,"Tier":""}`},
		{"shop/cart.Cart.Total", `{"Mode":"","Rate":0.004,"CPURate":0.5,"Min":0.00001,"Max":0.1,"Blocking":null,"Tail":true,"Tier":"inner"}`},
	} {
		settings, _ := f.Lookup(c.name)
		got, err := json.Marshal(settings)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestABadEntryCostsOnlyItself(t *testing.T) {
	f := parse(t, `{"version": 1, "stric": true, "defaults": {"rate": "high"}, "tiers": {"inner": {"rate": 0.1}, "bad": 7},
	 "methods": [
	  {"class": "a.B", "method": "C", "rate": 1.5, "mode": "all"},
	  {"class": "a.B", "method": "D", "raet": 0.5},
	  {"match": "a.*", "class": "a"},
	  {"method": "E"},
	  {"class": "a.B"},
	  {"class": "a.*", "method": "F"},
	  {"class": "a.B", "method": "G", "tier": "iner"},
	  "a.B.H",
	  {"class": "a.B", "method": "I", "min": 0.5, "max": 0.1},
	  {"class": "a.B", "method": "J", "blocking": 1, "scope": "all"},
	  {"class": "a.B", "method": "K", "rate": null},
	  {"class": "a.B", "method": "good", "rate": 0.25}]}`)
	want := []string{
		`method file: unknown key "stric"; did you mean "strict"`,
		`defaults.rate: must be within 0 and 1, found "high"`,
		`tiers.bad: must be an object, found 7`,
		`methods[0].mode: must be sample, aggregate, off, found "all"`,
		`methods[0].rate: must be within 0 and 1, found 1.5`,
		`methods[1]: unknown key "raet"; did you mean "rate"`,
		`methods[2]: must have either match, or class and method, found both`,
		`methods[3]: must have match, or class and method`,
		`methods[4].method: must name a method, or * for all of the class`,
		`methods[5].class: must be a class; for a pattern use match, found "a.*"`,
		`methods[6].tier: must be one of the tiers, found "iner"; did you mean "inner"`,
		`methods[7]: must be an object, found "a.B.H"`,
		`methods[8].min: must be at most max, found 0.5 and 0.1`,
		`methods[9].blocking: must be true or false, found 1`,
		`methods[9].scope: must be eager, lazy, total, found "all"`,
		`methods[10].rate: must be within 0 and 1, found null`,
	}
	if got := strings.Join(f.Faults, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("faults:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
	}
	if s, _ := f.Lookup("a.B.good"); s.Rate == nil || *s.Rate != 0.25 {
		t.Errorf("the good entry is lost: %+v", s)
	}
	for _, name := range []string{"a.B.C", "a.B.D", "a.B.G", "a.B.I", "a.B.J", "a.B.K"} {
		if s, entered := f.Lookup(name); entered {
			t.Errorf("%s: a bad entry holds: %+v", name, s)
		}
	}
}

func TestOfEqualsTheLaterHolds(t *testing.T) {
	f := parse(t, `{"version": 1, "methods": [
	  {"class": "a.B", "method": "C", "rate": 0.1}, {"match": "a.B.C", "rate": 0.2},
	  {"match": "x.*", "rate": 0.3}, {"match": "x.*", "rate": 0.4}]}`)
	if s, _ := f.Lookup("a.B.C"); *s.Rate != 0.2 {
		t.Errorf("rate %v, want the later, 0.2", *s.Rate)
	}
	if s, _ := f.Lookup("x.Y"); *s.Rate != 0.4 {
		t.Errorf("rate %v, want the later, 0.4", *s.Rate)
	}
	want := "methods[1] overrules methods[0]: both are for \"a.B.C\"\nmethods[3] overrules methods[2]: both are for \"x.*\""
	if got := strings.Join(f.Faults, "\n"); got != want {
		t.Errorf("faults:\n%s\nwant:\n%s", got, want)
	}
}

func TestUnusedEntriesAreNamed(t *testing.T) {
	f := parse(t, shop)
	f.Lookup("shop/cart.Cart.Total")
	f.Lookup("shop/web.Handler.Health")
	got := strings.Join(f.Unused(), ", ")
	want := "methods[0] (shop/*), methods[1] (shop/codec.*), methods[2] (shop/*.Encode), methods[3] (shop/web.Handler.*), methods[6] (shop/codec.Wire.Encode)"
	if got != want {
		t.Errorf("unused: %s, want %s", got, want)
	}
}

func TestAUselessFileIsAnError(t *testing.T) {
	for text, want := range map[string]string{
		``:                          "must be a JSON object",
		`[]`:                        "must be a JSON object",
		"{\n\"version\": 1,\n}":     "line 3",
		`{"version": 2}`:            "version must be 1, found 2",
		`{}`:                        "version must be 1, found nothing",
		`{"version": 1} {}`:         "found more after it",
		strings.Repeat(" ", 17<<20): "at most",
	} {
		_, err := Parse([]byte(text), normal)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: error %v, want %q in it", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(shop), "shop/cart.Cart.Total")
	f.Add([]byte(`{"version":1,"methods":[{"match":"*a*b*"}]}`), "xaxbx")
	f.Add([]byte(`{"version":1,"tiers":{"":null},"methods":[null,{"match":"(*"}]}`), ".")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		file, err := Parse(data, normal)
		if err != nil {
			return
		}
		s, _ := file.Lookup(name)
		for _, share := range []*float64{s.Rate, s.CPURate, s.Min, s.Max} {
			if share != nil && !(*share >= 0 && *share <= 1) {
				t.Errorf("a share of %v came through", *share)
			}
		}
		file.Unused()
	})
}
