package decide

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/corehour/corehour/internal/methodfile"
)

// Restore replaces the stored state. Beyond max_methods, the methods that were seen longest ago are dropped.
func (b *methodStore) Restore(data []byte) error {
	if limit := (b.cfg.MaxMethods + maxOverflows + 1) * maxStateMethod; len(data) > limit {
		return fmt.Errorf("state must have at most %d bytes for `max_methods` %d, found %d", limit, b.cfg.MaxMethods, len(data))
	}
	var s strategyState
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s); err != nil {
		return fmt.Errorf("state must be JSON that Snapshot made: %w", err)
	}
	if decoder.More() {
		return errors.New("state must be one JSON object, found more behind it")
	}
	if s.Version != stateVersion {
		return fmt.Errorf("state must have version %d, found %d", stateVersion, s.Version)
	}
	last, err := parseTime("last", s.Last)
	if err != nil {
		return err
	}
	fresh := newMethodStore(b.cfg)
	fresh.last = last
	if fresh.trim, err = trimOf(s.Trim); err != nil {
		return err
	}
	for i := range s.Groups {
		if err := fresh.restore(&s.Groups[i]); err != nil {
			return fmt.Errorf("state: groups[%d]: %w", i, err)
		}
	}
	fresh.shrink()
	fresh.stats.Methods = len(fresh.order)
	*b = *fresh
	return nil
}

// shrink drops methods that do not fit, the least recently seen first.
func (b *methodStore) shrink() {
	excess := len(b.order) - b.overflows - b.cfg.MaxMethods
	if excess <= 0 && b.overflows <= maxOverflows {
		return
	}
	byAge := slices.Clone(b.order)
	slices.SortStableFunc(byAge, func(x, y *method) int { return x.seen.Compare(y.seen) })
	out := make(map[*method]bool)
	overflows := b.overflows - maxOverflows
	for _, m := range byAge {
		room := &excess
		if m.key.isOverflow() {
			room = &overflows
		}
		if *room > 0 {
			*room--
			out[m] = true
		}
	}
	b.remove(func(m *method) bool { return out[m] })
}

// trimOf reads a trim, 0 standing for none.
func trimOf(x float64) (float64, error) {
	switch {
	case x == 0:
		return 1, nil
	case x >= 1./trimMost && x <= trimMost:
		return x, nil
	}
	return 0, fmt.Errorf("`trim` must be between %v and %v, found %v", 1./trimMost, trimMost, x)
}

func (b *methodStore) restore(g *groupState) error {
	group := Group{g.Namespace, g.Service, g.Environment, g.Version}
	if _, ok := b.versions[group]; ok {
		return errors.New("group must be there once, found it twice")
	}
	if err := checkNames(g.Namespace, g.Service, g.Environment, g.Version); err != nil {
		return err
	}
	if err := checkAmounts("group", g.Weight, g.Called, g.Owed, g.Bunch[0], g.Bunch[1]); err != nil {
		return err
	}
	first, err1 := parseTime("first", g.First)
	last, err2 := parseTime("last", g.Last)
	opened, err3 := parseTime("opened", g.Opened)
	trim, err4 := trimOf(g.Trim)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	if len(g.Methods) == 0 {
		return errors.New("group must have methods, found none")
	}
	v := b.version(first, group)
	v.last, v.follows, v.weight, v.called = last, g.Follows, g.Weight, g.Called
	v.counted, v.late, v.owed, v.service.trim, v.service.burstiness = g.Counted, g.Late, g.Owed, trim, burstiness{g.Bunch[0], g.Bunch[1]}
	if g.Opened > 0 {
		v.service.head, v.service.opened = v, opened
	}
	for i := range g.Methods {
		m, err := g.Methods[i].method(v)
		if err != nil {
			return fmt.Errorf("methods[%d]: %w", i, err)
		}
		if _, ok := b.methods[m.key]; ok {
			return fmt.Errorf("methods[%d]: method must be there once, found it twice", i)
		}
		if m.key.isOverflow() {
			b.overflows++
		}
		v.counted = v.counted || m.calls.Seconds > 0 // states before `counted` don't say it
		b.addMethod(m)
	}
	return nil
}

func (s *methodState) method(v *version) (*method, error) {
	seen, err := parseTime("seen", s.Seen)
	if err != nil {
		return nil, err
	}
	run := s.Calls
	run[2] = math.Abs(run[2])
	for _, err := range []error{
		checkNames(s.Class, s.Method, s.Signature),
		checkAmounts("calls", run[:]...), checkAmounts("bunch", s.Bunch[:]...), checkAmounts("wall", s.Wall[:]...), checkAmounts("cpu", s.CPU[:]...),
		checkAmounts("entry, called, callee_wall, callee_cpu", s.Entry, s.Called, s.CalleeWall, s.CalleeCPU), checkAmounts("compared", s.Compared[:]...),
		checkChoice("compared_of", s.ComparedOf, "", MeterCPU, MeterWall),
		checkAmounts("owed, lately, streak", s.Owed, s.Lately, float64(s.Streak)),
		checkAmounts("prior_spread, prior_mean", s.PriorSpread, s.PriorMean),
		share("prior_own", s.PriorOwn), share("prior_p", s.PriorP),
		share("p", s.P), share("arrived", s.Arrived),
		checkChoice("learned", s.Learned, "", ClassEntry, ClassMid, ClassInner),
		checkChoice("looks", s.Next, "", ClassEntry, ClassMid, ClassInner),
	} {
		if err != nil {
			return nil, err
		}
	}
	m := &method{
		key:     Key{Group: v.group, Class: s.Class, Method: s.Method, Signature: s.Signature},
		version: v, foreign: s.Foreign, seen: seen,
		calls: level{Now: s.Calls[0], Run: s.Calls[1], RunSeconds: s.Calls[2], Sum: s.Calls[3], Seconds: s.Calls[4], Burstiness: burstiness{s.Bunch[0], s.Bunch[1]}},
		wall:  WeightedSums{s.Wall[0], s.Wall[1], s.Wall[2], s.Wall[3]},
		cpu:   WeightedSums{s.CPU[0], s.CPU[1], s.CPU[2], s.CPU[3]},
		entry: s.Entry, called: s.Called, calleeWall: s.CalleeWall, calleeCPU: s.CalleeCPU, compared: WeightedSums{s.Compared[0], s.Compared[1], s.Compared[2], s.Compared[3]}, comparedOf: s.ComparedOf,
		priorSpread: s.PriorSpread, priorMean: s.PriorMean, priorOwn: s.PriorOwn, priorP: s.PriorP, class: class{is: s.Learned, next: s.Next, streak: s.Streak},
		owed: s.Owed, lately: s.Lately, p: s.P, arrived: s.Arrived,
	}
	m.class.guess = m.class.is != "" && m.uncounted()
	if s.Score != nil {
		if m.score, err = s.Score.score(); err != nil {
			return nil, err
		}
		if m.score.off() {
			m.mode = methodfile.ModeOff
		}
	}
	return m, nil
}

func (s *savedScore) score() (score, error) {
	until, err1 := parseTime("until", s.Until)
	err2 := checkChoice("label", s.Label, ScoreNormal, ScoreHotspot, ScoreUnmanaged, ScoreOff)
	err3 := checkAmounts("score", math.Abs(s.Balance), s.Records)
	_, err4 := parseTime("back_off", s.BackOff)
	backOff := time.Duration(s.BackOff * float64(time.Second))
	return score{s.Label, s.Balance, s.Records, until, backOff, s.Probation}, errors.Join(err1, err2, err3, err4)
}
