//go:build linux

// Command known is a service whose work is known: methods of 2 ns to 5 ms, nested 1 to
// 100 deep and recursive. It reports what an iteration of their bodies cost it while it ran. Built with the
// tag twin it has the same bodies and no probes, and reports what a call costs too: by both what corehour
// says of the other is judged.
//
//	known --service a --duration 60s --report a.json
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

// RunRecord is what a run counted and measured itself.
type RunRecord struct {
	Calls      map[string]int64 `json:"calls"`
	Iterations map[string]int   `json:"iterations"`
	Minutes    []Minute         `json:"minutes"` // whole ones
	CPUNS      int64            `json:"cpu_ns"`  // of all requests, by the thread's clock
	// PerIteration and PerCall make up what a body costs, the latter without probes only. What the host
	// does meanwhile makes a few iterations take much longer: half of them take at most Undisturbed.
	PerIteration float64 `json:"ns_per_iteration"`
	Undisturbed  float64 `json:"ns_undisturbed_iteration"`
	PerCall      float64 `json:"ns_per_call"`
}

// Minute is what was called in a minute of the clock.
type Minute struct {
	Begin        time.Time        `json:"begin"`
	Calls        map[string]int64 `json:"calls"`
	PerIteration float64          `json:"ns_per_iteration"`
}

func main() {
	service := flag.String("service", "known", "name of the service")
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

// serve serves requests at random times, and measures between them how long an iteration takes at the
// moment: processors of a virtual machine differ in speed from each other and from minute to minute. At
// even times processes of one machine would be next to each other in each request or in none, for as long
// as they run, and what a processor does for one depends on what the other does.
func serve(requests float64, duration time.Duration) RunRecord {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := &service{x: 1}
	begin := time.Now()
	var cpu time.Duration
	var whole, inMinute []float64
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
				r.Minutes = append(r.Minutes, Minute{minute, named(s.calls, before), mean(inMinute)})
			}
			minute, before, inMinute = now, s.calls, nil
		}
		calls, start := s.calls, threadCPU()
		s.root(n)
		took, iteration := threadCPU()-start, measureIteration()
		cpu += took
		whole, inMinute = append(whole, iteration), append(inMinute, iteration)
		if !probed {
			perCall = append(perCall, s.perCall(calls, took, iteration))
		}
	}
	r.Calls, r.CPUNS, r.PerIteration = named(s.calls, [methods]int64{}), int64(cpu), mean(whole)
	r.Undisturbed, r.PerCall = median(whole), median(perCall)
	for i, name := range names {
		r.Iterations[name] = iterations[i]
	}
	return r
}

// perCall is what the calls of a request took on top of their iterations, in ns a call.
func (s *service) perCall(before [methods]int64, took time.Duration, iteration float64) float64 {
	calls, total := 0.0, 0.0
	for i := range names {
		n := float64(s.calls[i] - before[i])
		calls += n
		total += n * float64(iterations[i])
	}
	return (float64(took) - iteration*total) / calls
}

// measureIteration returns what an iteration takes at the moment, in ns, without probes.
func measureIteration() float64 {
	const times = 10
	s := &service{x: 1}
	start := threadCPU()
	for range times {
		s.work(ten)
	}
	return float64(threadCPU()-start) / times / float64(iterations[ten])
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

// named are the calls since others were counted.
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
