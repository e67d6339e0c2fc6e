package sink

import (
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/corehour/corehour/regression/alert"
)

func TestMain(m *testing.M) {
	flag.Parse()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		client.CloseIdleConnections()
		os.Exit(code)
	}))
}

var noon = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

func usd(x float64) *float64 { return &x }

// regressed returns alerts for two methods that one deployment made more expensive.
func regressed() []alert.Alert {
	a := alert.Alert{
		Schema: alert.Schema, ID: "0a1b2c3d4e5f", Kind: alert.Regression,
		ServiceNamespace: "store", Service: "shop", Environment: "production", Class: "shop/tax", Method: "Rate",
		BaseVersion: "1.9.0", HeadVersion: "1.10.0", BaseRevision: "4f2c11d", HeadRevision: "9be07aa", Metric: "cpu", Basis: "self",
		Base: 290e3, Head: 602e3, ChangePercent: 107.7, Interval: [2]float64{98.1, 117.8}, Records: 816, USDPerDay: usd(12.3), GenericPrice: true,
		FirstSeen: noon.Add(-time.Hour), Severity: alert.Warning, Owner: "tax-team", Reason: "its own cpu time grew", Links: []string{},
	}
	b := a
	b.GenericPrice = false
	b.ID, b.Class, b.Method, b.Owner, b.USDPerDay, b.Severity = "f5e4d3c2b1a0", "shop/cart.Cart", "Total", "", usd(240), alert.Critical
	return []alert.Alert{a, b}
}

// others returns further alerts of the same deployment: a method that is called more often, and the whole service.
func others() []alert.Alert {
	oftener, whole := regressed()[0], regressed()[0]
	oftener.ID, oftener.Kind, oftener.Base, oftener.Head, oftener.ChangePercent = "123412341234", alert.MoreCalls, 1, 6, 500
	oftener.Caller, oftener.Interval, oftener.USDPerDay = "shop/cart.Cart.Total", [2]float64{480, 520}, nil
	whole.ID, whole.Kind, whole.Class, whole.Method, whole.Base, whole.Head = "432143214321", alert.WholeService, "", "", 0, 0
	whole.USDPerDay = nil
	return []alert.Alert{oftener, whole}
}

// drifting returns drifts of two methods of a service, with different versions around them.
func drifting() []alert.Alert {
	a, b := regressed()[0], regressed()[1]
	for _, d := range []*alert.Alert{&a, &b} {
		d.Kind, d.FirstSeen = alert.Drift, noon.AddDate(0, -1, 0)
	}
	b.BaseVersion, b.BaseRevision = b.HeadVersion, b.HeadRevision
	return []alert.Alert{a, b}
}

func overBudget() alert.Alert {
	return alert.Alert{
		Schema: alert.Schema, ID: "00ff00ff00ff", Kind: alert.Budget, Budget: "tax", Class: "shop/tax", Owner: "tax-team", Metric: "usd_per_day",
		Base: 10, Head: 12.5, ChangePercent: 25, Interval: [2]float64{20, 30}, USDPerDay: usd(2.5),
		FirstSeen: noon.Add(-time.Hour), Severity: alert.Info, Reason: "budget tax: $12.50 a day, planned are $10.00", Links: []string{},
	}
}

// hostile returns an alert in which every name is an injection attempt.
func hostile() alert.Alert {
	const evil = "`<!channel> *x* <https://e.example|y> & @here\x1b[2J\n\u202e\"}],\"a\":\xff"
	a := regressed()[0]
	for _, name := range []*string{
		&a.ServiceNamespace, &a.Service, &a.Environment, &a.Class, &a.Method, &a.Signature, &a.Caller, &a.BaseVersion, &a.HeadVersion,
		&a.BaseRevision, &a.HeadRevision, &a.Owner, &a.Reason, &a.Resolution,
	} {
		*name += evil
	}
	return a
}

// received is a request that the test server got.
type received struct {
	header http.Header
	path   string
	body   string
}

// server accepts all requests and passes them to got.
func server(t *testing.T) (address string, got <-chan received) {
	t.Helper()
	c := make(chan received, 10)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		c <- received{r.Header, r.URL.Path, string(body)}
	}))
	t.Cleanup(s.Close)
	return s.URL, c
}

func endpoint(t *testing.T, address, headers string) *Endpoint {
	t.Helper()
	secret := Secret{}
	if headers != "" {
		secret = newSecret("env:HEADERS", headers)
	}
	e, err := NewEndpoint(newSecret("env:ADDRESS", address), "", secret)
	if err != nil {
		t.Fatal(err)
	}
	return e
}
