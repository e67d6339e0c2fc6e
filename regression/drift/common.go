package drift

import (
	"fmt"
	"math"

	"github.com/corehour/corehour/regression/stats"
)

// commonMethods is the minimum number of methods for an estimate of the common level. With fewer methods, one
// that moves cannot be distinguished from the others.
const commonMethods = 5

const (
	// mostMoved is the share of methods moved on their own from which the common level is not identified. It is
	// above a third, so that chance in the count of moved methods does not matter.
	mostMoved = 0.4
	// moves is the prior probability that a method moves on its own.
	moves = 0.1
	// rounds is the number of iterations of the mixture; the weights have converged by then.
	rounds = 5
)

// moveSpreads are standard deviations, on the log scale, of the changes of methods that move on their own. Each
// is equally likely.
var moveSpreads = [...]float64{0.03, 0.1, 0.5}

// common is the daily level that the methods of a service share.
type common struct {
	// level is the common level by day, 0 where it is unknown. It is also the series of the whole service.
	level []float64
	// reason explains why the common level is not subtracted; empty if it is.
	reason string

	votes   []vote
	sum     []float64 // by day: sum of weight * value
	weights []float64
	shrink  float64
}

// vote is the contribution of one series to the common level.
type vote struct {
	center float64 // mean of the series minus the common level
	spread float64 // standard deviation from day to day
	stays  float64 // probability that the series did not move on its own
	weight []float64
}

// findCommon estimates the common level of each day by a robust mixture: a series stays around the common level
// or moves on its own. The more likely a series moved, judged over all days from the index from, the lower its
// weight. So series that moved do not pull the level towards them. Only series with votes(m) take part.
func findCommon(series [][]float64, votes func(m int) bool, from int) *common {
	c := &common{votes: make([]vote, len(series)), shrink: 1}
	days, voters := 0, 0
	for m, y := range series {
		days = len(y)
		n := 0
		for _, v := range y[from:] {
			if !math.IsNaN(v) {
				n++
			}
		}
		if votes(m) && n >= LeastDays {
			c.votes[m] = vote{stays: 1, weight: make([]float64, days)}
			voters++
		}
	}
	c.level, c.sum, c.weights = make([]float64, days), make([]float64, days), make([]float64, days)
	if voters < commonMethods {
		c.reason = fmt.Sprintf("fewer than %d methods", commonMethods)
		return c
	}
	c.medians(series, from)
	for range rounds {
		c.judge(series, from)
		c.average(series)
	}
	moved := 0
	for m := range c.votes {
		if c.votes[m].weight != nil && c.votes[m].stays < 0.5 {
			moved++
		}
	}
	if float64(moved) >= mostMoved*float64(voters) {
		c.reason = fmt.Sprintf("common part not identified: %.0f%% or more of %d methods moved on their own", 100*mostMoved, voters)
		c.medians(series, from)
		return c
	}
	c.learnShrink(from)
	return c
}

// medians sets the level of each day to the median of the centered series.
func (c *common) medians(series [][]float64, from int) {
	for m := range c.votes {
		if v := &c.votes[m]; v.weight != nil {
			v.center = medianOf(series[m][from:])
		}
	}
	values := make([]float64, 0, len(series))
	for d := range c.level {
		values = values[:0]
		for m := range c.votes {
			if v := &c.votes[m]; v.weight != nil && !math.IsNaN(series[m][d]) {
				values = append(values, series[m][d]-v.center)
			}
		}
		c.level[d] = 0
		if len(values) >= commonMethods {
			c.level[d] = stats.Median(values)
		}
	}
}

