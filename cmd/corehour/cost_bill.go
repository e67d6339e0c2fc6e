package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/output"
)

// reconciliation shows how self costs add up to what is paid, of the top services that pay
// most (0 = all). Lines with a + add up to the one with = below them. more is what it does not show.
func reconciliation(r *cost.Table, top int) (t *output.Table, more string) {
	services, more := mostPaid(r.Services, top)
	t = &output.Table{
		Title:   "how it adds up",
		Columns: []string{"service", "environment", "line", "core-h", "$", "share of bill", "calls"},
	}
	for _, s := range services {
		one := *t
		b := bill{&one, s}
		b.addLines()
		if slices.ContainsFunc(one.Rows[len(t.Rows):], func(row []output.Cell) bool { return row[3] != output.Figure(unknown) || row[6] != output.Figure("") }) {
			t.Rows = one.Rows // else nothing is known of what it cost
		}
	}
	return t, more
}

// mostPaid are the services that pay most, in the order in which all are, and a line on the
// others. Without prices it goes by core hours.
func mostPaid(all []cost.Service, top int) (most []*cost.Service, more string) {
	for i := range all {
		most = append(most, &all[i])
	}
	value := func(x *float64) float64 {
		if x == nil {
			return 0
		}
		return *x
	}
	most, left := output.Most(most, top, func(a, b *cost.Service) int {
		return cmp.Or(cmp.Compare(value(b.PaidUSD), value(a.PaidUSD)), cmp.Compare(value(b.PaidCoreHours), value(a.PaidCoreHours)),
			cmp.Compare(value(b.ProcessCoreHours), value(a.ProcessCoreHours)))
	})
	if len(left) == 0 {
		return most, ""
	}
	var hours, usd *float64 // nil where nothing is known of any
	for _, s := range left {
		hours, usd = sumKnown(hours, s.PaidCoreHours), sumKnown(usd, s.PaidUSD)
	}
	return most, output.More(len(left), fmt.Sprintf("services pay %s core-h, $%s, together", amount(hours), amount(usd)))
}

func sumKnown(sum, x *float64) *float64 {
	if sum == nil || x == nil {
		return cmp.Or(sum, x)
	}
	return new(*sum + *x)
}

// bill is the lines of one service.
type bill struct {
	*output.Table
	*cost.Service
}

// addLines adds the lines of the service.
func (b *bill) addLines() {
	for _, o := range b.Owned {
		what := "self costs, unowned"
		if o.Owner != "" {
			what = "self costs, owned by " + o.Owner
		}
		b.line("+ "+what, &o.CoreHours, &o.USD)
	}
	if b.Owned == nil {
		hours, usd := &b.AttributedCoreHours, &b.AttributedUSD
		if *hours == 0 { // nothing was measured
			hours, usd = nil, nil
		}
		b.line("+ self costs of methods", hours, usd)
	}
	if b.DoubleCoreHours != 0 {
		b.line("+ counted twice, around methods without measured CPU", &b.DoubleCoreHours, &b.DoubleUSD)
	}
	b.line("+ unattributed process CPU", b.UnattributedCoreHours, b.UnattributedUSD)
	b.line("= process CPU", b.ProcessCoreHours, b.ProcessUSD)
	b.line("+ idle cores", b.IdleCoreHours, b.IdleUSD)
	b.line("= paid: cores x time", b.PaidCoreHours, b.PaidUSD)
	if b.PaidCoreHours != nil && b.UnpricedPaidCoreHours > 0 {
		b.line("of it unpriced", &b.UnpricedPaidCoreHours, nil)
	} else if b.UnpricedCoreHours > 0 {
		b.line("of it unpriced", &b.UnpricedCoreHours, nil)
	}
	if b.UnknownCallerCoreHours > 0 {
		b.line("caller unknown", &b.UnknownCallerCoreHours, nil)
	}
	if b.UnmeasuredCalls >= 0.5 {
		b.cells("unmeasured calls, in unattributed", nil, nil, unknown, wholeNumber(b.UnmeasuredCalls))
	}
}

func (b *bill) line(what string, hours, usd *float64) {
	b.cells(what, hours, usd, percent(b.share(hours, usd)), "")
}

func (b *bill) cells(what string, hours, usd *float64, share, calls string) {
	b.Rows = append(b.Rows, []output.Cell{
		output.Name(b.Name), output.Name(b.Environment), output.Name(what),
		output.Figure(amount(hours)), output.Figure(priced(amount(usd), b.GenericPrice)), output.Figure(share), output.Figure(calls),
	})
}

// hostNotes report what is assumed of hosts, and how idle cores are divided.
func hostNotes(r *cost.Table) (notes []string) {
	var h cost.Hosts
	for i := range r.Services {
		s := &r.Services[i].Hosts
		h.Intervals, h.ByProcess, h.ByName, h.Limited = h.Intervals+s.Intervals, h.ByProcess+s.ByProcess, h.ByName+s.ByName, h.Limited+s.Limited
	}
	note := func(n int64, what string) {
		if n > 0 {
			notes = append(notes, fmt.Sprintf("assumed for %d of %d intervals of processes: %s", n, h.Intervals, what))
		}
	}
	note(h.ByProcess, "no host is known, or not its cores: each process pays its own cores x time")
	note(h.ByName, "hosts of one name, cloud and region are one host")
	note(h.Limited, "the process is the only one of its container and pays the CPU limit")
	if h.Intervals > h.ByProcess+h.Limited {
		notes = append(notes, "idle cores of a host are shared by its processes without a CPU limit, in proportion to the CPU they used")
	}
	return notes
}

// share is that of the dollars that are paid. Where some of it has no price it is
// that of the core hours: the dollars are not the whole bill.
func (b *bill) share(hours, usd *float64) *float64 {
	part, whole := usd, b.PaidUSD
	if whole == nil || b.UnpricedPaidCoreHours > 0 {
		part, whole = hours, b.PaidCoreHours
	}
	if part == nil || whole == nil || !(*whole > 0) {
		return nil
	}
	x := *part / *whole
	return &x
}
