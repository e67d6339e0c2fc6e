//go:build !linux

package main

import "time"

// threadCPU returns 0: the true CPU time is read on Linux only.
func threadCPU() time.Duration { return 0 }
