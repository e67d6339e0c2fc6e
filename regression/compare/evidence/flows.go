package evidence

import "math"

// flows answer what the head version paid beyond the base version: a method in
// all, or to one callee, per bucket at equal calls of the one who pays.
type flows struct {
	x      *index
	level  []float64        // what all methods of an instance and bucket share
	caller map[string]int32 // of a caller

	payer int // whose calls are
	calls []float64
}

func newFlows(x *index, level []float64) *flows {
	f := &flows{x: x, level: level, caller: map[string]int32{}, payer: -1}
	for c, name := range x.d.Callers {
		f.caller[name] = int32(c)
	}
	return f
}

// all stands for calls from any caller.
const all int32 = -1

// sums adds up calls and cost of a method by instance and bucket, less what all methods
// share there.
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

// stratum is where calls of the versions are compared: the bucket, or all time where
// no bucket has both.
func (f *flows) stratum(at int) int {
	if f.x.d.Overlap == Sequential && !f.x.d.ByAge {
		return 0
	}
	return at % f.x.d.Buckets
}

// excess is what payer pays more for a method, with its standard error; with
// payer == method, for itself.
func (f *flows) excess(payer, method int) (ns, se float64) {
	return f.growth(payer, f.paid(payer, method))
}

// paid is what payer pays for a method by instance and bucket; with payer == method, for
// itself; nil where it is no caller.
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

// growth is that of what was paid, at the head's calls of the payer.
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
	compared := 0.0 // calls of the head
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

// variance of an excess: what instances differ by, and what their buckets do, the
// greater of both, as few instances say little and buckets do not say all. A side's
// residuals are around what is paid per call in it, perCall being that of the head
// beyond the base's.
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
		} else { // counts as often as the head's calls are held against it
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

// mostly reports whether a method's growth is what one of its callers pays more for it.
func (f *flows) mostly(payer, method int, o Options) bool {
	part, _ := f.excess(payer, method)
	whole, _ := f.excess(method, method)
	return part >= o.Explained*whole
}
