package query

import "math"

// A process can report more measured calls of a method than counted calls. Weights divide the counted
// calls (ADR 0040), so the number of records behind a figure is capped at the number of counted calls. Records
// remain unchanged where no calls are known, because the counts were lost or are in another warehouse.

const (
	// rounding is the relative error of sums of weights compared with the calls that they divide.
	rounding = 1e-9
	// leastCounted is the smallest number of calls that counts. Less than that is a rounding error or has no
	// weight.
	leastCounted = 1e-6
)

// atMostCounted returns the number of measured calls, capped at the counted calls.
func atMostCounted(measured int64, calls float64) int64 {
	if most := math.Ceil(calls * (1 - rounding)); calls > leastCounted && float64(measured) > most {
		return int64(most)
	}
	return measured
}

// countedShare returns the factor that caps measured calls at the counted calls: 1, or less if there are more.
func countedShare(measured, calls float64) float64 {
	if calls > leastCounted && measured > calls*(1+rounding) {
		return calls / measured
	}
	return 1
}

// boundRecords caps the measured calls of methods at their counted calls. It reduces the calls of their parts
// and of their callers' edges in proportion.
func (c *Costs) boundRecords() {
	type method struct {
		Service
		version, full string
	}
	shares := map[method]float64{}
	for i := range c.Methods {
		m := &c.Methods[i]
		if share := countedShare(float64(max(m.Measured, m.CPUMeasured)), m.Calls); share < 1 {
			shares[method{m.Service, m.Version, m.Full}] = share
		}
		m.Measured, m.CPUMeasured = atMostCounted(m.Measured, m.Calls), atMostCounted(m.CPUMeasured, m.Calls)
	}
	if len(shares) == 0 {
		return
	}
	for i := range c.Parts {
		p := &c.Parts[i]
		if share, found := shares[method{p.Service, p.Version, p.Full}]; found {
			p.Measured, p.CPUMeasured = int64(share*float64(p.Measured)), int64(share*float64(p.CPUMeasured))
		}
	}
	for i := range c.Edges {
		e := &c.Edges[i]
		if share, found := shares[method{e.Service, e.Version, e.Callee}]; found {
			e.TimedWall, e.TimedCPU = share*e.TimedWall, share*e.TimedCPU
		}
	}
}

// boundRecords caps the measured calls in the cells of each method and side at the counted calls.
func boundRecords(cells []Cell, members []Member) {
	head := map[int]bool{}
	for _, m := range members {
		head[m.Member] = m.Side == SideHead
	}
	for from := 0; from < len(cells); {
		to := from
		var records, weight, timed, calls [2]float64
		side := func(c *Cell) int {
			if head[c.Member] {
				return 1
			}
			return 0
		}
		for ; to < len(cells) && cells[to].Full == cells[from].Full; to++ {
			c := &cells[to]
			s := side(c)
			records[s] += c.Records
			weight[s] += c.Weight
			timed[s] += c.TimedWall + c.TimedCPU
			calls[s] += c.Calls
		}
		for i := range cells[from:to] {
			c := &cells[from+i]
			s := side(c)
			if share := countedShare(records[s], weight[s]); share < 1 {
				c.Records, c.Near, c.Over, c.Far = share*c.Records, share*c.Near, share*c.Over, share*c.Far
			}
			if share := countedShare(timed[s], calls[s]); share < 1 {
				c.TimedWall, c.TimedCPU = share*c.TimedWall, share*c.TimedCPU
			}
		}
		from = to
	}
}
