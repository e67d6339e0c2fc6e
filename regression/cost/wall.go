package cost

import (
	"context"
	"slices"

	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/regression/stats"
)

const nsPerHour = 3.6e12

// wallQuestions is the maximum number of services that are queried one by one. More are queried together.
const wallQuestions = 3

// readWall reads the wall time of services without measured CPU, such as those of a stock OpenTelemetry SDK.
// Without such services it runs no query.
func (b *builder) readWall(ctx context.Context, w *query.Warehouse, ask query.CostQuery) error {
	if !b.options.Wall || slices.Contains(b.By, ByGroup) {
		return nil
	}
	b.withCPU = map[query.Service]bool{}
	for i := range b.costs.Methods {
		m := &b.costs.Methods[i]
		b.withCPU[m.Service] = b.withCPU[m.Service] || m.CPUMeasured > 0
	}
	var services []*query.Service
	for i := range b.costs.Methods { // in the order of methods, so that sums are reproducible
		m := &b.costs.Methods[i]
		if m.Measured > 0 && !b.withCPU[m.Service] && (len(services) == 0 || *services[len(services)-1] != m.Service) {
			services = append(services, &m.Service)
		}
	}
	if len(services) == 0 {
		return nil
	}
	if len(services) > wallQuestions || len(services) == len(b.withCPU) {
		services = []*query.Service{ask.Of}
	}
	b.wall = &query.Costs{}
	ask.Metric, ask.Price, ask.Listed = query.Wall, nil, nil
	for _, ask.Of = range services {
		costs, err := w.Costs(ctx, ask)
		if err != nil {
			return err
		}
		b.wall.Methods = append(b.wall.Methods, costs.Methods...)
		b.wall.Groups = append(b.wall.Groups, costs.Groups...)
		b.wall.Edges = append(b.wall.Edges, costs.Edges...)
	}
	return nil
}

// wallSums are the sums of wall time of a line, in ns.
type wallSums struct {
	n, selfX, x, inclusiveX float64
	functions               map[function]float64 // whole time
	residuals               stats.Residuals
}

// addWall sets the wall time of lines of services without CPU. Self wall time is the time of calls minus that
// of the calls they made. It is too low where these ran concurrently; a negative value is clipped and the
// line is marked.
func (b *builder) addWall(groups map[query.Group]*lineSums, g grouper) {
	if b.wall == nil {
		return
	}
	mixed := map[query.Group]bool{} // with services whose CPU was measured
	for i := range b.costs.Methods {
		if m := &b.costs.Methods[i]; b.withCPU[m.Service] {
			mixed[g.groupOf(m)] = true
		}
	}
	groupOf := map[methodOf]query.Group{}
	all := map[query.Group]*wallSums{}
	unknown := unknownCallers(b.wall.Methods, b.wall.Edges)
	for i := range b.wall.Methods {
		m := &b.wall.Methods[i]
		key := g.groupOf(m)
		groupOf[methodKeyOf(m)] = key
		if all[key] == nil {
			all[key] = &wallSums{functions: map[function]float64{}}
		}
		all[key].n += m.N
		all[key].x += m.X
		all[key].selfX += m.SelfX
		all[key].functions[function{m.Service, m.Full}] += m.X
	}
	for _, e := range b.wall.Edges {
		callee, ok := groupOf[methodOf{e.Service, e.Version, e.Callee, e.GoroutineGroup}]
		caller, known := groupOf[methodOf{e.Service, e.Version, e.Caller, e.GoroutineGroup}]
		if ok && !(known && caller == callee) {
			all[callee].inclusiveX += e.X
		}
	}
	for _, e := range b.wall.Groups { // services are independent of each other
		if s := all[e.Group]; s != nil {
			s.residuals.Count += e.Residuals.Count
			s.residuals.Squares += e.Residuals.Squares
			s.residuals.Cubes += e.Residuals.Cubes
		}
	}
	for key, s := range all {
		if at := groups[key]; at != nil && !mixed[key] && s.n > 0 {
			s.finish(at.line, unknown)
		}
	}
}

func (s *wallSums) finish(l *Line, unknown *unknownTime) {
	l.InclusiveWallHours = new(s.inclusiveX / nsPerHour)
	if s.selfX < 0 {
		l.SelfWallHours, l.SelfWallClipped = new(0.0), true
		return
	}
	l.SelfWallHours = new(s.selfX / nsPerHour)
	total, interval, known := s.residuals.HallInterval(s.selfX, level)
	few := s.n > float64(l.Measured) && l.Measured < stats.LeastRecords
	if few {
		l.Warning = string(stats.FewRecords)
	}
	if known && !few {
		l.SelfWallHoursSE = new(total.SE / nsPerHour)
		l.SelfWallHoursInterval = &[2]float64{max(0, interval.Low) / nsPerHour, interval.High / nsPerHour}
	}
	orphans := 0.0
	for f, x := range s.functions {
		orphans += unknown.maxExcess(f, x)
	}
	l.markUncertain(total, min(orphans, s.x), 0, 0, known)
}

// wallByCaller returns the wall time of calls by caller.
func (b *builder) wallByCaller() map[callBy]float64 {
	out := map[callBy]float64{}
	if b.wall != nil {
		for _, e := range b.wall.Edges {
			if !b.withCPU[e.Service] {
				out[callBy{methodOf{e.Service, e.Version, e.Callee, e.GoroutineGroup}, e.Caller}] += e.X
			}
		}
	}
	return out
}

// callBy identifies the calls of a method by one caller.
type callBy struct {
	methodOf
	caller string
}
