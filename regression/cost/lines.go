package cost

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/corehour/corehour/regression/probecost"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/regression/stats"
)

const (
	// uncertainAbove is the relative standard error above which a self cost is marked uncertain.
	uncertainAbove = 0.30
	// level is the confidence level of intervals.
	level = 0.95
	// leastInclusive is the lowest accepted ratio of inclusive to self cost. It is below 1 because the costs
	// of probes are shared out by time, which is approximate.
	leastInclusive = 0.9
	// boundLevel is the confidence level of the lower bound that is printed where the tail was not sampled.
	boundLevel = 0.99
)

// lineSums are the sums that a line is computed from.
type lineSums struct {
	line         *Line
	services     map[query.Service]bool
	functions    map[function]float64 // whole time
	perDay       float64              // dollars a day, added up by service
	n, x         float64
	selfX        float64
	selfUSD      float64
	inclusiveN   float64 // calls from outside whose CPU was timed
	inclusiveX   float64
	inclusiveUSD float64
	wallN, wallX float64
	bothX        float64 // wall time of the n calls
	errors       float64
	probes       probecost.Errors
	reconciled   bool
	strayed      stray
	signatures   map[string]bool
	sampled      map[query.MethodName]*sampled
}

// sampled is the number of calls of a method and of the records that represent them. It leaves out calls made
// by a measured method of the same line, recursion included: the sampling error of such a call cancels out
// within the line.
// Untimed calls, on dates without a call timed at random, are no part of calls.
type sampled struct{ calls, records, untimed float64 }

// isSampled reports whether some of the calls were not timed.
func (s *lineSums) isSampled() bool {
	for _, m := range s.sampled {
		if m.calls > m.records {
			return true
		}
	}
	return false
}

// member is a method and its line.
type member struct {
	*query.MethodCost
	line *lineSums
}

// addLines computes the lines for the requested dimensions.
func (b *builder) addLines() {
	if slices.Contains(b.By, ByCaller) {
		b.Groups = b.callerLines()
		return
	}
	lines := b.methodLines()
	b.sortLines(lines, PerDay)
	if len(b.By) == 1 && b.By[0] == ByMethod {
		b.Methods = lines
	} else {
		b.Groups = lines
	}
}

func (b *builder) methodLines() []Line {
	g := newGrouper(b.By)
	members := map[methodOf]member{}
	groups := map[query.Group]*lineSums{}
	var order []query.Group
	for i := range b.costs.Methods {
		m := &b.costs.Methods[i]
		key := g.groupOf(m)
		s := groups[key]
		if s == nil {
			s = &lineSums{
				line:     &Line{Service: key.Service, Version: key.Version, Class: key.Class, Method: key.Method, Owner: key.Owner, Group: key.GoroutineGroup},
				services: map[query.Service]bool{}, functions: map[function]float64{}, signatures: map[string]bool{}, sampled: map[query.MethodName]*sampled{},
			}
			if g["class"] {
				s.line.Owner = m.Owner // the method's owner also owns the class
			}
			groups[key] = s
			order = append(order, key)
		}
		members[methodKeyOf(m)] = member{m, s}
		s.addMethod(m)
		if p := b.probed[methodKeyOf(m)]; p != nil && m.N > 0 {
			s.probes = s.probes.Add(p.errors)
			s.reconciled = s.reconciled || p.reconciled
		}
		s.strayed.most += b.strayed[methodKeyOf(m)].most
		s.strayed.off += b.strayed[methodKeyOf(m)].off
		s.line.PendingRecords += b.pending[m]
		s.line.AssumedCalls += b.assumed[m]
		s.line.CallsSE = math.Hypot(s.line.CallsSE, b.callsSE[m])
		if usd, ok := b.service[m.Service].basis.PerDay(m.SelfUSD); ok {
			s.perDay += usd
		}
	}
	b.addCalls(members)
	b.rates = b.typicalRates()
	clusters := map[query.Group]query.GroupCost{}
	for _, e := range b.costs.Groups {
		clusters[e.Group] = e
	}
	b.addWall(groups, g)
	lines := make([]Line, 0, len(order))
	for _, key := range order {
		b.computeLine(groups[key], clusters[key], g)
		lines = append(lines, *groups[key].line)
	}
	b.addHidden(members)
	return lines
}

