//go:build linux

package main

import (
	"context"
	"fmt"
	"math"
	"os/exec"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// samples counts the profiler's samples of each method in one version: a sample belongs to the innermost function with a
// probe, as the own CPU time of a method does. Samples of the SDK belong to no method.
type samples struct {
	methods map[string]float64
	total   float64
	period  float64 // ns
	// rounds is the number of rounds during the profiles.
	rounds float64
}

// profiled adds the profiles of a version's processes.
func profiled(all []*process, version string, probed map[string]bool) (samples, error) {
	s := samples{methods: map[string]float64{}}
	for _, p := range all {
		if p.version != version {
			continue
		}
		for _, profile := range p.profiles {
			if err := s.add(profile, probed); err != nil {
				return s, err
			}
		}
		s.rounds += float64(p.rounds.Load())
	}
	return s, nil
}

func (s *samples) add(p *profile.Profile, probed map[string]bool) error {
	at := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == "samples" })
	if at < 0 || p.Period <= 0 {
		return fmt.Errorf("a profile without samples: %v", p.SampleType)
	}
	s.period = float64(p.Period)
	for _, sample := range p.Sample {
		n := float64(sample.Value[at])
		s.total += n
		if name := innermost(sample, probed); name != "" {
			s.methods[plainName(name)] += n
		}
	}
	return nil
}

func innermost(s *profile.Sample, probed map[string]bool) string {
	for _, l := range s.Location {
		for _, line := range l.Line {
			if probed[line.Function.Name] {
				return line.Function.Name
			}
			if strings.Contains(line.Function.Name, "/_corehour.") || strings.Contains(line.Function.Name, "/_corehour/") {
				return ""
			}
		}
	}
	return ""
}

// plainName writes a function as rows name it: class.method.
func plainName(name string) string { return strings.NewReplacer("(*", "", ")", "").Replace(name) }

// change returns the change in percent of a method's own CPU time per round, with its standard error from the number of
// samples.
func change(base, head samples, method string) (percent, se float64) {
	b, h := base.methods[method], head.methods[method]
	ratio := h / head.rounds / (b / base.rounds)
	return 100 * (ratio - 1), 100 * ratio * math.Sqrt(1/b+1/h)
}

// probes returns the functions of a binary that have a probe.
func probes(ctx context.Context, command, binary string) (map[string]bool, error) {
	cmd := exec.CommandContext(ctx, command, "probes", binary)
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cmd, err)
	}
	names := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		names[name] = true
	}
	return names, nil
}
