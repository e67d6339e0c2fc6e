package families

import (
	"math"
	"slices"
	"time"

	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/test/deploygen"
)

// Watched is a deployment that is evaluated at the end of every minute.
type Watched struct {
	Scene   deploygen.Scene
	Methods []MethodOutcome
	// Service is that of the whole service. Nothing is true of it that a method has.
	Service MethodOutcome
	// Calls is the number of pairs of which more calls were reported: never true.
	Calls int
	// WarmUp is the longest that the last evaluation left out.
	WarmUp time.Duration

	drawn *deploygen.Deployment
}

// MethodOutcome is what the evaluations said of a method. Verdict is of the first that was false
// or reported it.
type MethodOutcome struct {
	Truth deploygen.Truth
	// Minutes is its time since the records began, 0 = none reported the method.
	Minutes int
	Verdict evidence.Verdict
	// Lost is the number of later ones that did not report it.
	Lost int
	// False is the first one that said what Outcome.Raised is.
	False int
}

// Watch draws a deployment and evaluates it after every minute, as the daemon does.
func Watch(s deploygen.Scene, seed uint64, spreads evidence.Spreads) (*Watched, error) {
	drawn := deploygen.Draw(s, seed)
	d := Deployment(drawn)
	d.Spreads = spreads
	w := &Watched{Scene: s, drawn: drawn, Methods: make([]MethodOutcome, len(drawn.Methods))}
	for m := range w.Methods {
		w.Methods[m].Truth = drawn.Methods[m].Truth
	}
	var memory evidence.Memory
	calls := map[string]bool{}
	for d.Buckets = 1; d.Buckets <= drawn.Minutes(); d.Buckets++ {
		r, next, err := evidence.Evaluate(d, evidence.Defaults(), memory)
		if err != nil {
			return nil, err
		}
		memory = next
		for m := range r.Methods {
			w.Methods[m].addVerdict(&r.Methods[m], d.Buckets)
		}
		w.Service.addVerdict(&r.Service, d.Buckets)
		for i := range r.Calls {
			if r.Calls[i].State == evidence.Regressed {
				calls[r.Calls[i].Name()] = true
			}
		}
		w.WarmUp = r.WarmUp.Longest
	}
	w.Calls = len(calls)
	return w, nil
}

func (r *MethodOutcome) addVerdict(v *evidence.Verdict, minutes int) {
	if raised, _ := outcome(r.Truth, v); raised && r.False == 0 {
		r.False, r.Verdict = minutes, *v
	}
	switch reported := v.State == evidence.Regressed; {
	case reported && r.Minutes == 0:
		r.Minutes = minutes
		if r.False == 0 {
			r.Verdict = *v
		}
	case !reported && r.Minutes > 0:
		r.Lost++
	}
}

const (
	// counted is the number of records of a change from which its delay is counted.
	counted = 300
	// coldest is when the last process of a cold cache has settled.
	coldest = 6 * time.Minute
)

// Delay returns the number of minutes from the 300th record of a method in head, of those
// after warm-up, to the report: 0 for an earlier one, infinite for none. Warm-up ends with
// what the judge leaves out, and with the scene's at the latest. ok is false where
// there are fewer records.
func (w *Watched) Delay(method int) (minutes float64, ok bool) {
	warmUp := time.Duration(0)
	if w.Scene.Disturbance.ColdCache {
		warmUp = min(w.WarmUp, coldest)
	}
	var at []time.Duration
	w.drawn.Each(func(c deploygen.Call) {
		if c.Method == method && w.drawn.Processes[c.Process].Head && c.At >= warmUp {
			at = append(at, c.At)
		}
	})
	if len(at) < counted {
		return 0, false
	}
	slices.Sort(at)
	if w.Methods[method].Minutes == 0 {
		return math.Inf(1), true
	}
	return max(0, float64(w.Methods[method].Minutes)-at[counted-1].Minutes()), true
}

// Early is what is counted of deployments that are evaluated after every minute.
type Early struct {
	// False are unchanged methods of which any evaluation said what Score.False counts,
	// Reported those that were reported.
	False, Reported Share
	// Service are deployments in which nothing changed and the whole service was
	// reported, Calls those in which more calls were: none makes more.
	Service, Calls Share
	// Lost are changed methods, of those reported, that a later evaluation did not report.
	Lost Share
}

func (e *Early) addWatched(w *Watched) {
	changed := false
	for _, r := range w.Methods {
		if changed = changed || !r.Truth.Unchanged; r.Truth.Unchanged {
			e.False.count(r.False > 0)
			e.Reported.count(r.Minutes > 0)
		} else if r.Minutes > 0 {
			e.Lost.count(r.Lost > 0)
		}
	}
	if !changed {
		e.Service.count(w.Service.Minutes > 0)
	}
	e.Calls.count(w.Calls > 0)
}

// CountEarly watches deployments of some scenes. Every other one knows what earlier
// deployments differed by.
func CountEarly(list []deploygen.Scene, seed uint64, progress func(done int)) (total Early, err error) {
	err = each(len(list), func(i int) (*Watched, error) {
		return watch(list[i], seed+uint64(i), i%2 == 1)
	}, total.addWatched, progress)
	return total, err
}

// Delays returns the delays of all changed methods in deployments of a scene, spreads
// learned, in ascending order.
func Delays(s deploygen.Scene, seed uint64, deployments int, progress func(done int)) (delays []float64, err error) {
	err = each(deployments, func(i int) (*Watched, error) {
		return watch(s, seed+uint64(i), true)
	}, func(w *Watched) {
		for m, r := range w.Methods {
			if delay, ok := w.Delay(m); ok && !r.Truth.Unchanged {
				delays = append(delays, delay)
			}
		}
	}, progress)
	slices.Sort(delays)
	return delays, err
}

func watch(s deploygen.Scene, seed uint64, learned bool) (*Watched, error) {
	spreads, err := spreads(s, seed, learned)
	if err != nil {
		return nil, err
	}
	return Watch(s, seed, spreads)
}
