package corehour

import (
	"github.com/corehour/corehour/sdk/internal/coroutines"
	"github.com/corehour/corehour/sdk/internal/cpuslots"
	"github.com/corehour/corehour/sdk/internal/hostclock"
	"github.com/corehour/corehour/sdk/internal/threads"
)

// cpuChoice is the setting of CPU timing, from the environment or an option.
type cpuChoice uint8

const (
	cpuIfSafe cpuChoice = iota // the default: not in a program that can use coroutines
	cpuOn
	cpuOff
)

// cpuSlots returns the maximum number of calls with timed CPU at the same time: none if CPU is not
// timed, or if the program has too few threads.
func (c *config) cpuSlots() int {
	if !c.timesCPU() {
		return 0
	}
	limit := threads.Least()
	slots := cpuslots.Within(limit.Threads)
	if slots == 0 {
		messages.Logf("CPU is not timed: the program may have %d threads (%s), and a call whose CPU is timed holds one; from %d on it is", limit.Threads, limit.By, cpuslots.LeastThreads)
	}
	return slots
}

// timesCPU reports whether the CPU of calls is timed, which locks their threads. Go ends a program,
// without a chance to recover, if a goroutine switches to an iter.Pull coroutine with another thread
// lock than at its creation. Nobody knows beforehand which method creates, pulls or yields in one. So
// no thread is locked in a program that can use coroutines, unless the program asks for it.
func (c *config) timesCPU() bool {
	if c.cpu == cpuOff || !hostclock.GoroutineAvailable() {
		return false
	}
	if why := coroutines.Possible(); why != "" && c.cpu != cpuOn {
		messages.Logf("CPU is not timed: %s, and Go ends a program that uses a coroutine in and out of a call whose CPU is timed; "+
			"COREHOUR_CPU=on times it all the same, COREHOUR_CPU=off leaves this unsaid: see \"Programs with iter.Pull\" in the SDK's README.md", why)
		return false
	}
	return hostclock.ThreadCPUAvailable()
}