// addHidden adds up, for each service, the estimated costs of lines below resolution. These are in the
// service's sum but have no figure.
func (b *builder) addHidden(members map[methodOf]member) {
	services := map[query.Service]*Service{}
	for i := range b.Services {
		services[b.Services[i].Service] = &b.Services[i]
	}
	for key, m := range members {
		if s := services[key.Service]; m.line.line.BelowResolution {
			s.BelowResolutionCoreHours += m.SelfX / nsPerCoreHour
			s.BelowResolutionUSD += m.SelfUSD
		}
	}
}

// addCalls adds to each line the calls from other lines and the sample sizes of its methods.
func (b *builder) addCalls(members map[methodOf]member) {
	for i := range b.costs.Edges {
		e := &b.costs.Edges[i]
		callee, ok := members[methodOf{e.Service, e.Version, e.Callee, e.GoroutineGroup}]
		if !ok {
			continue
		}
		caller := members[methodOf{e.Service, e.Version, e.Caller, e.GoroutineGroup}]
		inside := caller.line == callee.line
		if !inside { // calls from outside of a group are its inclusive cost
			callee.line.inclusiveN += e.N
			callee.line.inclusiveX += e.X
			callee.line.inclusiveUSD += e.USD
		}
		if !inside || !(caller.N > 0) {
			callee.line.addSampled(callee.MethodCost, e)
		}
	}
}

func (s *lineSums) addMethod(m *query.MethodCost) {
	s.services[m.Service] = true
	s.functions[function{m.Service, m.Full}] += m.X
	s.signatures[m.Signature] = true
	l := s.line
	l.Calls += m.Calls
	l.UnmeasuredCalls += max(0, m.UnmeasuredCalls)
	l.Measured += m.Measured
	l.CPUMeasured += m.CPUMeasured
	l.UnpricedCoreHours += m.SelfUnpricedX / nsPerCoreHour
	s.n += m.N
	s.x += m.X
	s.selfX += m.SelfX
	s.selfUSD += m.SelfUSD
	s.wallN += m.WallN
	s.wallX += m.WallX
	s.bothX += m.BothX
	s.errors += m.Errors
}

func (s *lineSums) addSampled(m *query.MethodCost, e *query.CostEdge) {
	if !(e.N > 0) {
		return
	}
	name := nameOf(m)
	if s.sampled[name] == nil {
		s.sampled[name] = &sampled{untimed: max(0, m.UnmeasuredCalls)}
	}
	s.sampled[name].calls += e.N
	s.sampled[name].records += e.TimedCPU
}

