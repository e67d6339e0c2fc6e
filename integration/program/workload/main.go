// Command workload makes calls of instrumented methods in a pattern and keeps its own counts: exact
// counters in a mapped file (see package groundtruth), and a record at its end.
//
//	workload --calls 100000 --goroutines 4 --methods 8 --counters c.bin --report r.json
//
// It ends after a number of calls, after --duration, or at SIGTERM; then it shuts the SDK down. The
// environment configures where spans go, as for any program with the SDK.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/corehour/corehour/integration/groundtruth"
	corehour "github.com/corehour/corehour/sdk"
)

type settings struct {
	service, version, instance string

	counters, report string

	pattern  pattern
	duration time.Duration

	rate, cpuRate   float64
	queue, batch    int
	flush, interval time.Duration
	timeout, ending time.Duration
}

func main() {
	var s settings
	flag.StringVar(&s.service, "service", "workload", "name of the service")
	flag.StringVar(&s.version, "version", "1.0", "version of the service")
	flag.StringVar(&s.instance, "instance", "workload-1", "name of this instance")
	flag.StringVar(&s.counters, "counters", "", "file for the counters, mapped into memory")
	flag.StringVar(&s.report, "report", "", "file for the report, written at the end")

	flag.Int64Var(&s.pattern.calls, "calls", 0, "calls to make; 0 = until a signal")
	flag.IntVar(&s.pattern.goroutines, "goroutines", 4, "calls made at once")
	flag.IntVar(&s.pattern.methods, "methods", 8, "methods, called in turn")
	flag.DurationVar(&s.pattern.work, "work", 0, "how long a call computes")
	flag.DurationVar(&s.pattern.pause, "pause", 0, "how long a goroutine sleeps after a call")
	flag.Int64Var(&s.pattern.slowEvery, "slow-every", 0, "a burst of slow calls begins at every n-th call of a goroutine; 0 = never")
	flag.Int64Var(&s.pattern.slowBurst, "slow-burst", 0, "slow calls in a burst, without a pause between them")
	flag.DurationVar(&s.pattern.slowWork, "slow-work", 0, "how long a slow call computes")
	flag.DurationVar(&s.pattern.rare, "rare", 0, "how often the last method is called, by a goroutine of its own; 0 = like the others")
	flag.Float64Var(&s.pattern.fastest, "fastest", 0, "calls of the last method in a second; the first has 0.5, each between so many times more than the one before; 0 = methods are called in turn")
	flag.DurationVar(&s.duration, "duration", 0, "how long to make calls; 0 = no limit")

	flag.Float64Var(&s.rate, "rate", 1, "share of calls that are timed")
	flag.Float64Var(&s.cpuRate, "cpu-rate", 1, "share of these whose CPU is timed")
	flag.IntVar(&s.queue, "queue", 8192, "the SDK's queue")
	flag.IntVar(&s.batch, "batch", 1024, "records after which the SDK sends")
	flag.DurationVar(&s.flush, "flush", 500*time.Millisecond, "time after which the SDK sends")
	flag.DurationVar(&s.interval, "interval", time.Second, "how often counts leave")
	flag.DurationVar(&s.timeout, "timeout", 2*time.Second, "how long the SDK waits for an answer")
	flag.DurationVar(&s.ending, "ending", 2*time.Minute, "how long the SDK may take to shut down")
	flag.Parse()
	if err := runWorkload(s); err != nil {
		fmt.Fprintln(os.Stderr, "workload:", err)
		os.Exit(1)
	}
}

func (s settings) check() error {
	var faults []error
	if s.counters == "" || s.report == "" {
		faults = append(faults, errors.New("--counters and --report must be given"))
	}
	if s.pattern.goroutines < 1 || s.pattern.methods < 1 {
		faults = append(faults, errors.New("--goroutines and --methods must be at least 1"))
	}
	if s.pattern.rare > 0 && s.pattern.methods < 2 {
		faults = append(faults, errors.New("--rare takes a method of its own: --methods must be at least 2"))
	}
	if s.pattern.fastest > 0 && (s.pattern.fastest < slowest || s.pattern.methods < 2) {
		faults = append(faults, fmt.Errorf("--fastest %g must be at least %g calls a second, with --methods 2 or more", s.pattern.fastest, slowest))
	}
	return errors.Join(faults...)
}

func runWorkload(s settings) error {
	if err := s.check(); err != nil {
		return err
	}
	counters, err := groundtruth.Create(s.counters, s.pattern.methods)
	if err != nil {
		return err
	}
	defer counters.Close()
	methods := newMethods(s.pattern.methods)

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	before := runtime.NumGoroutine()
	shutdown, err := corehour.Start(ctx,
		corehour.WithService(s.service, s.version),
		corehour.WithAttributes(map[string]string{
			"service.instance.id":         s.instance,
			"deployment.environment.name": "test",
		}),
		corehour.WithTimeout(s.timeout),
		corehour.WithSample(s.rate),
		corehour.WithCPURate(s.cpuRate),
		corehour.WithQueue(s.queue),
		corehour.WithFlush(s.flush, s.batch),
		corehour.WithInterval(s.interval),
	)
	if err != nil {
		return err
	}

	load, cancel := context.WithCancel(ctx)
	if s.duration > 0 {
		load, cancel = context.WithTimeout(ctx, s.duration)
	}
	defer cancel()
	s.pattern.makeCalls(load, methods, counters)

	report := groundtruth.ProcessRecord{Service: s.service, Version: s.version, Instance: s.instance, Methods: map[string]groundtruth.Method{}}
	if report.SDK, err = sdkCounters(); err != nil {
		return err
	}
	patience, done := context.WithTimeout(context.Background(), s.ending)
	defer done()
	begin := time.Now()
	if err := shutdown(patience); err != nil {
		report.Shutdown = err.Error()
	}
	report.StoppingNS = int64(time.Since(begin))
	report.Goroutines = leftGoroutines(before)
	for i, m := range counters.Methods() {
		report.Methods[groundtruth.Name(i)] = m
	}
	return report.Write(s.report)
}

// leftGoroutines returns the number of goroutines in excess of before. A goroutine that was asked
// to end needs a moment.
func leftGoroutines(before int) int {
	for deadline := time.Now().Add(20 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	return runtime.NumGoroutine() - before
}

// sdkCounters returns the SDK's own counters by name.
func sdkCounters() (map[string]int64, error) {
	data, err := json.Marshal(corehour.Stats())
	if err != nil {
		return nil, err
	}
	counters := map[string]int64{}
	return counters, json.Unmarshal(data, &counters)
}
