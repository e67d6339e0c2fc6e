package families

import (
	"math"
	"runtime"
	"sync"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/test/deploygen"
)

// Share counts the cases with a property: Are of Of.
type Share struct{ Of, Are int }

func (s *Share) count(is bool) {
	s.Of++
	if is {
		s.Are++
	}
}

// Percent returns the share in percent, and 0 if Of is 0.
func (s Share) Percent() float64 { return 100 * float64(s.Are) / math.Max(1, float64(s.Of)) }

// Upper returns the upper bound of the one-sided 95% interval of the share, per 1,000 (Clopper-Pearson).
func (s Share) Upper() float64 {
	if s.Are >= s.Of {
		return 1000
	}
	return 1000 * distuv.Beta{Alpha: float64(s.Are + 1), Beta: float64(s.Of - s.Are)}.Quantile(0.95)
}

// Score contains the counts for the verdicts on a family of scenes.
type Score struct {
	// False counts the unchanged methods with a false verdict: Regressed, WithService or Moved, or Explained by a
	// method that did not change.
	False Share
	// WrongSign counts the changed methods with an interval entirely below 0.
	WrongSign Share
	// Covered and CoveredBroken count the intervals that contain the true change, in scenes that meet the
	// assumptions of the model and in scenes that break them. Measured counts the intervals of measured changes.
	Covered, CoveredBroken, Measured Share
	// These count scenes with more than a third of the methods changed. NotIdentified and LikeHosts count the
	// remaining changes reported as not identified: where a test can distinguish host effects from the version, and
	// where no test can. Common counts the deployments with an exit status other than 0.
	NotIdentified, LikeHosts, Common Share
	// Under splits CoveredBroken and False by the disturbance of the scene.
	Under map[string]Under
}

// Under contains the counts for one disturbance.
type Under struct{ Covered, False Share }

func (s *Score) merge(o Score) {
	for _, pair := range [][2]*Share{
		{&s.False, &o.False}, {&s.WrongSign, &o.WrongSign}, {&s.Covered, &o.Covered}, {&s.CoveredBroken, &o.CoveredBroken},
		{&s.Measured, &o.Measured}, {&s.NotIdentified, &o.NotIdentified}, {&s.LikeHosts, &o.LikeHosts}, {&s.Common, &o.Common},
	} {
		pair[0].Of += pair[1].Of
		pair[0].Are += pair[1].Are
	}
	for name, more := range o.Under {
		u := s.Under[name]
		u.Covered.Of, u.Covered.Are = u.Covered.Of+more.Covered.Of, u.Covered.Are+more.Covered.Are
		u.False.Of, u.False.Are = u.False.Of+more.False.Of, u.False.Are+more.False.Are
		if s.Under == nil {
			s.Under = map[string]Under{}
		}
		s.Under[name] = u
	}
}

// broken reports whether a scene breaks the model's assumptions.
func broken(s deploygen.Scene) bool {
	return s.HostSD > 0.1 || s.InstanceSD > 0.03 || s.LoadingSD > 0 || s.Disturbance != deploygen.Disturbance{}
}

// bothErrors is the distance between the means of two normal distributions with standard deviation 1 at which
// both error probabilities are 5%.
const bothErrors = 2 * 1.645

// likeHosts reports whether no test can distinguish the change of a scene from host effects with error probabilities
// of 5%. This holds for any number of records and a known host spread: a change of all methods by d and hosts
// that differ by d give the same records.
func likeHosts(s deploygen.Scene) bool {
	slow := math.Log(1.2) // 1 host in 20 is slow
	host := s.HostSD*s.HostSD + 0.05*0.95*slow*slow
	return math.Log(s.Change.Factor) < bothErrors*math.Sqrt(host*(1/float64(s.Base)+1/float64(s.Head)))
}

