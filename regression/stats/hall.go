package stats

import "math"

// Moments are Clusters with the sums of products of three, which say how skew the
// clusters are. They add up.
type Moments struct {
	Clusters
	NNN, NNX, NXX, XXX float64
}

// AddCluster adds one cluster of size n and quantity x.
func (m *Moments) AddCluster(n, x float64) {
	m.Count++
	m.N += n
	m.X += x
	m.NN += n * n
	m.NX += n * x
	m.XX += x * x
	m.NNN += n * n * n
	m.NNX += n * n * x
	m.NXX += n * x * x
	m.XXX += x * x * x
}

// Add adds the sums of other clusters.
func (m *Moments) Add(o Moments) {
	m.Clusters.Add(o.Clusters)
	m.NNN += o.NNN
	m.NNX += o.NNX
	m.NXX += o.NXX
	m.XXX += o.XXX
}

// HallInterval is that of the ratio X/N.
func (m Moments) HallInterval(level float64) (Estimate, Interval, bool) {
	if m.Count < 2 || !(m.N > 0) {
		return Estimate{}, Interval{}, false
	}
	r := m.X / m.N
	total, interval, ok := Residuals{
		Count:   m.Count,
		Squares: math.Max(0, m.XX-2*r*m.NX+r*r*m.NN), // rounding may make it negative
		Cubes:   m.XXX - 3*r*m.NXX + 3*r*r*m.NNX - r*r*r*m.NNN,
	}.HallInterval(m.X, level)
	mean := Estimate{Value: r, SE: total.SE / m.N, DF: total.DF}
	return mean, Interval{interval.Low / m.N, interval.High / m.N}, ok
}

// Residuals are sums over clusters of powers of what each differs from its
// expectation. They say how far off a total is whose own sum of residuals is 0.
type Residuals struct {
	Count          int64
	Squares, Cubes float64
}

// HallInterval is the interval of a total that allows for skew clusters (Hall 1992,
// On the removal of skewness by transformation; the cubic that is monotone). Costs
// are skew to the right, so a symmetric interval misses on the high side: the truth
// lies above it. False if there are fewer than two clusters: then nothing is known
// about the error.
func (r Residuals) HallInterval(total, level float64) (Estimate, Interval, bool) {
	if r.Count < 2 {
		return Estimate{Value: total}, Interval{}, false
	}
	k := float64(r.Count)
	e := Estimate{Value: total, SE: math.Sqrt(k / (k - 1) * r.Squares), DF: k - 1}
	z, skew, root := quantile(level, e.DF), r.skewness(), math.Sqrt(k)
	return e, Interval{
		Low:  total - e.SE*hallInverse(z, skew, root),
		High: total - e.SE*hallInverse(-z, skew, root),
	}, true
}

// skewness of the clusters; 0 where none vary.
func (r Residuals) skewness() float64 {
	if !(r.Squares > 0) {
		return 0
	}
	return r.Cubes / float64(r.Count) / math.Pow(r.Squares/float64(r.Count), 1.5)
}

// hallInverse is the value of Student's statistic that the transformation takes
// to z.
func hallInverse(z, skew, root float64) float64 {
	a := skew / root
	if math.Abs(a) < 1e-9 {
		return z
	}
	return 3 / a * (math.Cbrt(1+a*(z-a/6)) - 1)
}
