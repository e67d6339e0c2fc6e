package evidence

import "math"

// statistic is a quantity of a method that is compared between the versions.
type statistic int

const (
	cost  statistic = iota // the mean of capped cost, as a ratio: a few calls cannot decide it
	level                  // the mean logarithm, as a difference: more sensitive with heavy tails
	mean                   // the mean, as a ratio: the cost that is paid. Own cost, for a method with callees
	statistics
)

// weighting is how cells are weighted against each other.
type weighting int

const (
	byCalls weighting = iota
	// byRecords weights a cell by its precision. The level needs no total, and where sampling rates change, a bucket
	// with few records for many calls would decide it.
	byRecords
	weightings
)

func (s statistic) weighting() weighting {
	if s == level {
		return byRecords
	}
	return byCalls
}

// weights returns the weight of a cell by each weighting.
func (c *Cell) weights() [weightings]float64 {
	return [weightings]float64{byCalls: c.Weight, byRecords: c.Records}
}

// grid holds, per instance and bucket, the expected cost of the method's calls at the base's means per caller and
// bucket, and the residuals.
type grid struct {
	expected []float64 // u: sum of W * mean of the base; records for level
	residual []float64 // e: observed - expected
	variance []float64 // v: the variance of e is proportional to it
	known    []float64 // the part of v that residuals show: base cells are part of the mean that they are compared with
	// The base, each cell weighted by its use b for the head's expectation. The error of the expectation is computed
	// from these.
	used         []float64 // b*u
	usedVariance float64   // sum of b^2 v
}

// standard compares the cells of one method with the base's means. It is an indirect standardisation by caller and
// bucket: calls from other callers or at other times do not make a version more expensive. Its buffers are reused for
// all methods.
type standard struct {
	x        *index
	grids    [statistics]grid
	records  []float64 // instance x bucket
	calls    []float64
	common   []float64 // instance x bucket: the effect that is subtracted
	factorOf []float64 // exp(-common)
	// seen are the records and weight the calls that could be compared; unmatched are the calls from callers that the
	// base did not have.
	seen      [2]float64
	measured  [2]float64 // records, compared or not
	weight    [2]float64
	unmatched float64

	callers      []int32
	baseMean     [statistics][]float64 // means of the base, by caller and bucket
	share        []float64             // weight of the bucket's own mean in baseMean
	headLevel    [2]float64            // records of the head that are compared, and the sum of the base's levels at them
	paid         []float64             // instance x bucket: cost of callees; paidVariance is its variance
	paidVariance []float64
	use          [weightings][]float64 // b: use of a base cell for the head's expectation
	baseW        [weightings][]float64
	baseY        [statistics][]float64
	headW        [weightings][]float64
	factor       [statistics][]float64 // effect of a bucket on all callers
	known        []float64             // weight of the bucket's own difference in its factor
	shrink       float64
	// By bucket, to compare buckets with each other.
	differences, errors []float64
	bucketError         [weightings]float64   // variance of the change from differences between buckets
	totalW              [weightings][]float64 // by caller
	totalMean           [statistics][]float64
}

func newStandard(x *index) *standard {
	z := &standard{x: x, records: make([]float64, len(x.warm)), calls: make([]float64, len(x.warm))}
	for k := range z.grids {
		g := &z.grids[k]
		for _, p := range []*[]float64{&g.expected, &g.residual, &g.variance, &g.known, &g.used} {
			*p = make([]float64, len(x.warm))
		}
		z.factor[k] = make([]float64, x.d.Buckets)
	}
	z.known = make([]float64, x.d.Buckets)
	return z
}

// observed returns the sums of a cell for each statistic, by its weighting, after subtracting the effects that all
// methods of its instance and bucket share.
func (z *standard) observed(c *Cell) [statistics]float64 {
	logs := c.Log / c.Weight * c.Records
	if z.common == nil {
		return [statistics]float64{cost: c.Capped, level: logs, mean: c.Sum}
	}
	at := z.x.at(c.Instance, c.Bucket)
	return [statistics]float64{
		cost: c.Capped * z.factorOf[at], level: logs - c.Records*z.common[at], mean: c.Sum * z.factorOf[at],
	}
}

// remove sets the effects to subtract, by instance and bucket; nil for none.
func (z *standard) remove(common []float64) {
	z.common = common
	z.factorOf = zeros(z.factorOf, len(common))
	for at, f := range common {
		z.factorOf[at] = math.Exp(-f)
	}
}

