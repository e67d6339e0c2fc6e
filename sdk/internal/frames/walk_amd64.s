//go:build linux && gc && !purego

#include "textflag.h"

// func Walk(pcs *uintptr, most int) (n int, ended bool)
//
// A frame pointer points at the caller's, and the return address is next to it. The
// function has no frame of its own, so it begins with that of the one that calls it.
TEXT ·Walk(SB), NOSPLIT|NOFRAME, $0-25
	MOVQ (TLS), AX
	MOVQ 8(AX), R8          // g.stack.hi
	SUBQ $16, R8            // the highest a frame pointer may be
	MOVQ pcs+0(FP), DI
	MOVQ most+8(FP), CX
	MOVQ SP, DX             // and the lowest
	MOVQ BP, BX
	XORL R9, R9

next:
	TESTQ BX, BX
	JZ    whole
	CMPQ  R9, CX
	JGE   rest
	CMPQ  BX, DX
	JLS   rest
	CMPQ  BX, R8
	JHI   rest
	MOVQ  8(BX), SI
	MOVQ  SI, (DI)(R9*8)
	INCQ  R9
	MOVQ  BX, DX
	MOVQ  (BX), BX
	JMP   next

whole:
	MOVQ R9, n+16(FP)
	MOVB $1, ended+24(FP)
	RET

rest:
	MOVQ R9, n+16(FP)
	MOVB $0, ended+24(FP)
	RET
