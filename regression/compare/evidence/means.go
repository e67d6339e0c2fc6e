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
			for j := range z.totalW {
				z.totalW[j][c] += z.baseW[j][k]
			}
			for y := range z.totalMean {
				z.totalMean[y][c] += z.baseY[y][k]
			}
		}
		for y := range z.totalMean {
			if total := z.totalW[statistic(y).weighting()][c]; total > 0 {
				z.totalMean[y][c] /= total
			}
		}
	}
	z.factors()
	for c := range z.callers {
		if !(z.totalW[byRecords][c] > 0) {
			continue
		}
		var spread [weightings]float64 // calls of the head that are compared with the mean of all buckets
		for s := range buckets {
			k := c*buckets + s
			share := z.baseW[byRecords][k] / (z.baseW[byRecords][k] + z.shrink)
			z.share[k] = share
			z.baseMean[cost][k] = (1 - share) * z.totalMean[cost][c] * z.factor[cost][s]
			z.baseMean[mean][k] = (1 - share) * z.totalMean[mean][c] * z.factor[cost][s]
			z.baseMean[level][k] = (1 - share) * (z.totalMean[level][c] + z.factor[level][s])
			if share > 0 {
				for y := range z.baseMean {
					z.baseMean[y][k] += share * z.baseY[y][k] / z.baseW[statistic(y).weighting()][k]
				}
			}
			for j := range spread {
				spread[j] += (1 - share) * z.headW[j][k]
			}
		}
		for s := range buckets {
			k := c*buckets + s
			for j := range spread {
				if z.baseW[j][k] > 0 {
					z.use[j][k] = z.share[k]*z.headW[j][k]/z.baseW[j][k] + spread[j]/z.totalW[j][c]
				}
			}
		}
	}
	for j := range z.bucketError {
		z.bucketError[j] = z.errorOfBuckets(weighting(j))
	}
}

// errorOfBuckets returns the variance of the change from buckets in which the base's mean is uncertain: the variance
// between buckets, for the part of the head's calls that lies in other buckets than the base's calls.
func (z *standard) errorOfBuckets(by weighting) float64 {
	buckets, headW, baseW, totalW := z.x.d.Buckets, z.headW[by], z.baseW[by], z.totalW[by]
	head := 0.0
	for _, w := range headW {
		head += w
	}
	if head == 0 {
		return 0
	}
	total := 0.0
	for s := range buckets {
		off := 0.0
		for c := range z.callers {
			if !(totalW[c] > 0) {
				continue
			}
			own := 0.0
			for k := c * buckets; k < (c+1)*buckets; k++ {
				own += headW[k]
			}
			k := c*buckets + s
			off += (1 - z.share[k]) * (headW[k] - own*baseW[k]/totalW[c]) / head
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
		var n, records, expected, y, difference float64
		for c := range z.callers {
			k := c*buckets + s
			n += z.baseW[byRecords][k]
			records += z.baseW[byRecords][k]
			expected += z.baseW[byCalls][k] * z.totalMean[cost][c]
			y += z.baseY[cost][k]
			difference += z.baseY[level][k] - z.baseW[byRecords][k]*z.totalMean[level][c]
		}
		z.known[s], z.factor[cost][s], z.factor[level][s] = n, 1, 0
		if expected > 0 && records > 0 {
			z.factor[cost][s], z.factor[level][s] = y/expected, difference/records
			z.differences = append(z.differences, difference/records)
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
