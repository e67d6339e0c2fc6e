package evidence

import (
	"fmt"
	"slices"
	"time"
)

// index is a validated Deployment with its cells grouped by method and the buckets of each instance that count.
type index struct {
	d        *Deployment
	cells    []Cell
	first    []int  // method -> index of its first cell; has one more element
	warm     []bool // instance x bucket: whether it is after warm-up
	heads    int    // number of instances
	bases    int
	position []int32   // caller -> its number among those of the current method, or -1
	callees  [][]int32 // method -> cells of the calls that it makes
	kept     [][]int32 // method -> callees whose cost stays with it, because only one version has them
	// processBuckets and allCalls are by version.
	processBuckets, allCalls [2]float64
	processes, restarted     [2]int       // by version; restarted are those that ended young, before another started
	headCost                 float64      // cost of the head's calls from outside the measured methods
	entry                    [][2]float64 // method -> calls from outside the measured methods, and all calls
	// callersKnown is true if enough callers are known to compute own costs.
	callersKnown bool
	learned      WarmUp
}

func (x *index) at(instance, bucket int32) int { return int(instance)*x.d.Buckets + int(bucket) }

func (x *index) of(method int) []Cell { return x.cells[x.first[method]:x.first[method+1]] }

func newIndex(d *Deployment, o Options) (*index, error) {
	if d.Bucket <= 0 || d.Buckets < 0 {
		return nil, fmt.Errorf("deployment: Bucket must be positive and Buckets at least 0, found %v and %d", d.Bucket, d.Buckets)
	}
	x := &index{d: d, cells: d.Cells, first: make([]int, len(d.Methods)+1), warm: make([]bool, len(d.Instances)*d.Buckets)}
	x.kept = make([][]int32, len(d.Methods))
	x.callees, x.entry = make([][]int32, len(d.Methods)), make([][2]float64, len(d.Methods))
	x.position = make([]int32, len(d.Callers))
	for i := range x.position {
		x.position[i] = -1
	}
	for i, in := range d.Instances {
		x.processes[in.Side] += max(1, in.Processes)
		if in.Side == Head {
			x.heads++
		} else {
			x.bases++
		}
		for s := range d.Buckets {
			begins := d.Begin.Add(d.Bucket * time.Duration(s))
			x.warm[i*d.Buckets+s] = in.Started.IsZero() || !begins.Before(in.Started.Add(max(o.WarmUp, 0)))
		}
	}
	sorted := true
	for i := range d.Cells {
		c := &d.Cells[i]
		if int(c.Method) >= len(d.Methods) || int(c.Caller) >= len(d.Callers) || int(c.Instance) >= len(d.Instances) ||
			min(c.Method, c.Caller, c.Instance, c.Bucket) < 0 {
			return nil, fmt.Errorf("deployment: cell %d points outside of the lists: %+v", i, *c)
		}
		if sum := c.Records + c.Weight + c.Sum + c.Capped + c.Log + c.Calls + c.Timed + c.Near + c.NearWeight + c.Over + c.OverWeight + c.Far + c.FarWeight; sum-sum != 0 {
			return nil, fmt.Errorf("deployment: cell %d must hold finite sums, found %+v", i, *c)
		}
		x.first[c.Method+1]++
		sorted = sorted && (i == 0 || d.Cells[i-1].Method <= c.Method)
	}
	for m := range d.Methods {
		x.first[m+1] += x.first[m]
	}
	if !sorted {
		x.cells = slices.Clone(d.Cells)
		slices.SortStableFunc(x.cells, func(a, b Cell) int { return int(a.Method) - int(b.Method) })
	}
	return x, nil
}

// shown reports whether a cell lies in a complete bucket after warm-up.
func (x *index) shown(c *Cell) bool {
	return int(c.Bucket) < x.d.Buckets && x.warm[x.at(c.Instance, c.Bucket)]
}

// counts reports whether a cell is part of the comparison of costs.
func (x *index) counts(c *Cell) bool {
	return c.Records > 0 && c.Weight > 0 && x.shown(c)
}

// headBuckets returns the number of buckets in which a warm instance of the head version ran.
func (x *index) headBuckets() (n int) {
	for s := range x.d.Buckets {
		if x.headRuns(s) {
			n++
		}
	}
	return n
}

func (x *index) headRuns(bucket int) bool {
	for i, in := range x.d.Instances {
		if in.Side == Head && x.warm[i*x.d.Buckets+bucket] {
			return true
		}
	}
	return false
}
