package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/corehour/corehour/regression/explain"
	"github.com/corehour/corehour/test/fixture"
)

// TestExplain: the account of a method comes from the warehouse, its sampling from a collector.
func TestExplain(t *testing.T) {
	fixture.SkipRaced(t)
	clock(t, evening)
	root := twoReleases(t, 0.5)
	a := firstAlert(t, corehour("regress", "--warehouse", root, "--format", "json"))
	silences := write(t, "silences.json", `{"version":1,"silences":[{"service":"shop","until":"2100-01-01","reason":"quiet"}]}`)
	r := corehour("explain", fixture.Rate, "--warehouse", root, "--silences", silences, "--json")
	var answer explain.Answer
	if err := json.Unmarshal([]byte(r.stdout), &answer); err != nil || r.code != exitNothing || r.stderr != "" || len(answer.Methods) != 1 {
		t.Fatalf("%v: %+v", err, r)
	}
	if m := answer.Methods[0]; m.Verdict == nil || m.Verdict.AlertIDs[0] != a.ID || len(m.Silenced) != 1 || m.Cost == nil {
		t.Errorf("%+v", m)
	}
	if r := corehour("accept", a.ID, "--warehouse", root, "--reason", "it rounds right now", "--by", "ann"); r.code != exitNothing {
		t.Fatalf("%+v", r)
	}
	var query string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query = r.URL.RawQuery
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"explanations":[{"service":"shop","method":"shop/tax.Rate","reason":"kept whole"}]}`)
	}))
	t.Cleanup(server.Close)
	collector := []string{"--collector", server.URL, "--service", "shop"}
	for _, c := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"Rate", "--warehouse", root}, exitNothing, []string{"shop/tax.Rate of store/shop", "accepted by ann on 2026-03-10 because it rounds right now"}},
		{[]string{"Rate", "--warehouse", root, "--warm-up", "5m", "--slot", "1m"}, exitNothing, []string{"time buckets of 1m0s"}},
		{[]string{"shop/tax.Rite", "--warehouse", root}, exitCannotTell, []string{`did you mean "shop/tax.Rate"?`}},
		{append([]string{"shop/tax.Rate"}, collector...), exitNothing, []string{"kept whole"}},
		{append([]string{"shop/tax.Rate", "--warehouse", root}, collector...), exitNothing, []string{"kept whole", "conditions of an alert"}},
		{append([]string{"shop/codec.Encode", "--warehouse", root}, collector...), exitCannotTell, []string{`no method "shop/codec.Encode"`}},
		{append([]string{"m", "--version", "1.4.2", "--namespace", "retail", "--environment", "prod"}, collector...), exitNothing, []string{"kept whole"}},
	} {
		r := corehour(append([]string{"explain"}, c.args...)...)
		for _, want := range c.want {
			if r.code != c.code || !strings.Contains(unwrapped(r.stdout+r.stderr), want) {
				t.Errorf("%q: no %q in %+v", c.args, want, r)
			}
		}
	}
	if want := "environment=prod&method=m&namespace=retail&service=shop&version=1.4.2"; query != want {
		t.Errorf("the collector was asked %s, want %s", query, want)
	}
}

func TestExplain_Flags(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		want []string
	}{
		{"unreachable", []string{"m", "--service", "s", "--collector", "http://127.0.0.1:1"}, []string{"cannot be reached"}},
		{"nothing to explain", []string{"--service", "s"}, []string{"want the method to explain"}},
		{"two methods", []string{"a", "--service", "s", "b"}, []string{`found the further argument "b"`}},
		{"everything wrong", []string{"--format", "csv", "--collector", "localhost:4319"}, []string{"want the method", "--service", "--format", "--collector: want a URL"}},
		{"a secret", []string{"m", "--service", "s", "--collector", "http://user:hidden@%zz"}, []string{"--collector: want a URL"}},
		{"unknown flag", []string{"m", "--servcie", "s"}, []string{`did you mean "--service"?`}},
	} {
		r := corehour(append([]string{"explain"}, c.args...)...)
		if r.code != exitFailed || r.stdout != "" || strings.Contains(r.stderr, "hidden") {
			t.Errorf("%s: %+v", c.name, r)
		}
		for _, want := range c.want {
			if !strings.Contains(r.stderr, want) {
				t.Errorf("%s: no %q in %s", c.name, want, r.stderr)
			}
		}
	}
	r := corehour("explain", "--help")
	if r.code != exitNothing || !strings.Contains(r.stdout, "corehour explain [flags] METHOD") || !strings.Contains(r.stdout, "http://localhost:4319") {
		t.Errorf("%+v", r)
	}
}
