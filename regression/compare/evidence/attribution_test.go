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

// layered returns a service of layers of two methods. Both methods of a layer call both of the next. The lowest layer
// became more expensive.
func layered(depth int) *evidence.Deployment {
	rng := rand.New(rand.NewPCG(1, 2))
	d := &evidence.Deployment{Begin: epoch, Bucket: 5 * time.Minute, Buckets: 6, Callers: []string{"(entry)"}}
	for layer := range depth {
		for k := range 2 {
			name := fmt.Sprintf("L%02d.%d", layer, k)
			d.Methods, d.Callers = append(d.Methods, name), append(d.Callers, name)
		}
	}
	layers := len(d.Methods)
	for i := range 3 * layers { // enough other methods for a common change
		d.Methods = append(d.Methods, fmt.Sprint("other", i))
	}
	for i := range 8 {
		d.Instances = append(d.Instances, evidence.Instance{ID: fmt.Sprint(i), Side: []evidence.Side{evidence.Base, evidence.Head}[i%2]})
	}
	for m := range d.Methods {
		callers := []int{0}
		if m < layers-2 {
			callers = []int{1 + m/2*2 + 2, 1 + m/2*2 + 3}
		}
		for i, in := range d.Instances {
			cost := 1e5 * (1 + 0.002*float64(m/2)) // callees cost less than callers, so they come first
			switch {
			case m >= layers:
				cost = 1e5
			case in.Side == evidence.Head:
				cost += 1e5
			}
			for bucket := range d.Buckets {
				for _, caller := range callers {
					n := 200.0 / float64(len(callers))
					x := cost * (1 + 0.02*rng.NormFloat64())
					d.Cells = append(d.Cells, evidence.Cell{
						Method: int32(m), Caller: int32(caller), Instance: int32(i), Bucket: int32(bucket),
						Records: n, Weight: n, Sum: n * x, Capped: n * x, Log: n * math.Log(x), Calls: n, Timed: n,
					})
				}
			}
		}
	}
	return d
}

// 40 layers with two methods each have 2^40 paths. No method is visited twice.
func TestEvaluate_ManyLayers(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("long arithmetic on one goroutine: runs without -short and without -race")
	}
	d := layered(40)
	done := make(chan *evidence.Result, 1)
	go func() {
		o := evidence.Defaults()
		o.WarmUp, o.Evaluations = 0, 1
		r, _, err := evidence.Evaluate(d, o, evidence.Memory{})
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	select {
	case r := <-done:
		got := alerted(r)
		slices.Sort(got)
		if want := []string{"regression L00.0", "regression L00.1"}; !slices.Equal(got, want) {
			t.Errorf("alerts %q, want %q", got, want)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("no end in sight")
	}
}
