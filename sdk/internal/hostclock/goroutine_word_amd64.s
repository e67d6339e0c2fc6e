//go:build linux && !corehour_overlay

#include "textflag.h"

// func goroutineWord(at uintptr) uint64
TEXT ·goroutineWord(SB), NOSPLIT, $0-16
	MOVQ (TLS), AX
	MOVQ at+0(FP), CX
	MOVQ (AX)(CX*1), AX
	MOVQ AX, ret+8(FP)
	RET
