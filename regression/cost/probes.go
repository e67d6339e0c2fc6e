package cost

import (
	"math"

	"github.com/corehour/corehour/regression/probecost"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/regression/stats"
)

// methodOf identifies a method of a version, or its part in a goroutine group.
type methodOf struct {
	query.Service
	version, name, group string
}

func methodKeyOf(m *query.MethodCost) methodOf {
	return methodOf{m.Service, m.Version, m.Full, m.GoroutineGroup}
}

// versionOf identifies a method of a version by its name.
type versionOf struct {
	query.MethodName
	version string
}

func nameOf(m *query.MethodCost) query.MethodName {
	return query.MethodName{Service: m.Service, Class: m.Class, Method: m.Method}
}

// probed holds the uncertainty of the probes in the self time of a method.
type probed struct {
	errors     probecost.Errors // ns
	reconciled bool
}

// takeOffProbes subtracts the costs of probes from the times of methods and of their callees.
func (b *builder) takeOffProbes(table probecost.Table) {
	b.probed = map[methodOf]*probed{}
	type place struct {
		query.Service
		version string
	}
	edges := map[place][]*query.CostEdge{}
	for i := range b.costs.Edges {
		e := &b.costs.Edges[i]
		edges[place{e.Service, e.Version}] = append(edges[place{e.Service, e.Version}], e)
	}
	methods := map[place][]*query.MethodCost{}
	for i := range b.costs.Methods {
		m := &b.costs.Methods[i]
		methods[place{m.Service, m.Version}] = append(methods[place{m.Service, m.Version}], m)
		b.probed[methodKeyOf(m)] = &probed{}
	}
	for at, all := range methods {
		if costs := table.CostsOf(at.Service, at.version); costs.Known() {
			b.takeOff(costs, all, edges[at])
		}
	}
}

// takeOff subtracts the costs of probes from the methods and edges of one version.
func (b *builder) takeOff(costs probecost.Costs, all []*query.MethodCost, edges []*query.CostEdge) {
	methods := make(map[string]probecost.Method, len(all))
	for _, m := range all {
		sum := methods[m.Full]
		methods[m.Full] = probecost.Method{Calls: sum.Calls + m.Calls, Time: sum.Time + m.X}
	}
	var below []probecost.Edge
	self := map[string]probecost.Calls{}
	usd := map[string]float64{} // of callees
	for _, e := range edges {
		probes := probecost.Calls{CPU: e.TimedCPU, Wall: e.TimedWall, Counted: max(0, e.Calls-e.TimedCPU-e.TimedWall)}
		below = append(below, probecost.Edge{Caller: e.Caller, Callee: e.Callee, Calls: e.Calls, Time: e.X, Probes: probes})
		probes.Own, probes.Waits = -e.N, -e.Waits
		self[e.Caller] = self[e.Caller].Add(probes)
		usd[e.Caller] += e.USD
	}
	whole := costs.Below(below, methods)
	for _, m := range all {
		if !(m.N > 0) {
			continue
		}
		n := self[m.Full].Add(probecost.Calls{Own: m.N, Waits: m.Waits})
		price, unpriced := 0.0, 0.0
		if m.X > 0 {
			price = max(0, m.SelfUSD+usd[m.Full]) / m.X
		}
		if m.SelfX != 0 {
			unpriced = min(1, max(0, m.SelfUnpricedX/m.SelfX))
		}
		off := costs.Total(n)
		m.SelfX -= off
		m.SelfUSD -= off * price
		m.SelfUnpricedX -= off * unpriced
		inclusive := whole[m.Full]
		inclusive.Own += m.N
		inclusive.Waits = m.Waits
		m.X = max(0, m.X-costs.Total(inclusive))
		withoutWaits := inclusive
		withoutWaits.Waits = 0
		m.WallX = max(0, m.WallX-costs.Total(withoutWaits)*m.WallN/m.N)
		m.BothX = max(0, m.BothX-costs.Total(withoutWaits))
		b.probed[methodKeyOf(m)].errors = costs.Errors(n)
	}
	for _, e := range edges {
		n := probecost.Calls{}
		if time := methods[e.Callee].Time; time > 0 {
			n = whole[e.Callee].Times(e.X / time)
		}
		n.Own, n.Waits = n.Own+e.N, e.Waits
		left := 0.0
		if e.X > 0 {
			left = max(0, 1-costs.Total(n)/e.X)
		}
		e.X *= left
		e.USD *= left
	}
}

// methodsCPU returns the CPU time available to methods: that of the processes without the SDK's own where
// that is known.
func (s *Service) methodsCPU() float64 {
	if s.SDKCoreHours == nil {
		return *s.ProcessCoreHours
	}
	return *s.ProcessCoreHours - *s.SDKCoreHours
}

