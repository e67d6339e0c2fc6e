package evidence

import "github.com/corehour/corehour/regression/stats"

// A bucket's mean is shrunk towards the mean of all buckets. That mean counts as 1/(variance between the buckets'
// means) records, because the logarithm of a record has a variance of about 1. The number is at least 20, for
// methods with incidents, and at most 2000, as buckets differ by at least 2%.
const shrinkLow, shrinkHigh = 20, 2000

// means computes the base's means per caller and bucket. The mean of a bucket with few records is shrunk towards the
// mean of all buckets times the factor of the bucket, which all callers share.
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
		spread := 0.0 // calls of the head that are compared with the mean of all buckets
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

// errorOfBuckets returns the variance of the change from buckets in which the base's mean is uncertain: the variance
// between buckets, for the part of the head's calls that lies in other buckets than the base's calls.
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

// factors computes the effect of each bucket on all callers of the method, for example of an incident or of the hour.
// Their variance sets shrink, the number of records that the mean of all buckets counts as.
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
