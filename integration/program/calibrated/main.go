//go:build linux

// Command calibrated is a service whose work is known: methods of 2 ns to 5 ms, nested 1 to 100
// deep and recursive. It reports the cost of an iteration of its methods' bodies during the run.
// Built with the tag twin it has the same bodies without probes and reports the cost of a call as
// well. The two together are the truth for corehour's figures.
//
//	calibrated --service a --duration 60s --report a.json
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"syscall"
	"time"
	"unsafe"

	corehour "github.com/corehour/corehour/sdk"
)

// RunRecord holds a run's own counts and times.
type RunRecord struct {
	Calls      map[string]int64 `json:"calls"`
	Iterations map[string]int   `json:"iterations"`
	Minutes    []Minute         `json:"minutes"` // complete minutes
	Speed
	Undisturbed Speed   `json:"undisturbed"`
	PerCall     float64 `json:"ns_per_call"` // in addition to a body's iterations; only without probes
}

// Speed is the cost of iterations in short bodies and in the heavy body. A host with other work
// takes the processor away from methods that run for milliseconds. The mean includes the cost that
// this adds to a few calls, the median (Undisturbed) does not.
type Speed struct {
	PerIteration     float64 `json:"ns_per_iteration"`
	PerLongIteration float64 `json:"ns_per_long_iteration"`
}

// Minute holds the calls in one minute of the clock.
type Minute struct {
	Begin time.Time        `json:"begin"`
	Calls map[string]int64 `json:"calls"`
	Speed
}

func main() {
	service := flag.String("service", "calibrated", "name of the service")
	version := flag.String("version", "1.0", "version of the service")
	slower := flag.String("slower", "", "method whose own work is half as much again")
	rate := flag.Float64("rate", 0.01, "share of the calls that are timed")
	requests := flag.Float64("requests", 100, "requests per second")
	duration := flag.Duration("duration", time.Minute, "how long to serve")
	report := flag.String("report", "", "file for the report")
	flag.Parse()
	if *slower != "" {
		i := slices.Index(names[:], *slower)
		if i < 0 {
			fmt.Fprintf(os.Stderr, "known: --slower: want one of %q, found %q\n", names, *slower)
			os.Exit(2)
		}
		iterations[i] += iterations[i] / 2
	}
	if err := runKnown(*service, *version, *rate, *requests, *duration, *report); err != nil {
		fmt.Fprintln(os.Stderr, "known:", err)
		os.Exit(1)
	}
}

func runKnown(name, version string, rate, requests float64, duration time.Duration, report string) error {
	shutdown := func(context.Context) error { return nil }
	if probed {
		var err error
		if shutdown, err = corehour.Start(context.Background(), corehour.WithService(name, version), corehour.WithSample(rate),
			corehour.WithAttributes(map[string]string{"service.instance.id": name + "-" + version})); err != nil {
			return err
		}
	}
	r := serve(requests, duration)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := shutdown(ctx); err != nil {
		return err
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(report, data, 0o600)
}

// serve serves requests at random times and measures between them the current cost of an iteration:
// processors of a virtual machine differ in speed from each other and from minute to minute. At
// regular times two processes of one machine would be active together in each request or in none
// for the whole run, and the speed of a processor depends on its neighbour.
func serve(requests float64, duration time.Duration) RunRecord {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := &service{x: 1}
	begin := time.Now()
	var whole, inMinute iterationTimes
	var perCall []float64
	r := RunRecord{Iterations: map[string]int{}}
	minute, before := begin.Truncate(time.Minute), [methods]int64{}
	for n := 0; ; n++ {
		due := begin.Add(time.Duration((float64(n) + rand.Float64()) / requests * float64(time.Second)))
		if due.Sub(begin) >= duration {
			break
		}
		time.Sleep(time.Until(due))
		if now := time.Now().Truncate(time.Minute); now.After(minute) {
			if minute.After(begin) {
				r.Minutes = append(r.Minutes, Minute{minute, named(s.calls, before), inMinute.speed(mean)})
			}
			minute, before, inMinute = now, s.calls, iterationTimes{}
		}
		calls, start := s.calls, threadCPU()
		s.root(n)
		took := threadCPU() - start
		switch n % heavyOneIn {
		case 0: // the heavy body has run, and the work after it costs more than a short body
			continue
		case heavyOneIn / 2:
			long := measureIteration(heavy, 1)
			whole.long, inMinute.long = append(whole.long, long), append(inMinute.long, long)
			continue
		}
		short := measureIteration(ten, 10)
		whole.short, inMinute.short = append(whole.short, short), append(inMinute.short, short)
		if !probed {
			perCall = append(perCall, s.perCall(calls, took, short))
		}
	}
	r.Calls, r.PerCall = named(s.calls, [methods]int64{}), median(perCall)
	r.Speed, r.Undisturbed = whole.speed(mean), whole.speed(median)
	for i, name := range names {
		r.Iterations[name] = iterations[i]
	}
	return r
}

// perCall returns the cost of a request's calls in addition to their iterations, in ns per call.
func (s *service) perCall(before [methods]int64, took time.Duration, iteration float64) float64 {
	calls, total := 0.0, 0.0
	for i := range names {
		n := float64(s.calls[i] - before[i])
		calls += n
		total += n * float64(iterations[i])
	}
	return (float64(took) - iteration*total) / calls
}

// iterationTimes are times of iterations in ns, in short bodies and in the heavy one.
type iterationTimes struct{ short, long []float64 }

func (t iterationTimes) speed(of func([]float64) float64) Speed {
	return Speed{of(t.short), of(t.long)}
}

// measureIteration returns the current cost of an iteration in ns, without probes.
func measureIteration(method, times int) float64 {
	s := &service{x: 1}
	start := threadCPU()
	for range times {
		s.work(method)
	}
	return float64(threadCPU()-start) / float64(times*iterations[method])
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(max(len(values), 1))
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(values))[len(values)/2]
}

// named returns the calls since before, by method name.
func named(calls, before [methods]int64) map[string]int64 {
	out := map[string]int64{}
	for i, name := range names {
		out[name] = calls[i] - before[i]
	}
	return out
}

func threadCPU() time.Duration {
	const clockThreadCPU = 3
	var t syscall.Timespec
	if _, _, fault := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockThreadCPU, uintptr(unsafe.Pointer(&t)), 0); fault != 0 {
		panic(fault)
	}
	return time.Duration(t.Nano())
}
