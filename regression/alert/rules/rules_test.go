package rules

import (
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/regression/alert"
)

func TestOwners(t *testing.T) {
	o, warnings, err := ParseOwners([]byte(`{"version": 1, "owners": [
		{"namespace": "store", "owner": "store-team"},
		{"class": "shop/tax", "owner": "tax-team"},
		{"class": "shop/tax/vat", "owner": "vat-team"},
		{"service": "shop", "owner": "shop-team"},
		{"service": "shop", "class": "shop/tax", "owner": "shop-tax-team"},
		{"environment": "test", "owner": "nobody"},
		{"owner": "everything"}, {"service": "shop", "owner": "again"}, {"service": "x"}
	], "routes": [
		{"owner": "tax-team", "sink": "slack", "url": "env:TAX_SLACK"},
		{"owner": "tax-team", "sink": "webhook", "url": "file:/run/secrets/tax", "headers": "env:TAX_HEADERS"},
		{"owner": "tax-team", "sink": "slack", "url": "env:TAX_SLACK"},
		{"owner": "a", "sink": "slak", "url": "env:A"},
		{"owner": "a", "sink": "slack", "url": "https://hooks.example/very-secret"}
	]}`))
	if err != nil || len(o.Routes) != 2 || len(warnings) != 6 {
		t.Fatalf("%+v %v %v", o, warnings, err)
	}
	for _, w := range warnings {
		if strings.Contains(w.Error(), "very-secret") {
			t.Errorf("says a secret: %s", w)
		}
	}
	for _, tc := range []struct{ namespace, service, environment, class, want string }{
		{"store", "shop", "production", "shop/tax.Table", "shop-tax-team"},
		{"store", "cart", "production", "shop/tax", "tax-team"},
		{"store", "cart", "production", "shop/taxi", "store-team"},
		{"store", "shop", "production", "shop/tax/vat.Rate", "vat-team"},
		{"store", "shop", "production", "shop/cart.Cart", "shop-team"},
		{"", "other", "test", "a", "nobody"},
		{"", "other", "production", "a", ""},
		{"store", "", "", "", "store-team"},
	} {
		if got := o.Of(tc.namespace, tc.service, tc.environment, tc.class); got != tc.want {
			t.Errorf("%+v: %q", tc, got)
		}
	}
	a := alert.Alert{ServiceNamespace: "store", Owner: "said"}
	if o.Own(&a); a.Owner != "said" {
		t.Error("the alert's own word does not count")
	}
	var none *Owners
	if none.Of("a", "b", "c", "d") != "" {
		t.Error("the nil file knows somebody")
	}
}

func TestSilences(t *testing.T) {
	s, warnings, err := ParseSilences([]byte(`{"version": 1, "silences": [
		{"service": "shop", "class": "shop/tax", "until": "2026-12-01", "reason": "new law"},
		{"service": "shop", "class": "shop/tax", "until": "2026-12-02T12:00:00Z", "reason": "longer"},
		{"method": "shop/cart.Cart.T", "until": "2026-12-01", "reason": "prefix"},
		{"kind": "budget", "until": "2026-12-01", "reason": "budgets"},
		{"owner": "tax-team", "until": "2026-12-01", "reason": "away"},
		{"until": "2026-12-01", "reason": "everything"}, {"service": "a", "reason": "for ever"}, {"service": "a", "until": "2026-12-01"}
	]}`))
	if err != nil || len(warnings) != 3 {
		t.Fatal(warnings, err)
	}
	at := time.Date(2026, 11, 30, 23, 59, 59, 0, time.UTC)
	for _, tc := range []struct {
		alert alert.Alert
		at    time.Time
		want  string
	}{
		{alert.Alert{Service: "shop", Class: "shop/tax", Method: "Rate"}, at, "longer"},
		{alert.Alert{Service: "shop", Class: "shop/tax", Method: "Rate"}, at.Add(37 * time.Hour), ""},
		{alert.Alert{Service: "shop", Class: "shop/cart.Cart", Method: "Total"}, at, "prefix"},
		{alert.Alert{Service: "shop", Class: "shop/cart.Cart", Method: "Total"}, at.Add(time.Second), ""},
		{alert.Alert{Service: "shop", Class: "shop/cart.Cart", Method: "Add"}, at, ""},
		{alert.Alert{Kind: alert.Budget}, at, "budgets"},
		{alert.Alert{Owner: "tax-team"}, at, "away"},
	} {
		got := ""
		if found := s.Of(&tc.alert, tc.at); found != nil {
			got = found.Reason
		}
		if got != tc.want {
			t.Errorf("%+v: %q", tc, got)
		}
	}
}
