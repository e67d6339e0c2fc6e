package evidence

import "github.com/corehour/corehour/regression/stats"

// A bucket's mean is drawn towards that of all buckets, which counts as so many records
// as make it as uncertain as buckets differ: 1 over the variance of buckets' means,
// the logarithms of records having a variance of about 1. It is 20 where the method
// has incidents, and at most 2000: buckets differ by 2% at least.
const shrinkLow, shrinkHigh = 20, 2000

// means makes the base's means per caller and bucket. The mean of a bucket with few
// records is drawn towards that of all buckets times what the bucket does to all
// callers.
func (z *standard) means() {
	buckets := z.x.d.Buckets
	for c := range z.callers {
		for s := range buckets {
			k := c*buckets + s
			z.totalW[c] += z.baseW[k]
			z.totalN[c] += z.baseN[k]
			for y := range z.totalMean {
				z.totalMean[y][c] += z.baseY[y][k]
			}
		}
		if z.totalW[c] > 0 {
			for y := range z.totalMean {
				z.totalMean[y][c] /= z.totalW[c]
			}
		}
	}
	z.factors()
	for c := range z.callers {
		if !(z.totalN[c] > 0) {
			continue
		}
		spread := 0.0 // of the head's calls, compared with the mean of all buckets
		for s := range buckets {
			k := c*buckets + s
			share := z.baseN[k] / (z.baseN[k] + z.shrink)
			z.share[k] = share
			z.baseMean[cost][k] = (1 - share) * z.totalMean[cost][c] * z.factor[cost][s]
			z.baseMean[mean][k] = (1 - share) * z.totalMean[mean][c] * z.factor[cost][s]
			z.baseMean[level][k] = (1 - share) * (z.totalMean[level][c] + z.factor[level][s])
			if share > 0 {
				for y := range z.baseMean {
					z.baseMean[y][k] += share * z.baseY[y][k] / z.baseW[k]
				}
			}
			spread += (1 - share) * z.headW[k]
		}
		for s := range buckets {
			k := c*buckets + s
			if z.baseW[k] > 0 {
				z.use[k] = z.share[k]*z.headW[k]/z.baseW[k] + spread/z.totalW[c]
			}
		}
	}
	z.bucketError = z.errorOfBuckets()
}

// errorOfBuckets is the variance of the change that comes from calls of the head in
// buckets of which the base's mean is not known: as much as buckets differ, for the
// part of the calls that lies in other buckets than the base's.
func (z *standard) errorOfBuckets() float64 {
	buckets := z.x.d.Buckets
	head := 0.0
	for _, w := range z.headW {
		head += w
	}
	if head == 0 {
		return 0
	}
	total := 0.0
	for s := range buckets {
		off := 0.0
		for c := range z.callers {
			if !(z.totalW[c] > 0) {
				continue
			}
			own := 0.0
			for k := c * buckets; k < (c+1)*buckets; k++ {
				own += z.headW[k]
			}
			k := c*buckets + s
			off += (1 - z.share[k]) * (z.headW[k] - own*z.baseW[k]/z.totalW[c]) / head
		}
		off *= 1 - z.known[s]
		total += off * off
	}
	return total / z.shrink
}

// factors are what a bucket does to all callers of the method: an incident, the
// hour. They tell how much buckets differ, and so how far their means can be trusted.
func (z *standard) factors() {
	buckets := z.x.d.Buckets
	z.differences, z.errors = z.differences[:0], z.errors[:0]
	for s := range buckets {
		var n, w, expected, y, difference float64
		for c := range z.callers {
			k := c*buckets + s
			n += z.baseN[k]
			w += z.baseW[k]
			expected += z.baseW[k] * z.totalMean[cost][c]
			y += z.baseY[cost][k]
			difference += z.baseY[level][k] - z.baseW[k]*z.totalMean[level][c]
		}
		z.known[s], z.factor[cost][s], z.factor[level][s] = n, 1, 0
		if expected > 0 && w > 0 {
			z.factor[cost][s], z.factor[level][s] = y/expected, difference/w
			z.differences = append(z.differences, difference/w)
			z.errors = append(z.errors, 1/n)
		}
	}
	differ := stats.HeterogeneityOf(z.differences, z.errors).Between()
	z.shrink = min(max(1/differ, shrinkLow), shrinkHigh)
	for s := range buckets {
		share := z.known[s] / (z.known[s] + z.shrink)
		z.known[s] = share
		z.factor[cost][s] = 1 + share*(z.factor[cost][s]-1)
		z.factor[level][s] *= share
	}
}
