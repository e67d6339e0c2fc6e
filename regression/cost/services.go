package cost

import (
	"cmp"
	"math"
	"slices"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/query"
)

// builder computes a table from the query results.
type builder struct {
	*Table
	options Options
	costs   *query.Costs
	wall    *query.Costs // wall time of services without measured CPU; nil = not requested, or none
	unknown *unknownTime
	withCPU map[query.Service]bool
	tails   map[query.MethodName]*tail
	service map[query.Service]*Service
	probed  map[methodOf]*probed
	rates   map[query.Service]float64     // typical sampling rates of methods
	pending map[*query.MethodCost]int64   // measurements that wait for their counts
	assumed map[*query.MethodCost]float64 // calls with a lower bound only
	callsSE map[*query.MethodCost]float64 // standard errors of calls
	strayed map[methodOf]stray            // by goroutine group
}

func newBuilder(r *Table, o Options, costs *query.Costs, bills []query.Bill) *builder {
	r.Edges = costs.Edges
	b := &builder{Table: r, options: o, costs: costs, unknown: unknownCallers(costs.Methods, costs.Edges), service: map[query.Service]*Service{}}
	for i := range bills {
		b.service[bills[i].Service] = serviceOf(&bills[i])
	}
	// BigQuery answers each query as of its own time: a service can be newer than the bills.
	for i := range costs.Methods {
		b.ensureService(costs.Methods[i].Service)
	}
	for i := range costs.Edges {
		b.ensureService(costs.Edges[i].Service)
	}
	return b
}

// ensureService adds a service that has no bill, as one without process rows.
func (b *builder) ensureService(s query.Service) {
	if b.service[s] == nil {
		b.service[s] = serviceOf(&query.Bill{Service: s})
	}
}

// serviceOf converts the process rows of a service.
func serviceOf(bill *query.Bill) *Service {
	s := &Service{Service: bill.Service, Instances: bill.Instances, GenericPrice: bill.ListPrice,
		Hosts: Hosts{bill.Intervals, bill.IntervalsAlone, bill.IntervalsNamed, bill.IntervalsLimited}}
	if bill.Intervals == 0 {
		return s
	}
	s.ProcessCoreHours = new(bill.CPUNS / nsPerCoreHour)
	s.UnpricedCoreHours = bill.UnpricedCPUNS / nsPerCoreHour
	priced := bill.UnpricedCPUNS < bill.CPUNS || bill.UnpricedPaidNS < bill.PaidNS
	if priced {
		s.ProcessUSD = new(bill.CPUUSD)
	}
	if bill.SDKNS.Valid {
		s.SDKCoreHours = new(bill.SDKNS.Float64 / nsPerCoreHour)
		if priced {
			s.SDKUSD = new(bill.SDKUSD.Float64)
		}
	}
	if s.coreless = bill.Intervals - bill.IntervalsWithCores; s.coreless > 0 { // the idle cores of these are unknown
		s.intervals, s.leastPaidUSD = bill.Intervals, bill.PaidUSD
		return s
	}
	s.PaidCoreHours = new(bill.PaidNS / nsPerCoreHour)
	s.IdleCoreHours = new((bill.PaidNS - bill.CPUNS) / nsPerCoreHour)
	s.UnpricedPaidCoreHours = bill.UnpricedPaidNS / nsPerCoreHour
	if priced {
		s.PaidUSD = new(bill.PaidUSD)
		s.IdleUSD = new(bill.PaidUSD - bill.CPUUSD)
	}
	return s
}

// addServices adds up the methods of each service. The remainder of its process CPU is unattributed.
func (b *builder) addServices() {
	owned := map[query.Service]map[string]*OwnedCost{}
	for i := range b.costs.Methods {
		m := &b.costs.Methods[i]
		s := b.service[m.Service]
		s.UnmeasuredCalls += max(0, m.UnmeasuredCalls)
		b.Records += m.CPUMeasured
		s.AttributedCoreHours += m.SelfX / nsPerCoreHour
		s.AttributedUSD += m.SelfUSD
		if s.ProcessCoreHours == nil {
			s.UnpricedCoreHours += m.SelfUnpricedX / nsPerCoreHour
		}
		if owned[m.Service] == nil {
			owned[m.Service] = map[string]*OwnedCost{}
		}
		o := owned[m.Service][m.Owner]
		if o == nil {
			o = &OwnedCost{Owner: m.Owner}
			owned[m.Service][m.Owner] = o
		}
		o.CoreHours += m.SelfX / nsPerCoreHour
		o.USD += m.SelfUSD
	}
	for _, e := range b.costs.Edges {
		if e.Caller == methodspan.CallerEntry { // no measured method made these calls
			b.service[e.Service].Requests += e.Calls
		}
	}
	for _, s := range b.service {
		s.UnknownCallerCoreHours = b.unknown.total[s.Service] / nsPerCoreHour
		if s.ProcessCoreHours != nil {
			s.UnattributedCoreHours = new(unattributed(*s.ProcessCoreHours, s.AttributedCoreHours+s.DoubleCoreHours))
		}
		if s.ProcessUSD != nil {
			s.UnattributedUSD = new(unattributed(*s.ProcessUSD, s.AttributedUSD+s.DoubleUSD))
		}
		if b.options.Owners != nil {
			for _, o := range owned[s.Service] {
				s.Owned = append(s.Owned, *o)
			}
			slices.SortFunc(s.Owned, func(x, y OwnedCost) int {
				return cmp.Or(cmp.Compare(len(y.Owner), 0)-cmp.Compare(len(x.Owner), 0), cmp.Compare(y.CoreHours, x.CoreHours), cmp.Compare(x.Owner, y.Owner))
			})
		}
		b.Services = append(b.Services, *s)
	}
	slices.SortFunc(b.Services, func(x, y Service) int {
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name), cmp.Compare(x.Environment, y.Environment))
	})
}

// unattributed returns whole - part, or 0 if the difference is a rounding error. Methods that were reconciled with
// the process CPU add up to it exactly.
func unattributed(whole, part float64) float64 {
	if left := whole - part; math.Abs(left) > 1e-9*math.Abs(whole) {
		return left
	}
	return 0
}