// method fills the grids with the cells of a method. It returns false if nothing can be compared.
func (z *standard) method(cells []Cell) bool {
	z.clear(cells)
	buckets := z.x.d.Buckets
	for i := range cells {
		c := &cells[i]
		if !z.x.counts(c) {
			continue
		}
		k := int(z.x.position[c.Caller])*buckets + int(c.Bucket)
		if z.x.d.Instances[c.Instance].Side == Head {
			for j, w := range c.weights() {
				z.headW[j][k] += w
			}
			continue
		}
		for j, w := range c.weights() {
			z.baseW[j][k] += w
		}

		for s, y := range z.observed(c) {
			z.baseY[s][k] += y
		}
	}
	z.means()
	ok := false
	for i := range cells {
		ok = z.addCell(&cells[i]) || ok
	}
	for _, c := range z.callers {
		z.x.position[c] = -1
	}
	return ok
}

// addCell adds a cell to the grids and reports whether it could be compared.
func (z *standard) addCell(c *Cell) bool {
	if !z.x.counts(c) {
		return false
	}
	caller := int(z.x.position[c.Caller])
	k := caller*z.x.d.Buckets + int(c.Bucket)
	side := z.x.d.Instances[c.Instance].Side
	z.measured[side] += c.Records
	if !(z.totalW[byRecords][caller] > 0) {
		z.unmatched += c.Weight
		return false
	}
	at := z.x.at(c.Instance, c.Bucket)
	z.records[at] += c.Records
	z.calls[at] += c.Weight
	z.seen[side] += c.Records
	z.weight[side] += c.Weight
	y := z.observed(c)
	if side == Head {
		z.headLevel[0] += c.Records
		z.headLevel[1] += c.Records * z.baseMean[level][k]
	}
	weights := c.weights()
	for s := range z.grids {
		g, by := &z.grids[s], statistic(s).weighting()
		u := weights[by]
		spread := u * u / c.Records
		v, known := spread, 1.0
		if side == Base {
			own := u / z.baseW[by][k]
			known = 1 - 2*z.share[k]*own + z.share[k]*z.share[k]*own
		}
		use := z.use[by][k]
		expected := u * z.baseMean[s][k]
		if statistic(s) != level {
			u = expected
			v = spread * z.baseMean[s][k] * z.baseMean[s][k]
		}
		g.expected[at] += u
		g.residual[at] += y[s] - expected
		g.variance[at] += v
		g.known[at] += v * known
		if side == Base {
			g.used[at] += use * u
			g.usedVariance += use * use * v
		}
	}
	return true
}

// clear empties the buffers and numbers the callers of the method.
func (z *standard) clear(cells []Cell) {
	z.callers = z.callers[:0]
	for i := range cells {
		if c := cells[i].Caller; z.x.position[c] < 0 {
			z.x.position[c] = int32(len(z.callers))
			z.callers = append(z.callers, c)
		}
	}
	n := len(z.callers) * z.x.d.Buckets
	for _, p := range []*[]float64{
		&z.baseMean[cost], &z.baseMean[level], &z.baseMean[mean], &z.share, &z.use[byCalls], &z.use[byRecords], &z.baseW[byCalls], &z.baseW[byRecords], &z.baseY[cost], &z.baseY[level], &z.baseY[mean],
		&z.headW[byCalls], &z.headW[byRecords],
	} {
		*p = zeros(*p, n)
	}
	for _, p := range []*[]float64{&z.totalW[byCalls], &z.totalW[byRecords], &z.totalMean[cost], &z.totalMean[level], &z.totalMean[mean]} {
		*p = zeros(*p, len(z.callers))
	}
	z.seen, z.measured, z.weight, z.unmatched = [2]float64{}, [2]float64{}, [2]float64{}, 0
	z.headLevel = [2]float64{}
	clear(z.records)
	clear(z.calls)
	for k := range z.grids {
		g := &z.grids[k]
		g.usedVariance = 0
		for _, values := range [][]float64{g.expected, g.residual, g.variance, g.known, g.used} {
			clear(values)
		}
	}
}

func zeros(values []float64, n int) []float64 {
	if cap(values) < n {
		return make([]float64, n)
	}
	values = values[:n]
	clear(values)
	return values
}
