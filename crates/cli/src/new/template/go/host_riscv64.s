#include "textflag.h"

// func call(hash int64, name *byte, a0, a1, a2 uintptr) (result uintptr)
TEXT ·call(SB), NOSPLIT, $0-48
	MOV hash+0(FP), T0
	MOV name+8(FP), T1
	MOV a0+16(FP), A0
	MOV a1+24(FP), A1
	MOV a2+32(FP), A2
	// The host finds the function by the hash in t0.
	MOV $504, A7
	ECALL
	MOV A0, result+40(FP)
	RET
