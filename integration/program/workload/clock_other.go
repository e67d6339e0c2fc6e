//go:build !linux

package main

import "time"

// threadCPU returns 0: the CPU time is only read on Linux.
func threadCPU() time.Duration { return 0 }
