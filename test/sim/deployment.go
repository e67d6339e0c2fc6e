package sim

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/corehour/corehour/regression/compare/evidence"
)

// Plan says what deployments to draw.
type Plan struct {
	Methods int
	// Effects are given to Changed of the methods in turn, as a share: 0.05 is 5%
	// more expensive. Uniform moves all methods.
	Effects []float64
	Changed float64
	Uniform float64
	// Overlap says how the versions lie in time. Where they do not overlap, all
	// instances are replaced at once.
	Overlap evidence.Overlap
	// Samples also draws records for tests that need them.
	Samples bool
}

// Deployment is one that was drawn: the truth, and what is known of it.
type Deployment struct {
	evidence.Deployment
	Truth []Method
	// Totals are by method, side and bucket, of all records, warm or not.
	Totals [][2][Looks]Total
	// Samples are the logarithms of some records by method, side and bucket.
	Samples [][2][Looks][]float32

	before      int // buckets before the head's first
	headMinutes float64
	days        [judgedDays]float64 // what dates do to all methods, the head's last
}

// Total is what naive tests look at.
type Total struct{ Records, Sum, Squares float64 }

// sampled is the number of records that are drawn for tests which need records,
// by side and bucket, on average.
const sampled = 500

// Draw draws a deployment, using the memory of reuse if that is not nil.
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
			d.apart(rm, n, instances)
		}
	}
	return d
}

// method draws the cells of one method.
func (d *Deployment) method(r *rand.Rand, n int, instances []instance) {
	m := &d.Truth[n]
	records := m.Records / d.headMinutes * bucketMinutes // of an instance and bucket
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

// sample draws new records of a cell: as many as its share of the bucket's.
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
