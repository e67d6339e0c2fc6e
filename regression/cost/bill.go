package cost

import (
	"cmp"
	"slices"

	"github.com/corehour/corehour/regression/output"
)

// BillLine is one line of the reconciliation of self costs with the paid cores. The lines that start with +
// add up to the next line that starts with =. Unknown figures are nil.
type BillLine struct {
	What           string
	CoreHours, USD *float64
	Share          *float64 // of the bill
	Calls          *float64 // of calls that were not measured
}

// billLines returns the lines of the service, or nil if no cost of it is known.
func (s *Service) billLines() (lines []BillLine) {
	line := func(what string, hours, usd *float64) {
		lines = append(lines, BillLine{What: what, CoreHours: hours, USD: usd, Share: s.shareOfBill(hours, usd)})
	}
	for i := range s.Owned {
		o, what := &s.Owned[i], "self costs, unowned"
		if o.Owner != "" {
			what = "self costs, owned by " + o.Owner
		}
		line("+ "+what, &o.CoreHours, &o.USD)
	}
	if s.Owned == nil {
		hours, usd := &s.AttributedCoreHours, &s.AttributedUSD
		if *hours == 0 { // nothing was measured
			hours, usd = nil, nil
		}
		line("+ self costs of methods", hours, usd)
	}
	if s.BelowResolutionCoreHours != 0 {
		line("of it in lines below resolution", &s.BelowResolutionCoreHours, &s.BelowResolutionUSD)
	}
	if s.DoubleCoreHours != 0 {
		line("+ counted twice, around methods without measured CPU", &s.DoubleCoreHours, &s.DoubleUSD)
	}
	line("+ unattributed process CPU", s.UnattributedCoreHours, s.UnattributedUSD)
	if s.SDKCoreHours != nil {
		line("of it probes and sending", s.SDKCoreHours, s.SDKUSD)
	}
	line("= process CPU", s.ProcessCoreHours, s.ProcessUSD)
	line("+ idle cores", s.IdleCoreHours, s.IdleUSD)
	line("= paid: cores x time", s.PaidCoreHours, s.PaidUSD)
	if s.PaidCoreHours != nil && s.UnpricedPaidCoreHours > 0 {
		line("of it unpriced", &s.UnpricedPaidCoreHours, nil)
	} else if s.UnpricedCoreHours > 0 {
		line("of it unpriced", &s.UnpricedCoreHours, nil)
	}
	if s.UnknownCallerCoreHours > 0 {
		line("caller unknown", &s.UnknownCallerCoreHours, nil)
	}
	if s.UnmeasuredCalls >= 0.5 {
		lines = append(lines, BillLine{What: "unmeasured calls, in unattributed", Calls: &s.UnmeasuredCalls})
	}
	if !slices.ContainsFunc(lines, func(l BillLine) bool { return l.CoreHours != nil || l.Calls != nil }) {
		return nil
	}
	return lines
}

// shareOfBill returns the share of the paid dollars. Where a part of the bill has no price, it returns the
// share of the paid core hours, since the dollars are not the whole bill.
func (s *Service) shareOfBill(hours, usd *float64) *float64 {
	part, whole := usd, s.PaidUSD
	if whole == nil || s.UnpricedPaidCoreHours > 0 {
		part, whole = hours, s.PaidCoreHours
	}
	if part == nil || whole == nil || !(*whole > 0) {
		return nil
	}
	return new(*part / *whole)
}

// mostPaid returns the top services (0 = all) with the highest bills, in the order of r.Services, the number
// of the other services, and the sums of the known bills of these, or nil if none is known. Services without
// prices rank by core hours.
func (r *Table) mostPaid(top int) (most []*Service, others int, hours, usd *float64) {
	for i := range r.Services {
		most = append(most, &r.Services[i])
	}
	value := func(x *float64) float64 {
		if x == nil {
			return 0
		}
		return *x
	}
	most, left := output.Most(most, top, func(a, b *Service) int {
		return cmp.Or(cmp.Compare(value(b.PaidUSD), value(a.PaidUSD)), cmp.Compare(value(b.PaidCoreHours), value(a.PaidCoreHours)),
			cmp.Compare(value(b.ProcessCoreHours), value(a.ProcessCoreHours)))
	})
	for _, s := range left {
		hours, usd = sumKnown(hours, s.PaidCoreHours), sumKnown(usd, s.PaidUSD)
	}
	return most, len(left), hours, usd
}

func sumKnown(sum, x *float64) *float64 {
	if sum == nil || x == nil {
		return cmp.Or(sum, x)
	}
	return new(*sum + *x)
}
