package adaptivesampler

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/collector/component"

	"github.com/corehour/corehour/internal/methodfile"
	"github.com/corehour/corehour/internal/rates"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// scripted is a strategy that records its observations and returns the decisions set by a test.
type scripted struct {
	mu      sync.Mutex
	steps   [][]decide.Observation
	rates   map[string]float64 // by method; 0 = off
	class   string
	unknown float64 // 0 = no decision
	state   string
	short   int
	rules   func(decide.Key) *methodfile.Rule
}

func (s *scripted) Step(_ time.Time, seen []decide.Observation) []decide.Decision {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = append(s.steps, slices.Clone(seen))
	known := make(map[decide.Key]bool)
	var all []decide.Decision
	for _, step := range s.steps {
		for _, m := range step {
			if p, ok := s.rates[m.Key.Method]; ok && !known[m.Key] {
				known[m.Key] = true
				d := decide.Decision{Key: m.Key, Mode: methodfile.ModeSample, P: p, Class: s.class, Reason: "script", Evidence: decide.Evidence{State: rates.Known}}
				if p == 0 {
					d.Mode = methodfile.ModeOff
				}
				all = append(all, d)
			}
		}
	}
	return all
}

func (s *scripted) Unknown(g decide.Group) decide.Decision {
	return decide.Decision{Key: decide.Key{Group: g}, Mode: methodfile.ModeSample, P: s.unknown, Reason: "cold start"}
}

func (s *scripted) Rules(of func(decide.Key) *methodfile.Rule) { s.rules = of }
func (s *scripted) Snapshot() []byte                           { return []byte(s.state) }

func (s *scripted) Stats() decide.Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return decide.Stats{Planned: 3, OverdrawnBudgets: s.short}
}

// lack sets the number of budgets that are too small.
func (s *scripted) lack(budgets int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.short = budgets
}

func (s *scripted) Restore(state []byte) error {
	if string(state) == "no good" {
		return errors.New("must be good, found no good")
	}
	s.state = string(state)
	return nil
}

// say sets the rate of a method from the next step on.
func (s *scripted) say(method string, p float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rates == nil {
		s.rates = make(map[string]float64)
	}
	s.rates[method] = p
}

// last returns the observations of the last step by method name.
func (s *scripted) last() map[string]decide.Observation {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := make(map[string]decide.Observation)
	for _, m := range s.steps[len(s.steps)-1] {
		found[m.Key.Method] = m
	}
	return found
}

// desk stands in for the extension that serves the published tables.
type desk struct {
	component.StartFunc
	component.ShutdownFunc
	owner  string
	source rates.Source
}

func (d *desk) Publish(owner string, source rates.Source) (func(), error) {
	if d.source != nil {
		return nil, errors.New("taken by " + d.owner)
	}
	d.owner, d.source = owner, source
	return func() { d.source = nil }, nil
}

type host map[component.ID]component.Component

func (h host) GetExtensions() map[component.ID]component.Component { return h }

var deskID = component.MustNewID("sampling_rates")

// adaptive returns a configuration for a scripted strategy.
func adaptive() *Config {
	c := createDefaultConfig().(*Config)
	c.Strategy = decide.StrategyBudget
	c.Rates = &deskID
	c.ColdStart.Thin = true
	return c
}

// halfPast advances the time to half way between full minutes, when intervals begin.
func halfPast() { time.Sleep(30 * time.Second) }

// turn waits until the control loop has taken a step.
func turn(*testing.T) {
	time.Sleep(time.Minute)
	synctest.Wait()
}
