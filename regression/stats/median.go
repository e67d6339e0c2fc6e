package stats

// Weighted is a value with its weight.
type Weighted struct{ Value, Weight float64 }

// WeightedMedian returns the value with at most half of the weight below and at most half above it; 0 without
// weight. It reorders values and takes linear time.
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
