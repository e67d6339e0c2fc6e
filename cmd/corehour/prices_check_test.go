package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/pricebook"
	"github.com/corehour/corehour/test/fixture"
)

// machines returns a warehouse with four services, each on its own machine. The prices of the rows are those that
// the collector's processor would take from book.
func machines(t *testing.T, book *pricebook.Book) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "warehouse")
	var items []methodspan.Item
	for _, m := range []struct{ service, provider, hostType, capacity string }{
		{"shop", "aws", "m7i.large", ""}, {"tax", "aws", "m7i.large", "spot"}, {"log", "gcp", "n2-standard-8", "on-demand"}, {"web", "", "own-metal", ""},
	} {
		for version, cpu := range map[string]time.Duration{"1": time.Millisecond, "2": 2 * time.Millisecond} {
			start := fixture.Start
			if version == "2" {
				start = start.Add(40 * time.Minute)
			}
			p := fixture.NewProcess(version, m.service+"-"+version, start)
			r := p.Resource
			r.Service, r.Host, r.CloudProvider, r.Region, r.HostType, r.CapacityType = m.service, "host-of-"+m.service, m.provider, "eu-west-1", m.hostType, m.capacity
			v := book.Lookup(pricebook.Place{CloudProvider: m.provider, Region: "eu-west-1", HostType: m.hostType, CapacityType: m.capacity})
			for i := range 40 {
				at := start.Add(time.Duration(i) * time.Minute)
				p.Counts("a.B", at, time.Minute, 30)
				for j := range 30 {
					p.Call("a.B", "(entry)", at.Add(time.Duration(j)*time.Second), 2*cpu, cpu, 1, 1)
				}
				p.Beat(at, time.Minute, time.Second, i == 39)
			}
			item := p.Item()
			for i := range item.Rows {
				if item.Rows[i].USDPerCoreHour, item.Rows[i].PriceSource = nil, v.Source; v.USD > 0 {
					item.Rows[i].USDPerCoreHour = &v.USD
				}
			}
			items = append(items, item)
		}
	}
	fixture.Append(t, root, fixture.Start.Add(2*time.Hour), items)
	return root
}

// TestPrices_Generic: every table with dollars marks public list prices as generic, and prices check lists the
// machines without a price.
func TestPrices_Generic(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	clock(t, fixture.Start.Add(90*time.Minute))
	root := machines(t, pricebook.Empty())
	r := corehour("prices", "check", "--warehouse", root)
	if r.code != exitFound || r.stderr != "" {
		t.Fatalf("%+v", r)
	}
	golden(t, "prices_check.txt", r.stdout)

	budgets := write(t, "budgets.json", `{"version":1,"budgets":[
		{"name":"generic","service":"shop","usd_per_day":0.0001},{"name":"own","service":"tax","usd_per_day":0.0001}]}`)
	for _, c := range []struct {
		args []string
		want map[string]string // pattern by the name of a service or line
		none string
	}{
		{[]string{"cost", "--by", "service"}, map[string]string{"shop": `shop .* generic `, "log": `log .* generic `}, `(?m)^(tax|web) .* generic`},
		{[]string{"cost"}, map[string]string{"bill": `(?m)^shop .*= paid: cores x time .* generic `, "log": `log .* generic `}, `(?m)^(tax|web) .* generic`},
		{[]string{"report", "--format", "text"}, map[string]string{"shop": `shop .* generic `, "log": `log .* generic `}, `(?m)^(tax|web) .* generic`},
		{[]string{"cost", "--budgets", budgets}, map[string]string{"shop": `(?m)^generic .*shop.*BROKEN.* generic `}, `(?m)^own .* generic`},
		{[]string{"explain", "a.B", "--service", "shop"}, map[string]string{"shop": `own cost .*, generic price`}, `^$`},
		{[]string{"explain", "a.B", "--service", "tax"}, map[string]string{"tax": `own cost .*no price`}, `generic price`},
		{[]string{"regress", "--method", "threshold"}, map[string]string{"shop": `shop .*REGRESSED.* generic`}, `(?m)^(tax|web) .* generic`},
	} {
		r := corehour(append([]string{c.args[0], "--warehouse", root, "--wide"}, c.args[1:]...)...)
		if r.code == exitFailed {
			t.Fatalf("%q: %+v", c.args, r)
		}
		for of, pattern := range c.want {
			if !regexp.MustCompile(pattern).MatchString(r.stdout) {
				t.Errorf("%q: no %s of %s in\n%s", c.args, pattern, of, r.stdout)
			}
		}
		if found := regexp.MustCompile(c.none).FindString(r.stdout); found != "" {
			t.Errorf("%q: %q", c.args, found)
		}
	}

	// With the user's price book, only a machine without an entry in it keeps its generic list price.
	own := write(t, "own.yaml", "prices: [{cloud_provider: aws, usd_per_core_hour: 0.03}, {region: mars, usd_per_core_hour: 1}]\n")
	r = corehour("cost", "--warehouse", root, "--prices", own, "--by", "service", "--format", "json")
	var answer struct {
		Groups []struct {
			Service string   `json:"service"`
			Generic bool     `json:"generic_price"`
			USD     *float64 `json:"self_usd"`
		}
	}
	if err := json.Unmarshal([]byte(r.stdout), &answer); err != nil || len(answer.Groups) != 4 {
		t.Fatalf("%v %+v", err, r)
	}
	for _, g := range answer.Groups {
		if g.Generic != (g.Service == "log") || (g.USD == nil) != (g.Service == "web") {
			t.Errorf("%+v", g)
		}
	}
	r = corehour("prices", "check", "--warehouse", root, "--config", own)
	for _, want := range []string{"4 kinds of machines: 2 priced by the price book, 1 by a public list price (generic), 1 unpriced", "matches no machine: prices[1] */mars/*/*", "host-of-web", "unpriced: no_entry"} {
		if r.code != exitFound || !strings.Contains(unwrapped(r.stdout), want) {
			t.Errorf("no %q in %+v", want, r)
		}
	}
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
