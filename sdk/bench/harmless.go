package main

import (
	"context"
	"math"
	"runtime"
	"time"

	"github.com/corehour/corehour/sdk"
	"github.com/corehour/corehour/sdk/internal/hostclock"
	"github.com/corehour/corehour/test/figures"
)

const (
	requestTime     = 200 * time.Microsecond
	requestsInSlice = 12
)

// harmless measures the loss of a service by its probes while its collector is in any state. Short slices
// with the probes on and off alternate, so that disturbances of the machine affect both.
func harmless(pairs int) (*figures.Run, error) {
	report := figures.New("sdk-harmless")
	fit()
	compare(report, "noise", "off/off", probesOff, pairs, nil)
	for _, is := range states {
		if err := harm(report, is, pairs); err != nil {
			return nil, err
		}
	}
	return report, nil
}

// compare compares a service with one whose probes are off. Additional CPU belongs to the runtime, the
// sender and the collector.
func compare(report *figures.Run, who, what string, with *service, pairs int, goal *float64) {
	runtime.LockOSThread()
	service, process := threadCPU(), processCPU()
	found := ratios(with, probesOff, pairs)
	service, process = threadCPU()-service, processCPU()-process
	runtime.UnlockOSThread()

	ratio, uncertain := medianWithin(found)
	report.Add(who+": throughput "+what, ratio, "", figures.Higher, goal)
	report.Add(who+": 95% interval +-", uncertain, "", figures.Lower, nil)
	report.Add(who+": CPU in addition to the service, collector's included", float64(process.Nanoseconds()-service)/float64(service), "", figures.Lower, nil)
}

func harm(report *figures.Run, is state, pairs int) error {
	c := newCollector(is)
	defer c.Close()
	options := []corehour.Option{corehour.WithEndpoint(c.url), corehour.WithService("bench", "1")}
	if is == badRates {
		options = append(options, corehour.WithRates(c.url))
	}
	if is == clockSteps {
		options = append(options, corehour.WithInterval(time.Second)) // an interval's end reads the time
		defer stepClock()()
	}
	shutdown, err := corehour.Start(context.Background(), options...)
	if err != nil {
		return err
	}
	// More than the queue holds, so that the state behind a failing collector exists from the
	// start.
	loop(wallCaller)(2 * 8192)
	time.Sleep(10 * time.Millisecond) // the sender has begun

	compare(report, "collector "+string(is), "on/off", probesOn, pairs, figures.Goal(0.99))
	if is == healthy || is == blackHoled {
		byRecords(report, "collector "+string(is), pairs)
	}

	wait := 100 * time.Millisecond
	if is == healthy || is == clockSteps {
		wait = patience
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	if err := shutdown(ctx); err != nil && wait == patience {
		return err
	}
	return nil
}

// stepClock moves the SDK's wall clock an hour and a half forward and back. Setting the clock of the machine
// needs privileges and would affect every other program.
func stepClock() (stop func()) {
	const step, every = 90 * time.Minute, 50 * time.Millisecond
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		by := step
		for {
			hostclock.StepWall(by)
			by = -by
			select {
			case <-ticker.C:
			case <-quit:
				if by < 0 {
					hostclock.StepWall(by)
				}
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

// fit makes a request last as long as it should on this machine.
func fit() {
	fastest := time.Duration(math.MaxInt64)
	for range 200 {
		begin := time.Now()
		probesOff.serve()
		fastest = min(fastest, time.Since(begin))
	}
	stepsPerCall = max(1, int(float64(stepsPerCall)*float64(requestTime)/float64(fastest)))
}

// ratios returns ratios of the throughput of a to b, in the order a b b a, so that a steady drift favours
// neither.
func ratios(a, b *service, pairs int) []float64 {
	found := make([]float64, pairs)
	for i := range found {
		first := slice(a)
		found[i] = (slice(b) + slice(b)) / (first + slice(a))
	}
	return found
}

// slice returns the time of a few requests.
func slice(s *service) float64 {
	begin := time.Now()
	for range requestsInSlice {
		s.serve()
	}
	return float64(time.Since(begin))
}
