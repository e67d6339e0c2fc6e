// Command scenarios is a small service in two versions that differ in exactly one known change.
//
//	scenarios --scenario slower --version 2 --duration 12s
//
// The scenario is the name of the service. Its methods count iterations instead of reading a clock,
// so the cost of a version is known, whatever else uses the machine. The environment configures
// where spans go, as for any program with the SDK.
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	corehour "github.com/corehour/corehour/sdk"
)

type settings struct {
	scenario, version, instance string
	rate                        float64
	duration, ending            time.Duration
	slow                        float64
	incident                    time.Time
}

func main() {
	var s settings
	flag.StringVar(&s.scenario, "scenario", "steady", "what was changed: "+strings.Join(slices.Sorted(maps.Keys(scenarios)), ", "))
	flag.StringVar(&s.version, "version", "1", "version of the service, 1 or 2")
	flag.StringVar(&s.instance, "instance", "scenarios-1", "name of this instance")
	flag.Float64Var(&s.rate, "rate", 40, "requests per second")
	flag.DurationVar(&s.duration, "duration", 12*time.Second, "how long to serve")
	flag.DurationVar(&s.ending, "ending", 2*time.Minute, "how long the SDK may take to shut down")
	flag.Float64Var(&s.slow, "slow", 1, "how many times as long this host takes for everything")
	flag.TextVar(&s.incident, "incident", time.Time{}, "when the incident begins, if the scenario has one")
	flag.Parse()
	if err := runScenario(s); err != nil {
		fmt.Fprintln(os.Stderr, "scenarios:", err)
		os.Exit(1)
	}
}

func runScenario(s settings) error {
	r, err := releaseOf(s.scenario, s.version)
	if err != nil {
		return err
	}
	if !(s.rate > 0) {
		return fmt.Errorf("--rate must be above 0, found %v", s.rate)
	}
	if !(s.slow > 0) {
		return fmt.Errorf("--slow must be above 0, found %v", s.slow)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	shop := newService(r)
	shop.host = s.slow
	shutdown, err := corehour.Start(ctx,
		corehour.WithService(s.scenario, s.version),
		corehour.WithAttributes(map[string]string{
			"service.instance.id":         s.instance,
			"deployment.environment.name": "test",
		}),
		corehour.WithSample(1),
		corehour.WithCPURate(1),
		corehour.WithInterval(time.Second),
	)
	if err != nil {
		return err
	}
	load, cancel := context.WithTimeout(ctx, s.duration)
	defer cancel()
	shop.serve(load, s.rate, s.incident)

	patience, done := context.WithTimeout(context.Background(), s.ending)
	defer done()
	return shutdown(patience)
}

// serve serves requests, each when it is due, until the context ends.
func (s *service) serve(ctx context.Context, rate float64, incident time.Time) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := time.Now()
	for n := 0; ; n++ {
		due := time.Duration(float64(n) / rate * float64(time.Second))
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(start.Add(due))):
		}
		s.times, s.upset = s.host, 1
		if due < s.release.coldFor {
			s.times *= coldTimes
		}
		if since := time.Since(incident); s.release.incidents && since >= 0 && since < incidentLength {
			s.upset = incidentTimes
		}
		if n%10 < s.release.ordersInTen {
			s.order()
		} else {
			s.browse()
		}
	}
}
