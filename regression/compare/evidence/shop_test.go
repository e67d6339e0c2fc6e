package evidence_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/corehour/corehour/regression/compare/evidence"
)

// shop is a small service with known costs: entry points call other methods a given number of times per call, and each
// method has an own cost.
type shop struct {
	methods []shopMethod
	// Number of instances of each version, which run all the time, and of buckets of 5 minutes.
	bases, heads, buckets int
	started               int // bucket in which the head starts
	slow                  float64
	// Standard deviation of the mean of a record, relative to its mean, if few calls make most of it; 0 = 0.6.
	heavy float64
	// Standard deviation of the effect of a busy host on a method: per instance, and per bucket.
	upset           float64
	lasting, upsets map[string]float64
}

type shopMethod struct {
	name  string
	self  [2]float64            // ns per call, by side
	calls [2]map[string]float64 // callee -> calls per call of this method
	entry [2]float64            // calls from outside, per instance and bucket
}

func newShop() *shop {
	s := &shop{bases: 12, heads: 6, buckets: 12}
	for i := range 12 { // enough other methods for a common change
		s.methods = append(s.methods, shopMethod{name: fmt.Sprintf("other%d", i), self: [2]float64{1000, 1000}, entry: [2]float64{200, 200}})
	}
	add := func(name string, self, entry float64, calls map[string]float64) {
		s.methods = append(s.methods, shopMethod{name: name, self: [2]float64{self, self}, entry: [2]float64{entry, entry},
			calls: [2]map[string]float64{calls, calls}})
	}
	add("Total", 2000, 300, map[string]float64{"Price": 2, "Tax": 1})
	add("Price", 1500, 0, map[string]float64{"Parse": 1})
	add("Tax", 3000, 0, nil)
	add("Parse", 4000, 0, nil)
	return s
}

func (s *shop) at(name string) *shopMethod {
	i := slices.IndexFunc(s.methods, func(m shopMethod) bool { return m.name == name })
	return &s.methods[i]
}

// inclusive returns the cost of a call including its callees.
func (s *shop) inclusive(name string, side int) float64 {
	m := s.at(name)
	total := m.self[side] * math.Exp(s.upsets[name])
	for callee, n := range m.calls[side] {
		total += n * s.inclusive(callee, side)
	}
	return total
}

var epoch = time.Date(2026, 5, 6, 7, 0, 0, 0, time.UTC)

// deployment draws the cells: the number of calls from a Poisson distribution, and costs with a deviation of 60% per
// record, 5% per instance and 2% per instance and bucket.
func (s *shop) deployment(seed uint64) *evidence.Deployment {
	r := rand.New(rand.NewPCG(seed, 1))
	d := &evidence.Deployment{Begin: epoch, Bucket: 5 * time.Minute, Buckets: s.buckets, Callers: []string{"(entry)"}}
	for _, m := range s.methods {
		d.Methods = append(d.Methods, m.name)
		d.Callers = append(d.Callers, m.name)
	}
	for i := range s.bases + s.heads {
		in := evidence.Instance{ID: fmt.Sprint("i", i)}
		if i >= s.bases {
			in.Side = evidence.Head
			in.Started = epoch.Add(time.Duration(s.started) * d.Bucket)
		}
		d.Instances = append(d.Instances, in)
		own := 0.05 * r.NormFloat64()
		for bucket := range s.buckets {
			if in.Side == evidence.Head && bucket < s.started {
				continue
			}
			shift := own + 0.02*r.NormFloat64()
			s.disturb(r, bucket)
			if in.Side == evidence.Head && bucket < s.started+2 {
				shift += s.slow // until it is warm
			}
			for _, m := range s.methods {
				if n := m.entry[in.Side]; n > 0 {
					s.call(d, r, m.name, "(entry)", i, bucket, n, shift)
				}
			}
		}
	}
	return d
}

// disturb draws the effects of the host on methods in one bucket of an instance.
func (s *shop) disturb(r *rand.Rand, bucket int) {
	if s.upset == 0 {
		return
	}
	if bucket == 0 {
		s.lasting, s.upsets = map[string]float64{}, map[string]float64{}
	}
	for _, m := range s.methods {
		if bucket == 0 {
			s.lasting[m.name] = s.upset * r.NormFloat64()
		}
		s.upsets[m.name] = s.lasting[m.name] + s.upset*r.NormFloat64()
	}
}

// call adds n calls of a method from a caller, and the calls that they make.
func (s *shop) call(d *evidence.Deployment, r *rand.Rand, name, caller string, instance, bucket int, n, shift float64) {
	side := int(d.Instances[instance].Side)
	calls := math.Round(n + math.Sqrt(n)*r.NormFloat64())
	if calls <= 0 {
		return
	}
	noise := 0.6 / math.Sqrt(calls) * r.NormFloat64()
	mean := noise
	if s.heavy > 0 {
		mean = max(s.heavy/math.Sqrt(calls)*r.NormFloat64(), -0.9)
	}
	cost := s.inclusive(name, side) * math.Exp(shift)
	d.Cells = append(d.Cells, evidence.Cell{
		Method: int32(slices.Index(d.Methods, name)), Caller: int32(slices.Index(d.Callers, caller)),
		Instance: int32(instance), Bucket: int32(bucket), Records: calls, Weight: calls,
		Sum: calls * cost * (1 + mean), Capped: calls * cost * (1 + noise), Log: calls * (math.Log(cost) + noise),
		Calls: calls, Timed: calls,
	})
	for _, callee := range slices.Sorted(func(yield func(string) bool) {
		for c := range s.at(name).calls[side] {
			if !yield(c) {
				return
			}
		}
	}) {
		s.call(d, r, callee, name, instance, bucket, calls*s.at(name).calls[side][callee], shift)
	}
}

// watch evaluates after every bucket and returns the last result.
func watch(t *testing.T, d *evidence.Deployment, o evidence.Options) *evidence.Result {
	t.Helper()
	var memory evidence.Memory
	var last *evidence.Result
	buckets := d.Buckets
	for d.Buckets = 1; d.Buckets <= buckets; d.Buckets++ {
		result, next, err := evidence.Evaluate(d, o, memory)
		if err != nil {
			t.Fatal(err)
		}
		last, memory = result, next
		traceAgrees(t, result)
	}
	d.Buckets = buckets
	return last
}

func verdictOf(t *testing.T, r *evidence.Result, method string) evidence.Verdict {
	t.Helper()
	for _, v := range append(slices.Clone(r.Methods), r.Calls...) {
		if v.FullName == method {
			return v
		}
	}
	t.Fatalf("no verdict on %s", method)
	return evidence.Verdict{}
}

// alerted returns the alerts as "kind method".
func alerted(r *evidence.Result) []string {
	out := []string{}
	for _, a := range r.Alerts {
		out = append(out, string(a.Kind)+" "+a.Name())
	}
	return out
}

// figure returns *p, or 0 if p is nil.
func figure(p *float64) float64 {
	if p == nil {
		return 0
	}
	return *p
}
