// Package families scores verdicts on the deployments of test/deploygen: small services, and scenes that break the
// assumptions of the model. The generator shares no code with the rule under test.
//
// Its invariant: a seed gives the same figures on every machine.
package families

import (
	"math"

	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/test/deploygen"
)

// Outcome is the verdict on one method and the truth about it.
type Outcome struct {
	Scene   *deploygen.Scene
	Truth   deploygen.Truth
	Verdict evidence.Verdict
	Raised  bool // the verdict is false
	Found   bool
}

// Judged is an evaluated deployment.
type Judged struct {
	Scene   deploygen.Scene
	Methods []Outcome
	Service evidence.Verdict
	Alerts  []evidence.Verdict
}

// earlier is the number of deployments that spreads are learned from.
const earlier = 6

// Learned returns the spreads learned from earlier deployments of 3+3 processes under the same conditions.
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

// Judge draws a deployment and evaluates it twice at its end.
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

// outcome reports whether a verdict is false (raised) and whether it finds a true change (found).
func outcome(truth deploygen.Truth, v *evidence.Verdict) (raised, found bool) {
	switch v.State {
	case evidence.Regressed, evidence.WithService:
		return truth.Unchanged, !truth.Unchanged
	case evidence.Moved:
		return truth.Unchanged, false
	case evidence.Explained: // false if nothing that the method calls changed
		return truth.Unchanged && math.Abs(truth.Inclusive) < 1e-9, false
	}
	return false, false
}
