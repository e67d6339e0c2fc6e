package query

import "math"

// A process may say that it measured more calls of a method than were counted. Weights share out
// the calls that were counted (ADR 0040), so no figure rests on more records than these. Where no
// calls are known, as their counts were lost or are in another warehouse, records stay.

const (
	// rounding is what sums of weights differ by from the calls that they share out.
	rounding = 1e-9
	// Fewer calls are what rounding leaves of none, or weigh nothing.
	leastCounted = 1e-6
)

// atMostCounted is a number of measured calls, no more than were counted.
func atMostCounted(measured int64, calls float64) int64 {
	if most := math.Ceil(calls * (1 - rounding)); calls > leastCounted && float64(measured) > most {
		return int64(most)
	}
	return measured
}

// countedShare is the part of what was measured that it comes to: 1 unless it is more than was counted.
func countedShare(measured, calls float64) float64 {
	if calls > leastCounted && measured > calls*(1+rounding) {
		return calls / measured
	}
	return 1
}

// boundRecords takes what is more than was counted off the methods, and off their parts and what their
// callers paid for in proportion.
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

// boundRecords takes what is more than was counted off the cells of each method and side.
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
