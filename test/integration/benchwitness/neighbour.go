//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// The scenes. In "stopped" the neighbour stops and continues the measured process,
// which only its wall time shows; a CPU quota does the same.
const stopped = "stopped"

var scenes = []string{"idle", "same core", "other core", "bandwidth", "system calls", stopped}

// period is one turn of being busy and pausing.
const period = 10 * time.Millisecond

// measuredCore is where the measured thread runs; neighbours run on core 0, or on
// this one if their scene is listed.
const measuredCore = 1

var onMeasuredCore = []string{"same core", "system calls"}

// runNeighbour disturbs the parent process until standard input ends.
func runNeighbour(scene string, duty float64) error {
	debug.SetGCPercent(400)
	signal.Ignore(os.Interrupt) // the end of standard input ends it, after it continued the parent
	parent := os.Getppid()
	turn, work := period, func() {}
	switch scene {
	case "same core", "other core":
		methods, i := newMethods(), 0
		work = func() { methods[i%len(methods)].call(); i++ }
	case "bandwidth":
		from, to, i := make([]byte, 128<<20), make([]byte, 128<<20), 0
		copy(from, to) // the pages exist from here on
		const part = 1 << 20
		work = func() { at := i % 128 * part; copy(to[at:at+part], from[at:at+part]); i++ }
	case "system calls":
		turn = 200 * time.Microsecond
		work = func() { _, _ = os.Stat("/proc/self/status"); _ = syscall.Getppid() }
	case stopped:
		turn = 2 * period
	default:
		return fmt.Errorf("--neighbour must be a scene other than idle, found %q", scene)
	}
	var ended atomic.Bool
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		ended.Store(true)
	}()
	if _, err := fmt.Println("busy"); err != nil {
		return err
	}
	busy := time.Duration(duty * float64(turn))
	for !ended.Load() {
		if scene == stopped {
			// Both signals are sent in one turn: the parent never stays stopped.
			err := syscall.Kill(parent, syscall.SIGSTOP)
			time.Sleep(busy * 7 / 10)
			if err := errors.Join(err, syscall.Kill(parent, syscall.SIGCONT)); err != nil {
				return err
			}
			time.Sleep(turn - busy*7/10)
			continue
		}
		for begin := time.Now(); time.Since(begin) < busy; {
			work()
		}
		time.Sleep(turn - busy)
	}
	return nil
}

// pin keeps this thread on one core.
func pin(core int) error {
	var mask [16]uint64
	mask[core/64] = 1 << (core % 64)
	if _, _, fault := syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, 0, unsafe.Sizeof(mask), uintptr(unsafe.Pointer(&mask))); fault != 0 {
		return fault
	}
	return nil
}

// threadCPU returns the CPU time of this thread.
func threadCPU() time.Duration {
	const clockThreadCPU = 3
	var t syscall.Timespec
	if _, _, fault := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockThreadCPU, uintptr(unsafe.Pointer(&t)), 0); fault != 0 {
		panic(fault)
	}
	return time.Duration(t.Nano())
}
