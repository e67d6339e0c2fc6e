package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/explain"
	"github.com/corehour/corehour/test/fixture"
)

// TestExplain_FromWarehouse: with --warehouse, explain prints the versions and the cost of a method, and the
// condition that decided whether an alert is raised.
func TestExplain_FromWarehouse(t *testing.T) {
	skipLong(t)
	clock(t, evening)
	root := twoReleases(t, 0.5)
	a := firstAlert(t, corehour("regress", "--warehouse", root, "--format", "json"))
	for _, c := range []struct{ name, method, decided string }{
		{"raised", fixture.Rate, "an alert: every condition holds"},
		{"explained", "Cart.Total", "because of what it calls"},
		{"healthy", "shop/LOG.write", "no alert, because of the"},
	} {
		r := corehour("explain", c.method, "--warehouse", root)
		if r.code != exitNothing || r.stderr != "" {
			t.Fatalf("%s: %+v", c.name, r)
		}
		golden(t, "explain_"+c.name+"_account.txt", r.stdout)
		r = corehour("explain", "--warehouse", root, "--format", "json", c.method)
		var answer explain.Answer
		if err := json.Unmarshal([]byte(r.stdout), &answer); err != nil || len(answer.Methods) != 1 {
			t.Fatalf("%s: %v: %+v", c.name, err, r)
		}
		m := answer.Methods[0]
		if m.Verdict == nil || !strings.Contains(m.Verdict.Decided, c.decided) || len(m.Versions) != 2 || m.Cost == nil || m.NoDrift == "" {
			t.Errorf("%s: %+v", c.name, m)
		}
	}

	// Acceptances and silences of the method.
	if r := corehour("accept", a.ID, "--warehouse", root, "--reason", "it rounds right now", "--by", "ann"); r.code != exitNothing {
		t.Fatalf("%+v", r)
	}
	silences := filepath.Join(t.TempDir(), "silences.json")
	if err := os.WriteFile(silences, []byte(`{"version":1,"silences":[{"service":"shop","until":"2100-01-01","reason":"quiet"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	r := corehour("explain", fixture.Rate, "--warehouse", root, "--silences", silences)
	if r.code != exitNothing || !strings.Contains(r.stdout, "accepted by ann on 2026-03-10 because it rounds right now") {
		t.Errorf("%+v", r)
	}
	if r = corehour("accept", a.ID, "--withdraw", "--warehouse", root); r.code != exitNothing {
		t.Fatalf("%+v", r)
	}
	if r = corehour("explain", fixture.Rate, "--warehouse", root, "--silences", silences); !strings.Contains(r.stdout, "until 2100-01-01T00:00:00Z because quiet") {
		t.Errorf("%+v", r)
	}

	// With --collector in addition, a method that the warehouse does not contain still gives exitCannotTell.
	r = corehour("explain", "shop/codec.Encode", "--collector", serve(t, knowing()), "--service", "shop", "--warehouse", root)
	if r.code != exitCannotTell || !strings.Contains(r.stderr, `no method "shop/codec.Encode"`) {
		t.Errorf("%+v", r)
	}
}

func TestExplain_SelectsMethod(t *testing.T) {
	clock(t, evening)
	p := fixture.NewProcess("1", "a", fixture.Start)
	for _, name := range []string{"a/x.Run", "a/y.Run", "b.(*Type).Stop"} {
		p.Call(name, "", fixture.Start, 1000, 1000, 1, 1)
	}
	root := fixture.Write(t, []methodspan.Item{p.Item()})
	for _, c := range []struct {
		method string
		code   int
		want   []string
	}{
		{"Run", exitFailed, []string{`"Run" may be any of these`, "a/x.Run of store/shop", "a/y.Run of store/shop"}},
		{"x.Run", exitNothing, []string{"a/x.Run of store/shop (production)", `only version "1" was seen`}},
		{"b.(*Type).Stop", exitNothing, []string{"b.Type.Stop"}},
		{"b.Type.Stob", exitCannotTell, []string{`did you mean "b.Type.Stop"?`}},
	} {
		r := corehour("explain", c.method, "--warehouse", root)
		for _, want := range c.want {
			if r.code != c.code || !strings.Contains(unwrapped(r.stdout+r.stderr), want) {
				t.Errorf("%s: no %q in %+v", c.method, want, r)
			}
		}
	}
	if r := corehour("explain", "Run", "--warehouse", root, "--service", "shoop"); r.code != exitCannotTell || !strings.Contains(r.stderr, `did you mean "shop"?`) {
		t.Errorf("%+v", r)
	}
}

// TestExplain_SingleEvaluation: where no second evaluation can follow, a single evaluation decides if its evidence is
// strong enough, and the output gives that reason.
func TestExplain_SingleEvaluation(t *testing.T) {
	shop := fixture.Shop{Seed: 1, Version: "1", Instances: []string{"a"}, Start: fixture.Start, Minutes: 5, Requests: 12}
	items, _ := shop.Run()
	shop.Seed, shop.Version, shop.Start, shop.OwnCPU = 2, "2", shop.Start.Add(time.Second), fixture.DefaultOwnCPU()
	shop.OwnCPU[fixture.Rate] *= 3
	more, _ := shop.Run()
	root := fixture.Write(t, items, more)
	for _, c := range []struct {
		after   time.Duration
		decided string
		says    []string
	}{
		{6 * time.Minute, "the next evaluation decides", []string{"to be confirmed", "consecutive evaluations"}},
		{7 * time.Minute, "an alert: every condition holds", []string{"REGRESSED", "20 times what two evaluations require, as no other can follow", "reported by the last evaluation alone"}},
	} {
		clock(t, fixture.Start.Add(c.after))
		r := corehour("explain", fixture.Rate, "--wide", "--warehouse", root, "--slot", "1m", "--warm-up", "1m")
		for _, want := range append(c.says, c.decided) {
			if r.code != exitNothing || !strings.Contains(r.stdout, want) {
				t.Errorf("after %s: no %q in %+v", c.after, want, r)
			}
		}
	}
	// A window whose end is fixed and past is evaluated only once, so that evaluation decides.
	clock(t, fixture.Start.Add(time.Hour))
	if r := corehour("regress", "--warehouse", root, "--to", "2026-03-10T09:05:30Z", "--slot", "1m", "--warm-up", "1m"); r.code != exitFound {
		t.Errorf("%+v", r)
	}
}

// TestRegress_SingleEvaluationUndecided: a single evaluation with too little evidence raises no alert, and the output gives
// the reason.
func TestRegress_SingleEvaluationUndecided(t *testing.T) {
	clock(t, fixture.Start.Add(20*time.Minute))
	shop := fixture.Shop{Seed: 17, Version: "1", Instances: []string{"a"}, Start: fixture.Start, Minutes: 5, Requests: 40}
	items, _ := shop.Run()
	shop.Seed, shop.Version, shop.Start, shop.OwnCPU = 1017, "2", shop.Start.Add(time.Second), fixture.DefaultOwnCPU()
	shop.OwnCPU[fixture.Rate] = shop.OwnCPU[fixture.Rate] * 210 / 100
	more, _ := shop.Run()
	root := fixture.Write(t, items, more)
	r := corehour("regress", "--warehouse", root, "--slot", "1m", "--warm-up", "1m")
	if r.code != exitCannotTell || !strings.Contains(r.stdout, "shop/tax.Rate: +106.3% (+51.4% to +174.9%) in the last evaluation alone") {
		t.Errorf("%+v", r)
	}
	r = corehour("explain", fixture.Rate, "--warehouse", root, "--slot", "1m", "--warm-up", "1m")
	if r.code != exitNothing || !strings.Contains(r.stdout, "not enough data: ") || strings.Contains(r.stdout, "every condition holds") {
		t.Errorf("%+v", r)
	}
}