func (j *Judged) score() (s Score) {
	changed := 0
	for _, o := range j.Methods {
		if !o.Truth.Unchanged {
			changed++
		}
	}
	common := 3*changed > len(j.Methods) && changed > 1
	var under Under
	for _, o := range j.Methods {
		v := &o.Verdict
		if o.Truth.Unchanged {
			s.False.count(o.Raised)
			under.False.count(o.Raised)
		}
		if !v.State.Judged() {
			continue
		}
		if !o.Truth.Unchanged {
			s.WrongSign.count(v.Interval[1] < 0)
		}
		if common {
			if likeHosts(j.Scene) {
				s.LikeHosts.count(v.Common == nil)
			} else {
				s.NotIdentified.count(v.Common == nil)
			}
		}
		if v.Basis != evidence.Own { // the interval is not of the method's own cost
			continue
		}
		s.Measured.count(holds(v.Measured.Interval, o.Truth.MeasuredOwn))
		switch {
		case common:
		case broken(j.Scene):
			s.CoveredBroken.count(holds(*v.Interval, o.Truth.Own))
			under.Covered.count(holds(*v.Interval, o.Truth.Own))
		default:
			s.Covered.count(holds(*v.Interval, o.Truth.Own))
		}
	}
	if common {
		s.Common.count(!j.Silent())
	}
	if d := j.Scene.Disturbance; d != (deploygen.Disturbance{}) {
		s.Under = map[string]Under{d.String(): under}
	}
	return s
}

// holds reports whether an interval in percent contains a change given as a logarithm.
func holds(interval [2]float64, log float64) bool {
	truth := 100 * math.Expm1(log)
	return interval[0] <= truth && truth <= interval[1]
}

// open reports whether a verdict makes the command exit with status 3.
func open(s evidence.VerdictState) bool {
	return s == evidence.Undecided || s == evidence.NotDistinguishable
}

// Silent reports whether the command would exit with status 0: no alerts and no open verdicts.
func (j *Judged) Silent() bool {
	if len(j.Alerts) > 0 || open(j.Service.State) {
		return false
	}
	for _, o := range j.Methods {
		if open(o.Verdict.State) {
			return false
		}
	}
	return true
}

// Count scores one deployment of every scene. Every second one uses spreads learned from earlier deployments.
func Count(list []deploygen.Scene, seed uint64, progress func(done int)) (total Score, err error) {
	err = each(len(list), func(i int) (Score, error) {
		j, err := draw(list[i], seed+uint64(i), i%2 == 1)
		if err != nil {
			return Score{}, err
		}
		return j.score(), nil
	}, total.merge, progress)
	return total, err
}

// Found counts the deployments of a scene for which is returns true. All use learned spreads.
func Found(s deploygen.Scene, seed uint64, deployments int, is func(*Judged) bool) (found Share, err error) {
	err = each(deployments, func(i int) (bool, error) {
		j, err := draw(s, seed+uint64(i), true)
		return err == nil && is(j), err
	}, found.count, nil)
	return found, err
}

func draw(s deploygen.Scene, seed uint64, learned bool) (*Judged, error) {
	spreads, err := spreads(s, seed, learned)
	if err != nil {
		return nil, err
	}
	return Judge(s, seed, spreads)
}

func spreads(s deploygen.Scene, seed uint64, learned bool) (evidence.Spreads, error) {
	if !learned {
		return evidence.Spreads{}, nil
	}
	return Learned(s, seed)
}

// Raised reports whether any changed method was found.
func Raised(j *Judged) bool {
	for _, o := range j.Methods {
		if o.Found {
			return true
		}
	}
	return false
}

// each runs work for 0..n-1 on all processors and calls merge with the results, one at a time.
func each[T any](n int, work func(i int) (T, error), merge func(T), progress func(done int)) error {
	var mutex sync.Mutex
	var failed error
	done, next := 0, 0
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for {
				mutex.Lock()
				i := next
				next++
				mutex.Unlock()
				if i >= n {
					return
				}
				result, err := work(i)
				mutex.Lock()
				if err == nil {
					merge(result)
				} else if failed == nil {
					failed = err
				}
				if done++; progress != nil {
					progress(done)
				}
				mutex.Unlock()
			}
		})
	}
	wg.Wait()
	return failed
}
