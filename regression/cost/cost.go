package cost

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/corehour/corehour/regression/query"
)

const nsPerCoreHour = 3.6e12

// uncertainAbove is the relative error above which a self cost is no figure to
// act on.
const uncertainAbove = 0.30

// Compute makes the report.
func Compute(ctx context.Context, w *query.Warehouse, filter query.Filter) (*Report, error) {
	methods, err := w.Methods(ctx, w.Window, filter)
	if err != nil {
		return nil, err
	}
	processes, err := w.ProcessCPUs(ctx, w.Window, filter)
	if err != nil {
		return nil, err
	}
	r := &Report{From: w.Window.From, To: w.Window.To}
	r.observe(processes)
	ask := query.Ask{Metric: query.CPU, Window: w.Window, Filter: filter, Slot: slotFor(r.ObservedDays)}
	profiles, edges, err := w.Profiles(ctx, ask)
	if err != nil {
		return nil, err
	}
	r.fill(methods, profiles, processes, unknownCallers(profiles, edges))
	return r, nil
}

// slotFor is the length of a cluster: long enough that what happens in one is
// nearly independent of the next, short enough that there are some dozens of
// them.
func slotFor(days float64) time.Duration {
	span := time.Duration(days * 24 * float64(time.Hour))
	for _, slot := range []time.Duration{time.Hour, 10 * time.Minute, time.Minute} {
		if span >= 24*slot {
			return slot
		}
	}
	return 10 * time.Second
}

// observe finds out for how much of the window there are rows.
func (r *Report) observe(processes []query.ProcessCPU) {
	var first, last time.Time
	for _, p := range processes {
		if first.IsZero() || p.First.Before(first) {
			first = p.First
		}
		if p.Last.After(last) {
			last = p.Last
		}
	}
	if !r.To.IsZero() && last.After(r.To) {
		last = r.To
	}
	r.ObservedDays = max(0, last.Sub(first).Hours()/24)
}

type methodKey struct {
	query.Service
	class, method string
}

func (r *Report) fill(methods []query.Method, profiles []query.Profile, processes []query.ProcessCPU, callers *unknown) {
	services := map[query.Service]*Service{}
	for _, p := range processes {
		s := &Service{Service: p.Service}
		if p.Intervals > 0 {
			s.ProcessCoreHours = pointer(p.CPUNS / nsPerCoreHour)
			s.UnpricedCoreHours = p.UnpricedNS / nsPerCoreHour
			if p.UnpricedNS < p.CPUNS {
				s.ProcessUSD = pointer(p.USD)
			}
		}
		services[p.Service] = s
	}
	measured := map[methodKey]*measurements{}
	for i := range profiles {
		p := &profiles[i]
		key := methodKey{p.Service, p.Class, p.Method}
		if measured[key] == nil {
			measured[key] = &measurements{}
		}
		measured[key].add(p)
	}
	for i := range methods {
		m := line(&methods[i])
		s := services[m.Service]
		s.UnmeasuredCalls += m.UnmeasuredCalls
		if p := measured[methodKey{m.Service, m.Class, m.Method}]; p != nil {
			m.price(p, s, r.ObservedDays)
			m.doubt(p, callers)
		}
		r.Methods = append(r.Methods, *m)
	}
	slices.SortStableFunc(r.Methods, compare)
	for _, s := range services {
		s.UnknownCallerCoreHours = callers.total[s.Service] / nsPerCoreHour
		if s.ProcessCoreHours != nil {
			s.UnattributedCoreHours = pointer(*s.ProcessCoreHours - s.AttributedCoreHours)
		}
		if s.ProcessUSD != nil {
			s.UnattributedUSD = pointer(*s.ProcessUSD - s.AttributedUSD)
		}
		r.Services = append(r.Services, *s)
	}
	slices.SortFunc(r.Services, func(a, b Service) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Environment, b.Environment))
	})
}

func line(q *query.Method) *Method {
	m := &Method{
		Service: q.Service, Class: q.Class, Method: q.Method, Signature: q.Signature,
		Calls: q.Calls, UnmeasuredCalls: math.Max(0, q.UnmeasuredCalls),
		Measured: q.Measured, CPUMeasured: q.CPUMeasured,
	}
	if q.WallN > 0 {
		m.WallNSPerCall = pointer(q.WallX / q.WallN)
		m.ErrorShare = q.Errors / q.WallN
	}
	return m
}

// price fills in what follows from CPU measurements.
func (m *Method) price(p *measurements, s *Service, days float64) {
	if !(p.N > 0) {
		return
	}
	m.CPUNSPerCall = pointer(p.X / p.N)
	m.SelfCoreHours = pointer(p.SelfX / nsPerCoreHour)
	m.InclusiveCoreHours = pointer(p.OuterX / nsPerCoreHour)
	m.UnpricedCoreHours = p.UnpricedX / nsPerCoreHour
	total, known := p.self()
	if known {
		m.SelfCoreHoursSE = pointer(total.SE / nsPerCoreHour)
	}
	s.AttributedCoreHours += p.SelfX / nsPerCoreHour
	if s.ProcessCoreHours != nil && *s.ProcessCoreHours > 0 {
		m.ShareOfProcessCPU = pointer(p.SelfX / nsPerCoreHour / *s.ProcessCoreHours)
	}
	if s.ProcessCoreHours == nil {
		s.UnpricedCoreHours += p.UnpricedX / nsPerCoreHour
	}
	if p.OuterUSD == 0 && p.SelfUSD == 0 {
		return // nothing has a price
	}
	m.SelfUSD, m.InclusiveUSD = pointer(p.SelfUSD), pointer(p.OuterUSD)
	s.AttributedUSD += p.SelfUSD
	if days > 0 {
		m.SelfUSDPerDay = pointer(p.SelfUSD / days)
	}
	if priced := p.SelfX - p.UnpricedX; known && priced != 0 {
		// The error of the time at the price that its priced part has.
		m.SelfUSDSE = pointer(total.SE * math.Abs(p.SelfUSD/priced))
	}
}

// doubt marks figures that are none to act on.
func (m *Method) doubt(p *measurements, callers *unknown) {
	total, known := p.self()
	switch {
	case m.SelfCoreHours == nil:
		return
	case !known:
		m.Why = "measured in one slot of time only"
	case total.Relative() > uncertainAbove:
		m.Why = "standard error above 30%"
	case callers.of(p) > uncertainAbove*p.SelfX:
		m.Why = fmt.Sprintf("calls of unknown caller worth %.0f%% of it may belong to it", 100*callers.of(p)/p.SelfX)
	default:
		return
	}
	m.Uncertain = true
}

// compare ranks by dollars of self cost, then core hours, then calls; what is
// not known comes after what is.
func compare(a, b Method) int {
	return cmp.Or(
		descending(a.SelfUSD, b.SelfUSD), descending(a.SelfCoreHours, b.SelfCoreHours), cmp.Compare(b.Calls, a.Calls),
		cmp.Compare(a.Name, b.Name), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Method, b.Method))
}

func descending(a, b *float64) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return cmp.Compare(*b, *a)
}

func pointer(x float64) *float64 { return &x }