// computeLine turns sums into a line. The interval comes from e: residuals around the means of methods, added up
// by time bucket, so that methods that vary together are counted together (Cochran, Sampling Techniques, 3rd
// ed., section 6.3).
func (b *builder) computeLine(s *lineSums, e query.GroupCost, g grouper) {
	l, method := s.line, g["method"]
	l.Instances = e.Instances
	for service := range s.services {
		l.Requests += b.service[service].Requests
		l.GenericPrice = l.GenericPrice || b.service[service].GenericPrice
	}
	if s.wallN > 0 {
		if s.wallX > 0 { // otherwise the probes in its callees took all of it
			l.WallNSPerCall = new(s.wallX / s.wallN)
		}
		if s.n > 0 && l.WallNSPerCall != nil && s.x/s.n > *l.WallNSPerCall { // take both from the calls that have both
			l.WallNSPerCall = new(s.bothX / s.n)
		}
		l.ErrorShare = s.errors / s.wallN
	}
	if method && len(s.signatures) == 1 {
		for signature := range s.signatures {
			l.Signature = signature
		}
	}
	b.setDays(s)
	if !(s.n > 0) {
		if l.PendingRecords > 0 {
			l.Why = pendingCounts
		}
		return
	}
	l.Reconciled = s.reconciled
	tail, warning := b.tailOf(s)
	total, interval, known := e.Residuals.SkewedInterval(s.selfX, level, tail.Skewness)
	sampling := total.SE
	if !known && s.isSampled() {
		sampling = math.Inf(1)
	}
	below := l.setResolution(s, sampling)
	l.setInclusive(s, method, b.availableCPU(s.services))
	if below {
		l.setHiddenUSD(s, sampling)
		return
	}
	unseen := 0.0
	if g["class"] || g["owner"] { // calls to other methods stay within the line
		unseen = b.unseen(s)
	}
	total, interval = widen(total, interval, s.probes)
	if unseen > uncertainAbove {
		interval.Low -= unseen * max(0, s.selfX)
	}
	interval.Low, interval.High = interval.Low-max(0, s.strayed.most-s.strayed.off), interval.High+s.strayed.off
	l.SelfCoreHours = new(s.selfX / nsPerCoreHour)
	l.LowerBound, l.Warning = warning != "" && warning != stats.FewRecords, string(warning)
	if known {
		l.SelfCoreHoursSE = new(total.SE / nsPerCoreHour)
		l.setInterval(s, interval, e.Residuals, unseen)
	}
	b.setShare(s)
	b.setDollars(s, total, interval, known)
	orphans := 0.0
	for f, x := range s.functions {
		orphans += b.unknown.maxExcess(f, x)
	}
	l.markUncertain(total, min(orphans, s.x), unseen, max(s.strayed.off, s.strayed.most-s.strayed.off), known || !s.isSampled())
}

// setHiddenUSD keeps the estimated dollars of a line without figures, and their error, for the sums that include the
// line.
func (l *Line) setHiddenUSD(s *lineSums, sampling float64) {
	l.hiddenUSD = new(s.selfUSD)
	price := 0.0
	switch {
	case s.selfX != 0:
		price = math.Abs(s.selfUSD / s.selfX)
	case s.inclusiveX > 0: // the self cost was set to zero
		price = s.inclusiveUSD / s.inclusiveX
	}
	width := price * normal95 * math.Hypot(s.probes.SE(), sampling)
	l.usdError = &[2]float64{-width, width}
}

// setInterval sets the interval of the self cost, or its lower bound where no interval may be printed.
func (l *Line) setInterval(s *lineSums, interval stats.Interval, residuals stats.Residuals, unseen float64) {
	if l.Warning == "" {
		l.SelfCoreHoursInterval = &[2]float64{interval.Low / nsPerCoreHour, interval.High / nsPerCoreHour}
	} else if sampled, wide, ok := residuals.HallInterval(s.selfX, boundLevel); ok && l.LowerBound {
		_, wide = widen(sampled, wide, s.probes)
		l.SelfCoreHoursLeast = new(max(0, wide.Low-unseen*max(0, s.selfX)) / nsPerCoreHour)
	}
}

// setInclusive sets the cost with callees. For a group it is that of the calls from outside, some of which must
// have been timed. It stays unset in three cases: it would be less than the line's self cost (as for a server
// whose loop per connection has no finished call), the probes in the callees cost as much as the calls took,
// or it is within the uncertainty of its own probe. most limits it, because the number of probes below rarely
// timed calls is uncertain.
func (l *Line) setInclusive(s *lineSums, method bool, most float64) {
	if !(s.x > 0) || l.BelowResolution && s.x/s.n <= l.ResolutionNS {
		return
	}
	if method {
		l.CPUNSPerCall = new(min(s.x, most) / s.n)
	}
	if !(s.inclusiveN > 0) || s.inclusiveX < leastInclusive*s.selfX {
		return
	}
	l.InclusiveCoreHours = new(s.inclusiveX / nsPerCoreHour)
	if s.inclusiveUSD != 0 {
		l.InclusiveUSD = new(s.inclusiveUSD)
	}
	l.limitInclusive(most)
}

