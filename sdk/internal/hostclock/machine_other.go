//go:build !linux

package hostclock

import "runtime"

// Machine is where the process runs. What is not known is empty or 0.
type Machine struct {
	ID       string
	Cores    int
	CPULimit float64
}

// ReadMachine knows the cores only. The id of the machine is in no file that the
// standard library reads on all of these systems.
func ReadMachine() Machine { return Machine{Cores: runtime.NumCPU()} }
