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
	// Service is the outcome for the whole service. Its Truth is empty.
	Service MethodOutcome
	// Calls is the number of method pairs with a report of more calls. Every such report is false.
	Calls int
	// WarmUp is the longest warm-up that the last evaluation left out.
	WarmUp time.Duration

	drawn *deploygen.Deployment
}

// MethodOutcome contains the results of all evaluations for one method. Verdict is the first false verdict, or
// without one the first report.
type MethodOutcome struct {
	Truth deploygen.Truth
	// Minutes is the time of the first report since the records began, 0 for none.
	Minutes int
	Verdict evidence.Verdict
	// Lost is the number of later evaluations without a report.
	Lost int
	// False is the time of the first false verdict (Outcome.Raised) in minutes, 0 for none.
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
	// counted is the number of records of the changed method after which its delay starts.
	counted = 300
	// coldest is the time at which the last process with a cold cache has warmed up.
	coldest = 6 * time.Minute
)

// Delay returns the minutes from the method's 300th head record after warm-up to the report: 0 if the report comes
// earlier, infinite without a report. Warm-up lasts as long as the judge leaves out, but at most as long
// as in the scene. ok is false if there are fewer records.
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

// Early contains the counts for deployments that are evaluated after every minute.
type Early struct {
	// False counts the unchanged methods with any false verdict (Score.False), Reported those that were reported.
	False, Reported Share
	// Service counts the deployments without a change in which the whole service was reported.
	// Calls counts the deployments with a report of more calls; no scene makes more calls.
	Service, Calls Share
	// Lost counts the reported changed methods that a later evaluation did not report.
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

// CountEarly watches one deployment of every scene. Every second one uses spreads learned from earlier deployments.
func CountEarly(list []deploygen.Scene, seed uint64, progress func(done int)) (total Early, err error) {
	err = each(len(list), func(i int) (*Watched, error) {
		return watch(list[i], seed+uint64(i), i%2 == 1)
	}, total.addWatched, progress)
	return total, err
}

// Delays returns the delays of all changed methods in deployments of a scene with learned spreads, in ascending
// order.
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