func medianOf(y []float64) float64 {
	var values []float64
	for _, v := range y {
		if !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	return stats.Median(values)
}

// judge estimates, for each series, the probability that it did not move on its own.
func (c *common) judge(series [][]float64, from int) {
	var rest []float64
	scans := make([]moveScan, len(c.votes))
	rho := pool{}
	for m := range c.votes {
		v := &c.votes[m]
		if v.weight == nil {
			continue
		}
		rest = rest[:0]
		for d := from; d < len(c.level); d++ {
			if y := series[m][d]; !math.IsNaN(y) {
				rest = append(rest, y-c.without(m, d, y))
			}
		}
		scans[m] = scanMove(rest)
		rho.addRho(scans[m].rho, len(rest))
	}
	for m := range scans {
		if s := &scans[m]; s.n > 0 {
			known, _ := rho.shrink(s.rho, s.n)
			s.long = stats.LongRun(s.squares, known, s.n)
		}
	}
	together := findCommonStep(scans)
	for m := range c.votes {
		if v, s := &c.votes[m], &scans[m]; v.weight != nil {
			v.center, v.spread = s.center, math.Sqrt(s.squares/float64(s.n-2))
			v.stays = 1 / (1 + s.oddsAlone() + together.odds(s))
		}
	}
}

// without returns the common level of day d, computed without series m, whose value on that day is y.
func (c *common) without(m, d int, y float64) float64 {
	v := &c.votes[m]
	if v.weight == nil || v.weight[d] == 0 {
		return c.level[d]
	}
	if rest := c.weights[d] - v.weight[d]; rest > 0 {
		return c.shrink * (c.sum[d] - v.weight[d]*(y-v.center)) / rest
	}
	return 0
}

// average sets the common level to the weighted mean of the series. The weight of a series is its precision times
// the probability that it stayed. It is lower on days far from the level (Student's t, 4 degrees of freedom).
func (c *common) average(series [][]float64) {
	spreads := make([]float64, 0, len(c.votes))
	for m := range c.votes {
		if c.votes[m].weight != nil {
			spreads = append(spreads, c.votes[m].spread)
		}
	}
	least := stats.Median(spreads) / 2 // lower bound on the spread, so that no series dominates
	if !(least > 0) {
		return
	}
	for d := range c.level {
		c.sum[d], c.weights[d] = 0, 0
		n := 0
		for m := range c.votes {
			v := &c.votes[m]
			if v.weight == nil {
				continue
			}
			v.weight[d] = 0
			y := series[m][d]
			if math.IsNaN(y) {
				continue
			}
			spread := max(v.spread, least)
			off := (y - v.center - c.level[d]) / spread
			v.weight[d] = max(v.stays, 1e-6) / (spread * spread) * 5 / (4 + off*off)
			c.sum[d] += v.weight[d] * (y - v.center)
			c.weights[d] += v.weight[d]
			n++
		}
		switch {
		case n < commonMethods:
			c.level[d], c.sum[d], c.weights[d] = 0, 0, 0
			for m := range c.votes {
				if c.votes[m].weight != nil {
					c.votes[m].weight[d] = 0
				}
			}
		default:
			c.level[d] = c.sum[d] / c.weights[d]
		}
	}
}

// learnShrink shrinks the common level by the share of its day-to-day variance that estimation error explains.
// Noise that methods do not share must not be subtracted.
func (c *common) learnShrink(from int) {
	var sum, squares, error2, n float64
	for d := from; d < len(c.level); d++ {
		if c.weights[d] > 0 {
			sum, squares, n = sum+c.level[d], squares+c.level[d]*c.level[d], n+1
			error2 += 1 / c.weights[d]
		}
	}
	if n < 2 {
		return
	}
	variance, noise := max(0, squares/n-sum/n*sum/n), error2/n
	if variance+noise > 0 {
		c.shrink = max(0, variance-noise) / max(variance, 1e-300)
	}
	for d := range c.level {
		c.level[d] *= c.shrink
	}
}

// subtractFrom returns the series m minus the common level of the other series.
func (c *common) subtractFrom(m int, y []float64) []float64 {
	if c.reason != "" {
		return y
	}
	out := make([]float64, len(y))
	for d, v := range y {
		out[d] = v - c.without(m, d, v)
	}
	return out
}

// moveScan holds the statistics that distinguish a series that moved on its own from one that stayed.
type moveScan struct {
	n                          int
	center, squares, rho, long float64
	contrasts, roots           []float64 // by position of the step
}

// scanMove removes the largest step, up or down, before it estimates the noise, so that a move does not count as
// noise.
func scanMove(y []float64) moveScan {
	s := moveScan{n: len(y)}
	total := 0.0
	for _, v := range y {
		total += v
	}
	sum, top, at := 0.0, -1.0, 0
	for k := 1; k <= s.n-leastSide; k++ {
		sum += y[k-1]
		if k < leastSide {
			continue
		}
		a, b := float64(k), float64(s.n-k)
		size, root := (total-sum)/b-sum/a, math.Sqrt(a*b/float64(s.n))
		s.contrasts, s.roots = append(s.contrasts, size), append(s.roots, root)
		if t := math.Abs(size) * root; t > top {
			top, at = t, k
		}
	}
	before, after := meanOf(y[:at]), meanOf(y[at:])
	rest := make([]float64, s.n)
	for i, v := range y {
		rest[i] = v - before
		if i >= at {
			rest[i] = v - after
		}
		s.squares += rest[i] * rest[i]
	}
	s.rho = stats.Autocorrelation(rest)
	s.center = total / float64(s.n)
	return s
}

func meanOf(y []float64) float64 {
	sum := 0.0
	for _, v := range y {
		sum += v
	}
	return sum / float64(len(y))
}

// oddsAlone returns the odds of a move, a step of any size at any position, against no move.
func (s *moveScan) oddsAlone() float64 {
	if !(s.long > 0) {
		return 0
	}
	odds := 0.0
	for i, d := range s.contrasts {
		error2 := s.long / (s.roots[i] * s.roots[i])
		for _, spread := range moveSpreads {
			wide := error2 + spread*spread
			odds += math.Sqrt(error2/wide) * math.Exp(min(600, d*d/2*(1/error2-1/wide)))
		}
	}
	return odds * moves / (1 - moves) / float64(len(s.contrasts)*len(moveSpreads))
}
