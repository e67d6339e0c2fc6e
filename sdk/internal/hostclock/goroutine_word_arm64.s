//go:build linux && !corehour_overlay

#include "textflag.h"

// func goroutineWord(at uintptr) uint64
TEXT ·goroutineWord(SB), NOSPLIT, $0-16
	MOVD at+0(FP), R1
	MOVD (g)(R1), R0
	MOVD R0, ret+8(FP)
	RET
