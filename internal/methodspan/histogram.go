package methodspan

import (
	"math"
	"slices"
)

// Gamma is the growth factor of the logarithmic bins, the same in the whole table. Replacing
// a value by BinValue of its bin changes it by at most 1%, the relative accuracy of DDSketch
// at alpha = 0.01.
const Gamma = 1.01 / 0.99

var logGamma = math.Log(Gamma)

// Bin is one bin of a histogram. Bin i holds the values in [Gamma^i, Gamma^(i+1)); bin 0
// also holds everything below 1. N is a weight, which can have a fraction.
type Bin struct {
	Bin int32   `column:"bin"`
	N   float64 `column:"n"`
}

// Histogram is a list of distinct bins, sorted by number.
type Histogram []Bin

// BinOf returns the bin of a value in ns.
func BinOf(x float64) int32 {
	if !(x >= 1) { // NaN too
		return 0
	}
	return int32(math.Floor(math.Log(x) / logGamma))
}

// BinValue returns a value within 1% of every value in the bin.
func BinValue(bin int32) float64 {
	return 2 * math.Pow(Gamma, float64(bin)+1) / (1 + Gamma)
}

// MaxBin is the bin of the largest int64 number of nanoseconds.
var MaxBin = BinOf(math.MaxInt64)

// addToBin adds the weight n to a bin.
func (h *Histogram) addToBin(bin int32, n float64) {
	list := *h
	i := len(list)
	if i > 0 && list[i-1].Bin >= bin {
		i, _ = slices.BinarySearchFunc(list, bin, func(b Bin, bin int32) int { return int(b.Bin) - int(bin) })
		if list[i].Bin == bin {
			list[i].N += n
			return
		}
	}
	*h = slices.Insert(list, i, Bin{bin, n})
}

// Normalize sorts the bins and merges equal ones, in place.
func (h Histogram) Normalize() Histogram {
	slices.SortFunc(h, func(a, b Bin) int { return int(a.Bin) - int(b.Bin) })
	out := h[:0]
	for _, b := range h {
		if n := len(out); n > 0 && out[n-1].Bin == b.Bin {
			out[n-1].N += b.N
		} else {
			out = append(out, b)
		}
	}
	return out
}

// From returns the weight of the values at or above x. It assumes that the values in the bin
// of x are spread evenly.
func (h Histogram) From(x float64) float64 {
	at := BinOf(x)
	var above float64
	for _, b := range h {
		switch {
		case b.Bin > at:
			above += b.N
		case b.Bin == at:
			low, high := math.Pow(Gamma, float64(at)), math.Pow(Gamma, float64(at)+1)
			if at == 0 {
				low = 0
			}
			above += b.N * min(max((high-x)/(high-low), 0), 1)
		}
	}
	return above
}

// Total returns the sum of the weights.
func (h Histogram) Total() float64 {
	var t float64
	for _, b := range h {
		t += b.N
	}
	return t
}
