# Functions in assembly that keep temporaries over calls by register: the callee leaves them alone, or, with RESTORES,
# saves one, has another value in it over a call of its own, and restores it.
.option norelax
.globl _start
.type _start, @function
_start:
	li	a0, 1
	la	a5, callee
	call	keeper
	li	a7, 93
	ecall
.size _start, .-_start

.globl keeper
.type keeper, @function
keeper:
	addi	sp, sp, -16
	sd	ra, 8(sp)
	li	t1, 5
	li	t3, 7
	fcvt.d.w ft3, t3
	ld	a4, 0(a5)
	jalr	a4
	add	a0, a0, t1
	add	a0, a0, t3
	fcvt.w.d t3, ft3
	add	a0, a0, t3
	ld	ra, 8(sp)
	addi	sp, sp, 16
	ret
.size keeper, .-keeper

.globl changes_little
.type changes_little, @function
changes_little:
#ifdef RESTORES
	addi	sp, sp, -16
	sd	ra, 8(sp)
	sd	t1, 0(sp)
	li	t1, 9
	call	more
	add	a0, a0, t1
	ld	t1, 0(sp)
	ld	ra, 8(sp)
	addi	sp, sp, 16
	ret
#else
	addi	a0, a0, 10
	slli	a0, a0, 1
	ret
#endif
.size changes_little, .-changes_little

.globl more
.type more, @function
more:
	addi	a0, a0, 3
	ret
.size more, .-more

.data
.balign 8
callee:	.dword	changes_little
