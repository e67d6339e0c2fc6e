package evidence

import "math"

// flows computes how much more the head version pays than the base version: for a method in all, or for one callee, per
// bucket at the same number of calls of the payer. The payer is the method whose cost contains the amount.
type flows struct {
	x      *index
	level  []float64        // effects that all methods of an instance and bucket share
	caller map[string]int32 // method name -> index of it as a caller

	payer int // the method whose calls are in calls
	calls []float64
}

func newFlows(x *index, level []float64) *flows {
	f := &flows{x: x, level: level, caller: map[string]int32{}, payer: -1}
	for c, name := range x.d.Callers {
		f.caller[name] = int32(c)
	}
	return f
}

// all selects calls from any caller.
const all int32 = -1

// sums returns the calls and the cost of a method by instance and bucket, after subtracting the shared effects.
func (f *flows) sums(method int, caller int32) (calls, paid []float64) {
	calls, paid = make([]float64, len(f.x.warm)), make([]float64, len(f.x.warm))
	cells := f.x.of(method)
	for i := range cells {
		c := &cells[i]
		if caller != all && c.Caller != caller || !f.x.counts(c) {
			continue
		}
		at := f.x.at(c.Instance, c.Bucket)
		calls[at] += c.Weight
		paid[at] += c.Sum * math.Exp(-f.level[at])
	}
	return calls, paid
}

// stratum returns the bucket in which calls of both versions are compared, or 0 (all time) where no bucket has both.
func (f *flows) stratum(at int) int {
	if f.x.d.Overlap == Sequential && !f.x.d.ByAge {
		return 0
	}
	return at % f.x.d.Buckets
}

// excess returns the growth of the cost that payer pays for method, and its standard error. With payer == method it is
// the growth of the method's inclusive cost.
func (f *flows) excess(payer, method int) (ns, se float64) {
	return f.growth(payer, f.paid(payer, method))
}

// paid returns the cost that payer pays for method, by instance and bucket. With payer == method it is the method's
// inclusive cost. It is nil if payer is not a caller.
func (f *flows) paid(payer, method int) []float64 {
	from := all
	if payer != method {
		var ok bool
		if from, ok = f.caller[f.x.d.Methods[payer]]; !ok {
			return nil
		}
	}
	_, paid := f.sums(method, from)
	return paid
}

// headCalls returns the head's calls of a method by payer.
func (f *flows) headCalls(payer, method int) (n float64) {
	from, ok := f.caller[f.x.d.Methods[payer]]
	if !ok {
		return 0
	}
	calls, _ := f.sums(method, from)
	for at, c := range calls {
		if f.side(at) == Head {
			n += c
		}
	}
	return n
}

// growth returns the growth of paid at the head's calls of the payer, and its standard error.
func (f *flows) growth(payer int, paid []float64) (ns, se float64) {
	if paid == nil {
		return 0, 0
	}
	if f.payer != payer {
		f.calls, _ = f.sums(payer, all)
		f.payer = payer
	}
	var calls, costs [2][]float64
	for side := range calls {
		calls[side], costs[side] = make([]float64, f.x.d.Buckets), make([]float64, f.x.d.Buckets)
	}
	for at, n := range f.calls {
		side, s := f.side(at), f.stratum(at)
		calls[side][s] += n
		costs[side][s] += paid[at]
	}
	compared := 0.0 // calls of the head that were compared
	for s, base := range calls[Base] {
		if base > 0 {
			ns += costs[Head][s] - calls[Head][s]*costs[Base][s]/base
			compared += calls[Head][s]
		}
	}
	if !(compared > 0) {
		return 0, 0
	}
	return ns, math.Sqrt(f.variance(paid, calls, costs, ns/compared))
}

// variance returns the variance of an excess: per version, the larger of the variance between instances and that
// between buckets. Few instances give an uncertain estimate, and buckets miss the differences between instances.
// Residuals are around the mean cost per call of their version; perCall is the head's mean less the base's.
func (f *flows) variance(paid []float64, calls, costs [2][]float64, perCall float64) float64 {
	instances := make([]float64, len(f.x.d.Instances))
	var buckets, between, n [2]float64
	for at, own := range f.calls {
		side, s := f.side(at), f.stratum(at)
		base := calls[Base][s]
		if !(base > 0) || own == 0 && paid[at] == 0 {
			continue
		}
		residual := paid[at] - own*costs[Base][s]/base
		if side == Head {
			residual -= own * perCall
		} else { // weighted by its use for the head's expectation
			residual *= calls[Head][s] / base
		}
		buckets[side] += residual * residual
		instances[at/f.x.d.Buckets] += residual
	}
	for i, in := range f.x.d.Instances {
		if r := instances[i]; r != 0 {
			between[in.Side] += r * r
			n[in.Side]++
		}
	}
	total := 0.0
	for side := range buckets {
		if n[side] > 1 {
			between[side] *= n[side] / (n[side] - 1)
		}
		total += max(buckets[side], between[side])
	}
	return total
}

func (f *flows) side(at int) Side { return f.x.d.Instances[at/f.x.d.Buckets].Side }

// mostly reports whether one caller, payer, accounts for the growth of a method.
func (f *flows) mostly(payer, method int, o Options) bool {
	part, _ := f.excess(payer, method)
	whole, _ := f.excess(method, method)
	return part >= o.Explained*whole
}