// limitInclusive reduces the inclusive figures to at most most, in ns of CPU time.
func (l *Line) limitInclusive(most float64) {
	if l.InclusiveCoreHours == nil || *l.InclusiveCoreHours*nsPerCoreHour <= most {
		return
	}
	left := most / nsPerCoreHour / *l.InclusiveCoreHours
	*l.InclusiveCoreHours *= left
	if l.InclusiveUSD != nil {
		*l.InclusiveUSD *= left
	}
}

// availableCPU returns the CPU time in ns available to the methods of the services, or +Inf where it is unknown.
func (b *builder) availableCPU(services map[query.Service]bool) float64 {
	most := 0.0
	for name := range services {
		service := b.service[name]
		if service.ProcessCoreHours == nil || !(service.methodsCPU() > 0) {
			return math.Inf(1)
		}
		most += service.methodsCPU() * nsPerCoreHour
	}
	return most
}

// pendingCounts is the reason printed for a line whose counts have not arrived.
const pendingCounts = "counts pending"

// setDays sets the number of days that the line's dollars are divided by: that of its service. For several
// services it is the number of days that gives the sum of their dollars per day.
func (b *builder) setDays(s *lineSums) {
	l := s.line
	for service := range s.services {
		basis := b.service[service].basis
		l.days, l.USDPerDayBasis = max(l.days, basis.Days()), basis.String()
	}
	if len(s.services) > 1 {
		l.USDPerDayBasis = fmt.Sprintf("time that each of %d services ran", len(s.services))
		if s.perDay != 0 && s.selfUSD/s.perDay > 0 {
			l.days = s.selfUSD / s.perDay
		}
	}
}

func (b *builder) setShare(s *lineSums) {
	process := 0.0
	for service := range s.services {
		hours := b.service[service].ProcessCoreHours
		if hours == nil {
			return
		}
		process += *hours
	}
	if process > 0 {
		s.line.ShareOfProcessCPU = new(*s.line.SelfCoreHours / process)
	}
}

func (b *builder) setDollars(s *lineSums, total stats.Estimate, interval stats.Interval, known bool) {
	l := s.line
	if s.inclusiveUSD == 0 && s.selfUSD == 0 {
		return // nothing has a price
	}
	l.SelfUSD = new(s.selfUSD)
	l.SelfUSDPerDay, l.SelfUSDPerMonth = b.dollarsPer(PerDay, l, l.SelfUSD), b.dollarsPer(PerMonth, l, l.SelfUSD)
	l.SelfUSDPerCall, l.SelfUSDPerRequest = b.dollarsPer(PerCall, l, l.SelfUSD), b.dollarsPer(PerRequest, l, l.SelfUSD)
	if priced := s.selfX - l.UnpricedCoreHours*nsPerCoreHour; known && priced != 0 {
		// The error of the time, at the average price of its priced part.
		perNS := math.Abs(s.selfUSD / priced)
		l.SelfUSDSE = new(total.SE * perNS)
		l.usdError = &[2]float64{(interval.Low - total.Value) * perNS, (interval.High - total.Value) * perNS}
		if l.SelfCoreHoursLeast != nil {
			l.SelfUSDLeast = new(max(0, s.selfUSD+(*l.SelfCoreHoursLeast*nsPerCoreHour-total.Value)*perNS))
		}
		if l.Warning == "" {
			l.SelfUSDInterval = &[2]float64{s.selfUSD + l.usdError[0], s.selfUSD + l.usdError[1]}
		}
	}
}

