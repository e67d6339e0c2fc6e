package sim

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Detector evaluates one deployment bucket by bucket and returns the methods that it reports.
type Detector interface {
	// Look evaluates the deployment up to a number of buckets, which grows by one with every call.
	Look(d *Deployment, buckets int) []int
}

// Kind is a detection method under test.
type Kind struct {
	Name string
	New  func() Detector
}

// Naive returns detection methods that are in use elsewhere. They use all records as they arrive.
func Naive() []Kind {
	const atLeast = 100
	kinds := []Kind{
		{"change > 5%, n >= 100", func() Detector { return threshold{0.05, atLeast} }},
		{"change > 10%, n >= 100", func() Detector { return threshold{0.10, atLeast} }},
		{"change > 20%, n >= 100", func() Detector { return threshold{0.20, atLeast} }},
		{"change > 50%, n >= 100", func() Detector { return threshold{0.50, atLeast} }},
		{"Welch + BH 5%", func() Detector { return tested{welchTail} }},
		{"Mann-Whitney + BH 5%", func() Detector { return tested{mannWhitneyTail} }},
	}
	return kinds
}

// upTo returns the totals of one side of a method over the first buckets.
func (d *Deployment) upTo(method, side, buckets int) Total {
	var t Total
	for _, s := range d.Totals[method][side][:buckets] {
		t.Records += s.Records
		t.Sum += s.Sum
		t.Squares += s.Squares
	}
	return t
}

type threshold struct{ change, records float64 }

func (t threshold) Look(d *Deployment, buckets int) []int {
	var raised []int
	for m := range d.Truth {
		base, head := d.upTo(m, 0, buckets), d.upTo(m, 1, buckets)
		if min(base.Records, head.Records) >= t.records && head.Sum/head.Records > (1+t.change)*base.Sum/base.Records {
			raised = append(raised, m)
		}
	}
	return raised
}

// tested reports the methods that pass the Benjamini-Hochberg procedure at 5%.
type tested struct {
	p func(d *Deployment, method, buckets int) float64 // one-sided
}

func (t tested) Look(d *Deployment, buckets int) []int {
	type scored struct {
		p      float64
		method int
	}
	all := make([]scored, len(d.Truth))
	for m := range all {
		all[m] = scored{t.p(d, m, buckets), m}
	}
	slices.SortFunc(all, func(a, b scored) int {
		if a.p != b.p {
			if a.p < b.p {
				return -1
			}
			return 1
		}
		return a.method - b.method
	})
	passed := 0
	for k, s := range all {
		if s.p <= 0.05*float64(k+1)/float64(len(all)) {
			passed = k + 1
		}
	}
	raised := make([]int, passed)
	for k := range raised {
		raised[k] = all[k].method
	}
	return raised
}

// welchTail returns the p-value of a Welch test. The test assumes independent records.
func welchTail(d *Deployment, method, buckets int) float64 {
	base, head := d.upTo(method, 0, buckets), d.upTo(method, 1, buckets)
	if min(base.Records, head.Records) < 2 {
		return 1
	}
	mean := func(t Total) (m, variance float64) {
		m = t.Sum / t.Records
		return m, math.Max(0, t.Squares/t.Records-m*m) / (t.Records - 1)
	}
	m0, v0 := mean(base)
	m1, v1 := mean(head)
	if v0+v1 == 0 {
		return 1
	}
	df := (v0 + v1) * (v0 + v1) / (v0*v0/(base.Records-1) + v1*v1/(head.Records-1))
	return distuv.StudentsT{Sigma: 1, Nu: df}.Survival((m1 - m0) / math.Sqrt(v0+v1))
}

// mannWhitneyTail ranks the drawn records in bins. The bins are so narrow that ties do not matter.
func mannWhitneyTail(d *Deployment, method, buckets int) float64 {
	const width, bins = 0.02, 2000
	var counts [2][bins]float64
	var n [2]float64
	for side := range 2 {
		for _, logs := range d.Samples[method][side][:buckets] {
			for _, y := range logs {
				bin := min(max(int(y/width), 0), bins-1)
				counts[side][bin]++
				n[side]++
			}
		}
	}
	if min(n[0], n[1]) < 8 {
		return 1
	}
	below, u := 0.0, 0.0
	for bin := range bins {
		u += counts[1][bin] * (below + counts[0][bin]/2)
		below += counts[0][bin]
	}
	return upper((u - n[0]*n[1]/2) / math.Sqrt(n[0]*n[1]*(n[0]+n[1]+1)/12))
}
