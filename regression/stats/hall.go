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

// skewness is that of the residuals around the ratio; 0 where none vary.
func (m Moments) skewness() float64 {
	r := m.X / m.N
	k := float64(m.Count)
	square := (m.XX - 2*r*m.NX + r*r*m.NN) / k
	cube := (m.XXX - 3*r*m.NXX + 3*r*r*m.NNX - r*r*r*m.NNN) / k
	if !(square > 0) {
		return 0
	}
	return cube / math.Pow(square, 1.5)
}

// HallInterval is the interval of the ratio X/N that allows for skew clusters
// (Hall 1992, On the removal of skewness by transformation; the cubic that is
// monotone). Costs are skew to the right, so a symmetric interval misses on the
// high side: the truth lies above it.
func (m Moments) HallInterval(level float64) (Estimate, Interval, bool) {
	mean, ok := m.Mean()
	if !ok {
		return mean, Interval{}, false
	}
	skew, root := m.skewness(), math.Sqrt(float64(m.Count))
	z := quantile(level, mean.DF)
	return mean, Interval{
		Low:  mean.Value - mean.SE*hallInverse(z, skew, root),
		High: mean.Value - mean.SE*hallInverse(-z, skew, root),
	}, true
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
