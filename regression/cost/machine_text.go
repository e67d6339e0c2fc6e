package cost

import (
	"cmp"
	"fmt"

	"github.com/corehour/corehour/regression/output"
)

// Document prints the top kinds of machines and hosts without a price; 0 = all.
func (a *Machines) Document(top int) *output.Document {
	d := &output.Document{Data: a}
	byBook, generic, unpriced := 0, 0, 0
	for _, k := range a.Kinds {
		switch {
		case k.USD == nil:
			unpriced++
		case k.Generic:
			generic++
		default:
			byBook++
		}
	}
	d.Say(fmt.Sprintf("%d kinds of machines: %d priced by the price book, %d by a public list price (generic), %d unpriced", len(a.Kinds), byBook, generic, unpriced))
	kinds, left := output.First(a.Kinds, top)
	var c output.Columns[*Machine]
	name := func(column string, of func(*Machine) string) {
		c.Name(column, func(k **Machine) string { return cmp.Or(of(*k), output.Unknown) })
	}
	name("provider", func(k *Machine) string { return k.CloudProvider })
	name("region", func(k *Machine) string { return k.Region })
	name("host type", func(k *Machine) string { return k.HostType })
	name("capacity", func(k *Machine) string { return k.CapacityType })
	c.Plain("hosts")
	c.Figure("core-h", func(k **Machine) string { return output.Amount((*k).CoreHours) })
	c.Figure("$/core-h", func(k **Machine) string { return output.AmountOf((*k).USD) })
	name("price from", (*Machine).priceSource)
	d.Add(c.Table(kinds))
	d.Say(output.More(left, "kinds of machines")...)
	if hosts, left := output.First(a.UnpricedHosts, top); len(hosts) > 0 {
		var c output.Columns[UnpricedHost]
		c.Plain("host", "provider/region/type/capacity=kind", "why=price_source")
		t := c.Table(hosts)
		t.Title = "unpriced hosts"
		d.Add(t)
		d.Say(output.More(left, "unpriced hosts")...)
	}
	for _, source := range a.Unmatched {
		d.Say("matches no machine: " + source)
	}
	if !a.Complete {
		d.Say("only the hosts that used most CPU are listed: give a shorter time, or --service")
	}
	return d
}
