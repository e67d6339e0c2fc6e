package cost

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/pricebook"
	"github.com/corehour/corehour/regression/alert/rules"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/fixture"
	"github.com/corehour/corehour/test/golden"
)

func documentText(t *testing.T, d *output.Document, format output.Format) string {
	t.Helper()
	var text bytes.Buffer
	d.Wide = true
	if err := d.Write(&text, format); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestDocument_By(t *testing.T) {
	root := fixture.TwoReleases(t, 1)
	o := owners(t, `{"version":1,"owners":[{"class":"shop/tax","owner":"tax-team"}]}`)
	all := ""
	for _, c := range []struct {
		by string
		v  View
	}{
		{"owner", View{}}, {"service,version", View{}}, {"class", View{Per: PerMonth}}, {"environment", View{}}, {"caller,method", View{}}, {"group", View{}},
		{"method", View{Percentiles: true, Top: 1}},
	} {
		by, err := ParseBy(c.by)
		if err != nil {
			t.Fatal(err)
		}
		if c.v.Per == "" {
			c.v.Per = PerDay
		}
		c.v.Zone, c.v.Now = time.UTC, fixture.Evening
		r := computeWith(t, root, Options{Window: query.Window{From: fixture.Start, To: fixture.Evening}, By: by, Owners: o, Percentiles: c.v.Percentiles, Wall: true})
		all += c.by + "\n" + documentText(t, r.Document(output.Text, c.v), output.Text) + "\n"
		rows, err := csv.NewReader(strings.NewReader(documentText(t, r.Document(output.CSV, c.v), output.CSV))).ReadAll()
		if err != nil || len(rows) != 1+len(r.Lines()) {
			t.Errorf("by %s: %d lines of CSV, %v", c.by, len(rows), err)
		}
	}
	golden.Check(t, "by.txt", all)
}

// Spans without CPU time get a table of wall time, without columns that have no values.
func TestDocument_StockSpans(t *testing.T) {
	p := fixture.NewProcess("1", "a", fixture.Start)
	for n := range 300 {
		at := fixture.Start.Add(time.Duration(n) * 10 * time.Second)
		p.Call("web.Serve", "(entry)", at, 30*time.Millisecond, -1, 1, 0)
		p.Call("web.Load", "web.Serve", at, 20*time.Millisecond, -1, 1, 0)
	}
	p.Resource.Environment = ""
	item := p.Item()
	for i := range item.Rows {
		item.Rows[i].WeightBasis, item.Rows[i].Calls = methodspan.BasisThreshold, 1
	}
	r := computeWith(t, fixture.Write(t, []methodspan.Item{item}), Options{Window: date, Wall: true})
	v := View{Per: PerDay, Zone: time.UTC, Now: fixture.Evening}
	text := documentText(t, r.Document(output.Text, v), output.Text)
	golden.Check(t, "stock.txt", text)
	if strings.Contains(text, " - ") || strings.Contains(text, "how it adds up") || strings.Contains(text, "environment") ||
		!strings.Contains(text, "600 timed calls; wall time only: no CPU was sent\n") {
		t.Errorf("figures without a value:\n%s", text)
	}
	if page := documentText(t, r.Document(output.MarkdownPage, v), output.MarkdownPage); !strings.Contains(page, "| self wall-s | wall 95% | incl wall-s | calls |") {
		t.Error(page)
	}
}

// places are machines of four services: two with an own price, one with a public list price, one unpriced.
var places = map[string]query.Place{
	"shop": {CloudProvider: "aws", Region: "eu-west-1", HostType: "m7i.large"}, "tax": {CloudProvider: "aws", Region: "eu-west-1", HostType: "m7i.large", CapacityType: "spot"},
	"log": {CloudProvider: "gcp", Region: "eu-west-1", HostType: "n2-standard-8", CapacityType: "on-demand"}, "web": {Region: "eu-west-1", HostType: "own-metal"},
}

func book(t *testing.T, text string) *pricebook.Book {
	t.Helper()
	b, warnings, err := pricebook.Parse([]byte(text))
	if err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	return b
}

// Dollars of public list prices are marked as generic in every table. The user's price book replaces them.
func TestDocument_GenericPrices(t *testing.T) {
	lists := pricebook.Empty()
	var items []methodspan.Item
	for service, place := range places {
		p := fixture.NewProcess("1", service, fixture.Start)
		p.Resource.Service, p.Resource.CloudProvider, p.Resource.Region, p.Resource.HostType, p.Resource.CapacityType = service, place.CloudProvider, place.Region, place.HostType, place.CapacityType
		p.Counts("a.B", fixture.Start, time.Minute, 30)
		for j := range 30 {
			p.Call("a.B", "(entry)", fixture.Start.Add(time.Duration(j)*time.Second), time.Millisecond, time.Millisecond, 1, 1)
		}
		p.Beat(fixture.Start, time.Minute, time.Second, true)
		item := p.Item()
		for i := range item.Rows { // as the collector's processor does
			found := lists.Lookup(place)
			if item.Rows[i].USDPerCoreHour, item.Rows[i].PriceSource = nil, found.Source; found.USD > 0 {
				item.Rows[i].USDPerCoreHour = &found.USD
			}
		}
		items = append(items, item)
	}
	root := fixture.Write(t, items)
	r := computeWith(t, root, Options{By: []Dimension{ByService}})
	marked := map[string]bool{}
	text := documentText(t, r.Document(output.Text, View{Per: PerDay, Zone: time.UTC, Now: fixture.Evening}), output.Text)
	for _, line := range regexp.MustCompile(`(?m)^(\w+) .* generic `).FindAllStringSubmatch(text, -1) {
		marked[line[1]] = true
	}
	if got := fmt.Sprint(marked); got != "map[log:true shop:true]" {
		t.Errorf("marked as generic: %s in\n%s", got, text)
	}
	methods := computeWith(t, root, Options{})
	for service, generic := range map[string]bool{"shop": true, "tax": false} {
		s := methods.Spend(Budget{Name: service, Scope: rules.Scope{Service: service}, USDPerDay: 1e-6})
		table, _ := BudgetTable([]Spending{s})
		d := &output.Document{}
		d.Add(table)
		if s.GenericPrice != generic || strings.Contains(documentText(t, d, output.Text), " generic") != generic {
			t.Errorf("budget of %s: %+v", service, s)
		}
	}
	own := book(t, "prices: [{cloud_provider: aws, usd_per_core_hour: 0.03}]")
	for _, g := range computeWith(t, root, Options{
		By:    []Dimension{ByService},
		Price: func(p query.Place) float64 { return own.Lookup(p).USD }, Listed: func(p query.Place) bool { return own.Lookup(p).Outcome == pricebook.ByList },
	}).Groups {
		if g.GenericPrice != (g.Name == "log") || (g.SelfUSD == nil) != (g.Name == "web") {
			t.Errorf("%s with the user's price book: generic %t, %v dollars", g.Name, g.GenericPrice, g.SelfUSD)
		}
	}
}

func TestMachines(t *testing.T) {
	hosts := []query.Priced{
		{Place: places["shop"], Host: "host-of-shop", Source: "stored", USD: 0.02, Rows: 40, CPUNS: 4e9}, {Place: places["tax"], Host: "host-of-tax", Rows: 40, CPUNS: 3e9},
		{Place: places["log"], Host: "host-of-log", Rows: 40, CPUNS: 2e9}, {Place: places["web"], Host: "host-of-web", Rows: 40, CPUNS: 1e9},
	}
	for _, c := range []struct {
		name, book string
		unpriced   int
		want       []string
	}{
		{"own prices", "prices: [{cloud_provider: aws, usd_per_core_hour: 0.03}, {region: mars, usd_per_core_hour: 1}]", 1,
			[]string{"4 kinds of machines: 2 priced by the price book, 1 by a public list price (generic), 1 unpriced", "matches no machine: prices[1] */mars/*/*", "host-of-web", "unpriced: no_entry"}},
		{"a default", "default: {usd_per_core_hour: 0.03}", 0, nil},
		{"stored prices", "", -1, []string{"host-of-web"}},
	} {
		var b *pricebook.Book
		if c.book != "" {
			b = book(t, c.book)
		}
		m := MachinesOf(hosts, b)
		m.Complete = true
		text := documentText(t, m.Document(0), output.Text)
		if c.unpriced >= 0 && len(m.UnpricedHosts) != c.unpriced {
			t.Errorf("%s: unpriced %+v", c.name, m.UnpricedHosts)
		}
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", c.name, want, text)
			}
		}
	}
}

