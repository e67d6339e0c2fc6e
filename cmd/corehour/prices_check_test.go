package main

import (
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/pricebook"
	"github.com/corehour/corehour/test/fixture"
)

// machines returns a warehouse with four services, each on its own machine. The prices of the rows are those that the
// collector's processor would take from an empty price book.
func machines(t *testing.T) string {
	t.Helper()
	lists := pricebook.Empty()
	var items []methodspan.Item
	for _, m := range []struct{ service, provider, hostType, capacity string }{
		{"shop", "aws", "m7i.large", ""}, {"tax", "aws", "m7i.large", "spot"}, {"log", "gcp", "n2-standard-8", "on-demand"}, {"web", "", "own-metal", ""},
	} {
		p := fixture.NewProcess("1", m.service, fixture.Start)
		r := p.Resource
		r.Service, r.Host, r.CloudProvider, r.Region, r.HostType, r.CapacityType = m.service, "host-of-"+m.service, m.provider, "eu-west-1", m.hostType, m.capacity
		v := lists.Lookup(pricebook.Place{CloudProvider: m.provider, Region: "eu-west-1", HostType: m.hostType, CapacityType: m.capacity})
		p.Beat(fixture.Start, time.Minute, time.Minute, true)
		item := p.Item()
		if item.Rows[0].USDPerCoreHour, item.Rows[0].PriceSource = nil, v.Source; v.USD > 0 {
			item.Rows[0].USDPerCoreHour = &v.USD
		}
		items = append(items, item)
	}
	return fixture.Write(t, items)
}

func TestPricesCheck(t *testing.T) {
	clock(t, evening)
	root := machines(t)
	r := corehour("prices", "check", "--warehouse", root)
	if r.code != exitFound || r.stderr != "" {
		t.Fatalf("%+v", r)
	}
	golden(t, "prices_check.txt", r.stdout)
	all := write(t, "all.yaml", "default: {usd_per_core_hour: 0.03}\n")
	if r = corehour("prices", "check", "--warehouse", root, "--config", all); r.code != exitNothing || strings.Contains(r.stdout, "unpriced hosts") {
		t.Errorf("%+v", r)
	}
	for args, want := range map[string]string{"": "want a verb", "list": `found the verb "list"`, "check --config /nonexistent": "--config"} {
		if r := corehour(append([]string{"prices"}, strings.Fields(args)...)...); r.code != exitFailed || !strings.Contains(r.stderr, want) {
			t.Errorf("%q: %+v", args, r)
		}
	}
}