// reconcile limits the sum of the self costs of each service to the CPU time of its processes, where known,
// but not below the total that is certain for single methods.
func (b *builder) reconcile() {
	byService := map[query.Service][]*query.MethodCost{}
	for i := range b.costs.Methods {
		if m := &b.costs.Methods[i]; m.N > 0 {
			byService[m.Service] = append(byService[m.Service], m)
		}
	}
	for name, methods := range byService {
		s := b.service[name]
		estimates := make([]probecost.Estimate, len(methods))
		for i, m := range methods {
			estimates[i] = b.estimate(m)
		}
		s.reconcile(estimates)
		if !s.Reconciled {
			continue
		}
		for i, m := range methods {
			moved := estimates[i].Value - m.SelfX
			if moved == 0 {
				continue
			}
			if m.SelfX != 0 {
				left := estimates[i].Value / m.SelfX
				m.SelfUSD *= left
				m.SelfUnpricedX *= left
			}
			m.SelfX = estimates[i].Value
			b.probed[methodKeyOf(m)].reconciled = true
		}
	}
}

// estimate returns the self cost of a method with its uncertainty.
func (b *builder) estimate(m *query.MethodCost) probecost.Estimate {
	e := probecost.Estimate{Value: m.SelfX, Errors: b.probed[methodKeyOf(m)].errors}
	if n := float64(m.Residuals.Count); n >= 2 {
		e.Variance = n / (n - 1) * m.Residuals.Squares
	} else if m.N > float64(m.CPUMeasured) { // the error of a single sampled cluster is about as large as the value
		e.Variance = m.SelfX * m.SelfX
	}
	return e
}

// reconcile changes the estimates of all methods of the service. It sets negative estimates to zero in two
// cases: one method alone is estimated above the CPU of the processes (as methods of a deep recursion are,
// while others are negative by about as much), or the sum is below the certain part (no call that contains
// most others was timed, yet their costs were subtracted from it).
func (s *Service) reconcile(estimates []probecost.Estimate) {
	limit := math.Inf(1)
	if s.ProcessCoreHours != nil {
		limit = (s.methodsCPU() - s.DoubleCoreHours) * nsPerCoreHour
	}
	sum, sure, tooLarge := 0.0, 0.0, false
	for _, e := range estimates {
		sum += e.Value
		sure += max(0, e.Value-2*math.Sqrt(e.Variance+e.Errors.Variance()))
		tooLarge = tooLarge || e.Value > limit
	}
	s.MeasuredCoreHours, s.leastCoreHours = sum/nsPerCoreHour, sure/nsPerCoreHour
	if s.Reconciled = tooLarge || sum < sure; s.Reconciled {
		above := 0.0
		for i := range estimates {
			estimates[i].Value = max(0, estimates[i].Value)
			above += estimates[i].Value / nsPerCoreHour
		}
		if tooLarge {
			s.MeasuredCoreHours = above
			limit = min(limit, max(sure, sum))
		}
	}
	if s.Reconciled = probecost.Reconcile(estimates, limit) || s.Reconciled; !s.Reconciled {
		s.MeasuredCoreHours = 0
	}
}

// normal95 is the quantile of the normal distribution for a 95% interval.
const normal95 = 1.96

// setResolution marks a line whose self cost is within the uncertainty of its probes: it has no figure, only an
// upper bound. If sampling error exceeds the uncertainty of probes, the line is uncertain instead.
func (l *Line) setResolution(s *lineSums, sampling float64) (below bool) {
	probes := s.probes.SE()
	l.ResolutionNS = math.Ceil(normal95 * probes / s.n)
	l.BelowResolution = probes > 0 && math.Abs(s.selfX) <= normal95*probes && sampling <= probes
	if l.BelowResolution {
		l.ResolutionNS = math.Ceil((max(0, s.selfX) + normal95*math.Hypot(probes, sampling)) / s.n)
	}
	return l.BelowResolution
}

// widen adds the uncertainty of probes to the sampling error. The interval keeps its skewness.
func widen(e stats.Estimate, i stats.Interval, probes probecost.Errors) (stats.Estimate, stats.Interval) {
	if more := probes.Variance(); more > 0 {
		i.Low = e.Value - math.Sqrt((e.Value-i.Low)*(e.Value-i.Low)+normal95*normal95*more)
		i.High = e.Value + math.Sqrt((i.High-e.Value)*(i.High-e.Value)+normal95*normal95*more)
		e.SE = math.Sqrt(e.SE*e.SE + more)
	}
	return e, i
}
