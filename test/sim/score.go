package sim

import (
	"math"
	"slices"

	"github.com/corehour/corehour/regression/compare/evidence"
)

// Buckets are the lower ends of the classes of records of the head version by
// which power is counted.
var Buckets = []float64{30, 300, 3_000, 30_000}

// Score is what is counted of one way of judging.
type Score struct {
	Name        string
	Deployments int
	Unchanged   int // methods
	False       int // of them raised, in any look
	Power       map[float64][]Power
}

// Power is what is counted of changed methods of one effect and bucket.
type Power struct {
	Methods int
	Found   int
	// Minutes from the first bucket to the evaluation that raised it, sorted.
	Minutes []float64
	// Due had 300 records after warm-up in an evaluation that leaves ten minutes;
	// OnTime were found by then.
	Due, OnTime int
}

// MedianMinutes is that of all methods, infinite where less than half was found.
func (p Power) MedianMinutes() float64 {
	if p.Methods == 0 || 2*p.Found < p.Methods {
		return math.Inf(1)
	}
	return p.Minutes[(p.Methods-1)/2]
}

func (p *Power) merge(o Power) {
	p.Methods += o.Methods
	p.Found += o.Found
	p.Due += o.Due
	p.OnTime += o.OnTime
	p.Minutes = append(p.Minutes, o.Minutes...)
	slices.Sort(p.Minutes)
}

func (s *Score) merge(o Score) {
	s.Name = o.Name
	s.Deployments += o.Deployments
	s.Unchanged += o.Unchanged
	s.False += o.False
	if s.Power == nil {
		s.Power = map[float64][]Power{}
	}
	for effect, buckets := range o.Power {
		if s.Power[effect] == nil {
			s.Power[effect] = make([]Power, len(Buckets))
		}
		for b := range buckets {
			s.Power[effect][b].merge(buckets[b])
		}
	}
}

// FalsePer1000 are the false alarms per 1000 methods of a deployment.
func (s *Score) FalsePer1000() float64 { return 1000 * float64(s.False) / float64(s.Unchanged) }

// watch shows a deployment to a detector, evaluation by evaluation.
func watch(kind Kind, d *Deployment) Score {
	raised := make([]int, len(d.Truth)) // look, 0 for never
	detector := kind.New()
	for buckets := 1; buckets <= Looks; buckets++ {
		for _, m := range detector.Look(d, buckets) {
			if raised[m] == 0 {
				raised[m] = buckets
			}
		}
	}
	due := d.due(300)
	s := Score{Name: kind.Name, Deployments: 1, Power: map[float64][]Power{}}
	for m := range d.Truth {
		effect := math.Round(1000*math.Expm1(d.Truth[m].Effect)) / 1000
		if effect == 0 {
			s.Unchanged++
			if raised[m] > 0 {
				s.False++
			}
			continue
		}
		bucket := -1
		records := d.upTo(m, int(evidence.Head), Looks).Records
		for b, low := range Buckets {
			if records >= low {
				bucket = b
			}
		}
		if bucket < 0 {
			continue
		}
		if s.Power[effect] == nil {
			s.Power[effect] = make([]Power, len(Buckets))
		}
		p := &s.Power[effect][bucket]
		p.Methods++
		if raised[m] > 0 {
			p.Found++
			p.Minutes = append(p.Minutes, float64(raised[m])*bucketMinutes)
		}
		if by := due[m] + 2; due[m] > 0 && by <= Looks {
			p.Due++
			if raised[m] > 0 && raised[m] <= by {
				p.OnTime++
			}
		}
	}
	for _, buckets := range s.Power {
		for b := range buckets {
			slices.Sort(buckets[b].Minutes)
		}
	}
	return s
}

// due is the evaluation that has so many records of the head version after the longest
// warm-up, by method; 0 if none has.
func (d *Deployment) due(records float64) []int {
	warm := make([][Looks]float64, len(d.Truth))
	for _, c := range d.Cells {
		in := d.Instances[c.Instance]
		if in.Side == evidence.Head && float64(c.Bucket)*bucketMinutes >= in.Started.Sub(begin).Minutes()+warmUpHigh {
			warm[c.Method][int(c.Bucket)-d.before] += c.Records
		}
	}
	out := make([]int, len(warm))
	for m := range warm {
		total := 0.0
		for bucket, n := range warm[m] {
			if total += n; total >= records {
				out[m] = bucket + 1
				break
			}
		}
	}
	return out
}
