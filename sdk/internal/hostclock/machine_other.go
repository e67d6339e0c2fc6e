//go:build !linux

package hostclock

import "runtime"

// Machine describes the host of the process. Unknown fields are empty or 0.
type Machine struct {
	ID       string
	Cores    int
	CPULimit float64
}

// ReadMachine returns the cores only. The standard library has no way to read the id of the machine on
// all of these systems.
func ReadMachine() Machine { return Machine{Cores: runtime.NumCPU()} }
