# Pairs of lr and sc: one that holds, one without a reservation, one at another address, one whose word has changed. With
# MISALIGNED, an access that traps, behind one that does not.
.option norelax
.globl _start
.type _start, @function
_start:
	call	pairs
	li	a7, 93
	ecall
.size _start, .-_start

.globl pairs
.type pairs, @function
pairs:
	la	a1, word
	lr.d	a2, (a1)
	addi	a2, a2, 5
	sc.d	a0, a2, (a1)
	sc.d	a3, a2, (a1)
	add	a0, a0, a3
	lr.w	a2, (a1)
	addi	a4, a1, 8
	sc.w	a3, a2, (a4)
	add	a0, a0, a3
	lr.d	a2, (a1)
	addi	a5, a2, 1
	sd	a5, (a1)
	sc.d	a3, zero, (a1)
	add	a0, a0, a3
#ifdef MISALIGNED
	addi	a1, a1, 2
	amoadd.w	a3, a0, (a1)
#endif
	amoadd.d	a3, a0, (a1)
	slli	a3, a3, 3
	add	a0, a0, a3
	ret
.size pairs, .-pairs

.data
.balign 16
word:
	.dword	0, 0
