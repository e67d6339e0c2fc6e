//go:build linux

package main

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/corehour/corehour/test/figures"
)

func TestLearnFindsKnownLoadings(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var samples []sample
	for range 40 {
		a, b := r.NormFloat64(), r.NormFloat64()
		// The third predictor never varies and the fourth repeats the first.
		samples = append(samples, sample{y: 2 + 0.5*a - 3*b, x: []float64{a, b, 7, a}})
	}
	got := learn(samples)
	for _, s := range samples[:5] {
		predicted := got[0]
		for i, x := range s.x {
			predicted += got[i+1] * x
		}
		if math.Abs(predicted-s.y) > 1e-6 {
			t.Errorf("predicted %v, want %v (loadings %v)", predicted, s.y, got)
		}
	}
	if math.Abs(got[2]+3) > 1e-6 || math.Abs(got[1]+got[4]-0.5) > 1e-6 {
		t.Errorf("loadings %v, want 0.5 over the first and the fourth, -3 for the second", got)
	}
}

// TestJudgeOutOfSample checks the share explained against the share that was drawn.
func TestJudgeOutOfSample(t *testing.T) {
	everywhere := func(string) bool { return true }
	r := rand.New(rand.NewPCG(2, 2))
	for name, c := range map[string]struct {
		loading, noise, want float64
	}{
		"all":     {1, 0, 1},
		"half":    {1, 1, 0.5},
		"a fifth": {0.5, 1, 0.2},
		"nothing": {0, 1, 0},
	} {
		var samples []sample
		for round := range 4000 {
			x := r.NormFloat64()
			samples = append(samples, sample{round: round, y: 3 + c.loading*x + c.noise*r.NormFloat64(), x: []float64{x}})
		}
		if got := judge(samples, everywhere, everywhere).explained(); math.Abs(got-c.want) > 0.05 {
			t.Errorf("%s: explained %.3f, want %.2f", name, got, c.want)
		}
	}
}

// TestJudgeUsesOtherRounds draws a relation that turns round between the halves: in
// the sample it would explain everything, out of sample it is worse than the mean.
func TestJudgeUsesOtherRounds(t *testing.T) {
	everywhere := func(string) bool { return true }
	var samples []sample
	for round := range 40 {
		x := float64(round/2%5) - 2
		y := x
		if round%2 == 1 {
			y = -x
		}
		samples = append(samples, sample{round: round, scene: "a", y: y, x: []float64{x}})
	}
	if got := judge(samples, everywhere, everywhere).explained(); math.Abs(got+3) > 1e-6 {
		t.Errorf("explained %v, want -3", got)
	}
	samples = append(samples, sample{scene: "b", y: 100, x: []float64{0}}, sample{round: 1, scene: "b", y: 100, x: []float64{0}})
	inA := func(scene string) bool { return scene == "a" }
	if got := judge(samples, inA, inA).explained(); math.Abs(got+3) > 1e-6 {
		t.Errorf("with a scene that is not asked for: explained %v, want -3", got)
	}
}

// TestTablesCountMethods feeds episodes of which the witness explains one method of two.
func TestTablesCountMethods(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	var episodes []episode
	for round := range 40 {
		for i, scene := range scenes {
			slow := math.Exp(0.1*float64(i)) * (1 + 0.01*float64(round%5))
			ignored := math.Exp(0.1 * r.NormFloat64())
			e := episode{Round: round, Scene: scene, Readings: map[string][]cost{}, Methods: map[string][]cost{
				"follows": {{CPU: 1000 * slow, Wall: 1500 * slow}, {CPU: 1000 * slow, Wall: 1500 * slow}},
				"ignores": {{CPU: ignored, Wall: ignored}, {CPU: ignored, Wall: ignored}},
			}}
			for _, name := range predictors[2].components {
				speed := 1 + 0.001*r.Float64()
				if name == "chase 256 kB" {
					speed = slow
				}
				e.Readings[name] = []cost{{speed, speed}, {speed, speed}, {9 * speed, 9 * speed}}
			}
			episodes = append(episodes, e)
		}
	}
	report := figures.New("witness")
	var table bytes.Buffer
	printTables(&table, report, episodes, 2)
	got := map[string]float64{}
	for _, f := range report.Results {
		got[f.Name] = f.Value
	}
	for name, want := range map[string]float64{
		"CPU over 2 episodes, all scenes, arithmetic: methods with half of the repeatable variance explained": 0,
		"CPU over 2 episodes, all scenes, chase: methods with half of the repeatable variance explained":      1,
		"CPU over 2 episodes, all scenes, both: methods with half of the repeatable variance explained":       1,
		"CPU over 2 episodes, unseen scene, both: methods with half of the repeatable variance explained":     1,
	} {
		if value, ok := got[name]; !ok || value != want {
			t.Errorf("%s: %v, want %v", name, value, want)
		}
	}
	if x := got["CPU over 2 episodes of follows: R2 of both components"]; x < 0.99 {
		t.Errorf("share explained of the method that follows: %v", x)
	}
	if !strings.Contains(table.String(), "follows") || !strings.Contains(table.String(), "+49.2%") {
		t.Errorf("the table shows no shift:\n%s", table.String())
	}
}

func TestClipMovesOutliers(t *testing.T) {
	samples := make([]sample, 40)
	for i := range samples {
		samples[i].y = float64(i * i)
	}
	clip(samples, func(s *sample) *float64 { return &s.y })
	for i, want := range map[int]float64{0: 4, 1: 4, 2: 4, 20: 400, 37: 37 * 37, 38: 37 * 37, 39: 37 * 37} {
		if samples[i].y != want {
			t.Errorf("value %d is %v, want %v", i, samples[i].y, want)
		}
	}
}

// TestReliabilityIsTheRepeatableShare draws halves whose mean has a known share of noise.
func TestReliabilityIsTheRepeatableShare(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for noise, want := range map[float64]float64{0.01: 1, math.Sqrt2: 0.5, 100: 0} {
		var episodes []episode
		for range 4000 {
			level := r.NormFloat64()
			half := func() cost { return cost{CPU: math.Exp(level + noise*r.NormFloat64())} }
			episodes = append(episodes, episode{Scene: "idle", Methods: map[string][]cost{"m": {half(), half()}}})
		}
		if got := metrics[0].reliability(episodes, "m"); math.Abs(got-want) > 0.06 {
			t.Errorf("noise %.2f: %.3f of the variance is repeatable, want %.1f", noise, got, want)
		}
	}
}