// Lines are sorted by the dollars that are shown, also if services ran for different times.
func TestDocument_SortedByShownDollars(t *testing.T) {
	var items []methodspan.Item
	for service, minutes := range map[string]int{"long": 60, "short": 2} {
		p := fixture.NewProcess("1", service, fixture.Start)
		p.Resource.Service = service
		for minute := range minutes {
			at := fixture.Start.Add(time.Duration(minute) * time.Minute)
			p.Counts("a.B", at, time.Minute, 1)
			p.Call("a.B", "(entry)", at, time.Second, time.Duration(60-minutes+10)*time.Millisecond, 1, 1)
		}
		items = append(items, p.Item())
	}
	r := computeWith(t, fixture.Write(t, items), Options{})
	for per, first := range map[Per]string{PerDay: "short", PerWindow: "long"} {
		text := documentText(t, r.Document(output.Text, View{Per: per, Zone: time.UTC, Now: fixture.Evening}), output.Text)
		if rows := regexp.MustCompile(`(?m)^(long|short) `).FindAllStringSubmatch(text, -1); len(rows) < 2 || rows[0][1] != first {
			t.Errorf("by %s, want %s first:\n%s", per, first, text)
		}
	}
	if r.Methods[0].Name != "short" {
		t.Errorf("JSON begins with %s", r.Methods[0].Name)
	}
}
