// Package families scores verdicts on deployments that test/deploygen draws: small
// services, and what breaks the assumptions of the model. The generator shares nothing
// with the rule that is judged here.
//
// Its invariant: a seed gives the same figures on every machine.
package families

import (
	"math"

	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/test/deploygen"
)

// Outcome is what the verdict on one method says, next to the truth.
type Outcome struct {
	Scene   *deploygen.Scene
	Truth   deploygen.Truth
	Verdict evidence.Verdict
	Raised  bool // or said to be something that it is not
	Found   bool
}

// Judged is one deployment.
type Judged struct {
	Scene   deploygen.Scene
	Methods []Outcome
	Service evidence.Verdict
	Alerts  []evidence.Verdict
}

// earlier is the number of deployments that spreads are learned from.
const earlier = 6

// Learned are the spreads that earlier deployments of 3+3 processes under the same
// conditions show.
func Learned(s deploygen.Scene, seed uint64) (evidence.Spreads, error) {
	s.Change, s.Base, s.Head = deploygen.Change{Where: deploygen.Nothing, Factor: 1}, 3, 3
	s.Disturbance = deploygen.Disturbance{}
	var seen []evidence.ProcessDifferences
	for n := range earlier {
		d, err := evidence.MeasureDifferences(Deployment(deploygen.Draw(s, seed+1_000_000*uint64(n+1))), evidence.Defaults())
		if err != nil {
			return evidence.Spreads{}, err
		}
		seen = append(seen, d)
	}
	return evidence.LearnSpreads(seen), nil
}

// Judge draws a deployment and evaluates it twice, at its end.
func Judge(s deploygen.Scene, seed uint64, spreads evidence.Spreads) (*Judged, error) {
	drawn := deploygen.Draw(s, seed)
	d := Deployment(drawn)
	d.Spreads = spreads
	d.Buckets--
	_, memory, err := evidence.Evaluate(d, evidence.Defaults(), evidence.Memory{})
	if err != nil {
		return nil, err
	}
	d.Buckets++
	r, _, err := evidence.Evaluate(d, evidence.Defaults(), memory)
	if err != nil {
		return nil, err
	}
	out := &Judged{Scene: s, Service: r.Service, Alerts: r.Alerts}
	for m := range drawn.Methods {
		o := Outcome{Scene: &out.Scene, Truth: drawn.Methods[m].Truth, Verdict: r.Methods[m]}
		o.Raised, o.Found = outcome(o.Truth, &o.Verdict)
		out.Methods = append(out.Methods, o)
	}
	return out, nil
}

// outcome reports whether a verdict says of a method what is not so, or finds its change.
func outcome(truth deploygen.Truth, v *evidence.Verdict) (raised, found bool) {
	switch v.State {
	case evidence.Regressed, evidence.WithService:
		return truth.Unchanged, !truth.Unchanged
	case evidence.Moved:
		return truth.Unchanged, false
	case evidence.Explained: // false where nothing that it calls changed
		return truth.Unchanged && math.Abs(truth.Inclusive) < 1e-9, false
	}
	return false, false
}
