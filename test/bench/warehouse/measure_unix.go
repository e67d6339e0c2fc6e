//go:build unix

package main

import (
	"runtime/metrics"
	"syscall"
	"time"
)

// cpuSeconds returns the CPU time that the process has used.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// cost contains the resources used by a piece of work.
type cost struct {
	cpu, wall float64 // seconds
	peakBytes float64 // peak memory held by Go
}

// measure runs work and samples the memory while it runs.
func measure(work func() error) (cost, error) {
	stop, done := make(chan struct{}), make(chan float64)
	go func() {
		peak := 0.0
		ticker := time.NewTicker(20 * time.Millisecond)
		defer ticker.Stop()
		sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		for {
			metrics.Read(sample)
			peak = max(peak, float64(sample[0].Value.Uint64()-sample[1].Value.Uint64()))
			select {
			case <-stop:
				done <- peak
				return
			case <-ticker.C:
			}
		}
	}()
	cpu, begin := cpuSeconds(), time.Now()
	err := work()
	c := cost{cpu: cpuSeconds() - cpu, wall: time.Since(begin).Seconds()}
	close(stop)
	c.peakBytes = <-done
	return c, err
}
