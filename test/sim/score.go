package sim

import (
	"math"
	"slices"

	"github.com/corehour/corehour/regression/compare/evidence"
)

// Buckets are the lower bounds of the classes of head records for which power is counted.
var Buckets = []float64{30, 300, 3_000, 30_000}

// Score contains the counts for one detection method.
type Score struct {
	Name        string
	Deployments int
	Unchanged   int // unchanged methods
	False       int // unchanged methods that any evaluation reported
	Power       map[float64][]Power
}

// Power contains the counts for changed methods of one effect and class of records.
type Power struct {
	Methods int
	Found   int
	// Minutes is the time from the first bucket to the report of each found method, in ascending order.
	Minutes []float64
	// Due counts methods that reach 300 records after warm-up early enough to leave ten more minutes.
	// OnTime counts the ones found within that time.
	Due, OnTime int
}

// MedianMinutes returns the median over all methods. It is infinite if fewer than half were found.
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

// FalsePer1000 returns the number of false alarms per 1,000 unchanged methods and deployment.
func (s *Score) FalsePer1000() float64 { return 1000 * float64(s.False) / float64(s.Unchanged) }

// watch runs a detector over a deployment, evaluation by evaluation.
func watch(kind Kind, d *Deployment) Score {
	raised := make([]int, len(d.Truth)) // number of the evaluation, 0 for never
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

// due returns, by method, the first evaluation with at least records head records after the longest
// warm-up, or 0 for none.
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