// markUncertain marks figures too uncertain to act on. orphans is the time of calls of unknown caller that may belong
// to the line. unseen is the share of its calls that may have made untimed calls. strayed is the time of callees
// without a group that may belong to the line or not.
func (l *Line) markUncertain(total stats.Estimate, orphans, unseen, strayed float64, known bool) {
	switch {
	case !known:
		l.Why = "measured in one time bucket only"
	case l.Warning == string(stats.FewRecords):
		l.Why = l.Warning
	case total.Relative() > uncertainAbove:
		l.Why = "standard error above 30%"
	case l.SelfCoreHoursLeast != nil && *l.SelfCoreHoursLeast == 0:
		l.Why = "its lower bound is zero"
	case orphans > uncertainAbove*total.Value:
		l.Why = fmt.Sprintf("calls of unknown caller worth %.0f%% of it may belong to it", 100*orphans/total.Value)
	case strayed > uncertainAbove*max(0, total.Value):
		l.Why = "calls without a group that it made may belong to it or to other groups"
	case unseen > uncertainAbove:
		l.Why = fmt.Sprintf("%.0f%% of its calls may have made calls of which none was timed, and which cost it", 100*unseen)
	default:
		return
	}
	l.Uncertain = true
}

// callerLines returns the inclusive costs of calls by caller. They nest. The callee's self cost is not known
// by caller.
func (b *builder) callerLines() []Line {
	g := newGrouper(b.By)
	methods := map[methodOf]*query.MethodCost{}
	for i := range b.costs.Methods {
		methods[methodKeyOf(&b.costs.Methods[i])] = &b.costs.Methods[i]
	}
	type key struct {
		query.Group
		caller string
	}
	at := map[key]int{}
	wall := b.wallByCaller()
	var out []Line
	var services []map[query.Service]bool // one entry per line
	for _, e := range b.costs.Edges {
		m := methods[methodOf{e.Service, e.Version, e.Callee, e.GoroutineGroup}]
		if m == nil {
			continue
		}
		k := key{g.groupOf(m), cmp.Or(e.Caller, "(unknown)")}
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out = append(out, Line{Service: k.Service, Version: k.Version, Class: k.Class, Method: k.Method, Owner: k.Owner, Group: k.GoroutineGroup, Caller: k.caller, Requests: b.service[e.Service].Requests,
				days: b.service[e.Service].basis.Days(), USDPerDayBasis: b.service[e.Service].basis.String()})
			services = append(services, map[query.Service]bool{})
		}
		services[i][e.Service] = true
		l := &out[i]
		l.GenericPrice = l.GenericPrice || b.service[e.Service].GenericPrice
		l.Calls += e.Calls
		if m.Calls > 0 {
			l.AssumedCalls += e.Calls * min(1, b.assumed[m]/m.Calls)
			l.CallsSE = math.Hypot(l.CallsSE, b.callsSE[m]*e.Calls/m.Calls)
		}
		if e.N > 0 {
			l.InclusiveCoreHours = sumKnown(l.InclusiveCoreHours, new(e.X/nsPerCoreHour))
		}
		if e.USD != 0 {
			l.InclusiveUSD = sumKnown(l.InclusiveUSD, new(e.USD))
		}
		if x, ok := wall[callBy{methodKeyOf(m), e.Caller}]; ok {
			l.InclusiveWallHours = sumKnown(l.InclusiveWallHours, new(x/nsPerHour))
		}
	}
	for i := range out {
		out[i].limitInclusive(b.availableCPU(services[i]))
	}
	b.sortLines(out, PerDay)
	return out
}

// sortLines sorts lines by the dollars that are printed for a unit: of self cost, or of inclusive cost by caller. Lines
// without dollars follow by core hours, wall time and calls.
func (r *Table) sortLines(lines []Line, per Per) {
	slices.SortStableFunc(lines, func(a, b Line) int {
		return cmp.Or(
			descending(r.dollarsPer(per, &a, a.SelfUSD), r.dollarsPer(per, &b, b.SelfUSD)), descending(a.SelfCoreHours, b.SelfCoreHours), descending(a.SelfWallHours, b.SelfWallHours),
			descending(r.dollarsPer(per, &a, a.InclusiveUSD), r.dollarsPer(per, &b, b.InclusiveUSD)), descending(a.InclusiveCoreHours, b.InclusiveCoreHours), descending(a.InclusiveWallHours, b.InclusiveWallHours),
			cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Method, b.Method))
	})
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
