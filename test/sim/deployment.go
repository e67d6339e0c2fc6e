package sim

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/corehour/corehour/regression/compare/evidence"
)

// Plan describes the deployments to draw.
type Plan struct {
	Methods int
	// Effects are assigned in turn to the share Changed of the methods. 0.05 means 5% more expensive.
	// Uniform applies the effects to all methods.
	Effects []float64
	Changed float64
	Uniform float64
	// Overlap describes whether the versions run at the same time. Without overlap, all instances are
	// replaced at once.
	Overlap evidence.Overlap
	// Samples also draws single records, for tests that need them.
	Samples bool
}

// Deployment is a drawn deployment: the truth and the data that a detector sees.
type Deployment struct {
	evidence.Deployment
	Truth []Method
	// Totals are indexed by method, side and bucket. They include all records, also those during warm-up.
	Totals [][2][Looks]Total
	// Samples are the logarithms of some records, indexed by method, side and bucket.
	Samples [][2][Looks][]float32

	before      int // number of buckets before the head's first
	headMinutes float64
	days        [judgedDays]float64 // log effect of each date on all methods; the last is the head's
}

// Total contains the input of the naive tests.
type Total struct{ Records, Sum, Squares float64 }

// sampled is the mean number of records per side and bucket that are drawn for tests of single records.
const sampled = 500

// Draw draws a deployment. It reuses the memory of reuse if reuse is not nil.
func Draw(p Plan, seed, run uint64, reuse *Deployment) *Deployment {
	d := reuse
	if d == nil {
		d = &Deployment{}
	}
	r := source(seed, run, "deployment")
	instances := rollout(r)
	d.before, d.headMinutes = 0, headMinutes
	if p.Overlap != evidence.Concurrent {
		instances, d.headMinutes = replaced(r), instancesOld*Looks*bucketMinutes
	}
	if p.Overlap == evidence.Sequential {
		d.before = Looks
	}
	d.days = dates(source(seed, run, "dates"), ofServiceDay, serviceDays, serviceWeekdays)
	phase := 2 * math.Pi * r.Float64()
	d.Deployment = evidence.Deployment{
		Begin: begin, Bucket: bucketMinutes * 60e9, Buckets: d.before + Looks, Overlap: p.Overlap,
		Instances: described(instances, d.before), Callers: []string{"a", "b", "c"}, Cells: d.Cells[:0],
	}
	d.Truth, d.Samples = d.Truth[:0], nil
	d.Totals = make([][2][Looks]Total, p.Methods)
	if p.Samples {
		d.Samples = make([][2][Looks][]float32, p.Methods)
	}
	for n := range p.Methods {
		rm := source(seed, run, fmt.Sprint("method ", n))
		effect := math.Log1p(p.Uniform)
		if float64(n) < p.Changed*float64(p.Methods) {
			effect += math.Log1p(p.Effects[n%len(p.Effects)])
		}
		d.Methods = append(d.Methods, fmt.Sprintf("service.Method%d", n))
		d.Truth = append(d.Truth, newMethod(rm, effect, phase))
		if p.Overlap == evidence.Concurrent {
			d.method(rm, n, instances)
		} else {
			d.runSeparately(rm, n, instances)
		}
	}
	return d
}

// method draws the cells of method n.
func (d *Deployment) method(r *rand.Rand, n int, instances []instance) {
	m := &d.Truth[n]
	records := m.Records / d.headMinutes * bucketMinutes // per instance and bucket
	for i := range instances {
		in := &instances[i]
		own := ofInstanceMethod * r.NormFloat64()
		cold := warmUp * r.Float64()
		for bucket := in.from; bucket < in.to; bucket++ {
			shift := m.at(bucket) + in.factor[bucket] + own + math.Log1p(cold*in.cold(bucket))
			if in.side == evidence.Head {
				shift += m.Effect
			}
			for class := range classes {
				expected := records * m.share[in.side][class]
				s := m.draw(r, class, expected, shift)
				if s.n == 0 {
					continue
				}
				d.addCell(n, class, i, in.side, bucket, bucket, s)
				if d.Samples != nil {
					d.sample(r, n, in.side, bucket, class, expected, shift)
				}
			}
		}
	}
}

// sample draws new records of a cell, in proportion to the cell's share of the bucket.
func (d *Deployment) sample(r *rand.Rand, n int, side evidence.Side, bucket, class int, expected, shift float64) {
	m := &d.Truth[n]
	running := canaries
	switch {
	case bucket >= canaryMinutes/bucketMinutes:
		running = instancesOld / 2
	case side == evidence.Base:
		running = instancesOld - canaries
	}
	thin := math.Min(1, sampled/(m.Records/headMinutes*bucketMinutes*float64(running)))
	for range poisson(r, expected*thin/(1+moreInRequest)) {
		shared := m.location[class] + shift + sharedByRequest*r.NormFloat64()
		for range 1 + poisson(r, moreInRequest) {
			d.Samples[n][side][bucket] = append(d.Samples[n][side][bucket], float32(shared+m.within*r.NormFloat64()+m.tailOf(r)))
		}
	}
}
