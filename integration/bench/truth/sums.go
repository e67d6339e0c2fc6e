//go:build linux

package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/corehour/corehour/integration/harness"
)

// judgeSums compares the sum of the own costs of a service's methods with the total cost of its
// bodies, over the whole run and in each complete minute. If one method is reported too expensive,
// for example because no call of another was timed, that other is reported too cheap. If near is
// set, the sum itself must be near the truth; otherwise only its interval must hold the truth.
func (s *score) judgeSums(ctx context.Context, c harness.Command, service string, near bool, truth twin, counted counts) error {
	costs, err := c.Cost(ctx, "--service", service, "--by", "service")
	if err != nil {
		return err
	}
	s.judgeSum(service+", own costs of all methods", near, truth, counted, costs)
	for _, m := range counted.Minutes {
		costs, err := c.Cost(ctx, "--service", service, "--by", "service",
			"--from", m.Begin.Format(time.RFC3339), "--to", m.Begin.Add(time.Minute).Format(time.RFC3339))
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%s, own costs of all methods, %s", service, m.Begin.Format("15:04"))
		s.judgeSum(name, near, truth, counts{Calls: m.Calls, Iterations: counted.Iterations, speed: m.speed}, costs)
	}
	return nil
}

func (s *score) judgeSum(name string, near bool, truth twin, counted counts, costs harness.Costs) {
	if len(costs.Groups) != 1 || costs.Groups[0].SelfCoreHours == nil || len(costs.Services) != 1 {
		s.note("%s: cost --by service has no own cost", name)
		return
	}
	want, slack := 0.0, 0.0
	for m, calls := range counted.Calls {
		perCall := truth.perCall(counted, m)
		want += float64(calls) * perCall / 1e9
		slack += float64(calls) * (truthError*perCall + callError) / 1e9
	}
	const seconds = 3600
	sum := costs.Groups[0]
	found, process := seconds**sum.SelfCoreHours, seconds*costs.Services[0].ProcessCoreHours
	s.lines = append(s.lines, line{name, want, found, "core-s"})
	if near && math.Abs(found-want) > sumError*want+slack {
		s.note("%s: %.4g core-s, truth %.4g", name, found, want)
	}
	if sum.SelfCoreHours95 == nil || sum.UnmeasuredCalls > 0 { // reported as unknown or incomplete
		return
	}
	low, high := seconds*sum.SelfCoreHours95[0], seconds*sum.SelfCoreHours95[1]
	s.hold(name+", core-s", want, slack, found, [2]float64{low, high})
	if low > process {
		s.note("%s: at least %.4g core-s, and the process took %.4g", name, low, process)
	}
}
