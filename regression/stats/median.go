package stats

// Weighted is a value and how much it counts.
type Weighted struct{ Value, Weight float64 }

// WeightedMedian is the value below and above which lies at most half of the
// weight. It reorders what it is given, and takes time in proportion to it. The
// value is 0 where there is no weight.
func WeightedMedian(values []Weighted) float64 {
	total := 0.0
	for _, v := range values {
		total += v.Weight
	}
	if !(total > 0) {
		return 0
	}
	below, half := 0.0, total/2
	for len(values) > 1 {
		pivot := middle(values[0].Value, values[len(values)/2].Value, values[len(values)-1].Value)
		// [0,i) less than the pivot, [i,j) equal, [j,len) greater.
		i, j := 0, len(values)
		less, equal := 0.0, 0.0
		for k := 0; k < j; {
			switch v := values[k]; {
			case v.Value < pivot:
				values[i], values[k] = values[k], values[i]
				less += v.Weight
				i++
				k++
			case v.Value > pivot:
				j--
				values[j], values[k] = values[k], values[j]
			default:
				equal += v.Weight
				k++
			}
		}
		switch {
		case below+less >= half && i > 0:
			values = values[:i]
		case below+less+equal >= half || j == len(values):
			return pivot
		default:
			below += less + equal
			values = values[j:]
		}
	}
	return values[0].Value
}

func middle(a, b, c float64) float64 { return max(min(a, b), min(max(a, b), c)) }
