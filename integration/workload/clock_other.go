//go:build !linux

package main

import "time"

// threadCPU is not read here: truth about CPU is told on Linux only.
func threadCPU() time.Duration { return 0 }
