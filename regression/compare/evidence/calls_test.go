package evidence

import (
	"math"
	"testing"
	"time"
)

// A loop makes exactly the same number of calls each time. A variance of zero must not prevent a verdict.
func TestCompareCalls_ZeroVariance(t *testing.T) {
	const a, b, fromOutside, fromA = 0, 1, 0, 1
	for calls, found := range map[float64]bool{1: false, 6: true} {
		d := &Deployment{Methods: []string{"A", "B"}, Callers: []string{"(entry)", "A"}, Bucket: time.Minute, Buckets: 10}
		for i := range int32(4) {
			d.Instances = append(d.Instances, Instance{Side: []Side{Base, Head}[i%2]})
			each := []float64{1, calls}[i%2]
			for bucket := range int32(d.Buckets) {
				d.Cells = append(d.Cells,
					Cell{Method: a, Caller: fromOutside, Instance: i, Bucket: bucket, Calls: 10, Timed: 10},
					Cell{Method: b, Caller: fromA, Instance: i, Bucket: bucket, Calls: 10 * each, Timed: 10 * each})
			}
		}
		o := Defaults()
		x, err := newIndex(d, o)
		if err != nil {
			t.Fatal(err)
		}
		pairs, err := compareCalls(x, o)
		if err != nil || len(pairs) != 1 {
			t.Fatalf("%d pairs, %v", len(pairs), err)
		}
		p := pairs[0]
		if !p.fits[cost].ok || math.Abs(p.fits[cost].change-math.Log(calls)) > 1e-9 || p.logE > math.Log(1000) != found {
			t.Errorf("%v calls a call: change %v, e-value e^%v, told %v", calls, p.fits[cost].change, p.logE, p.fits[cost].ok)
		}
	}
}
