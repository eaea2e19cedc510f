# A function in assembly that calls a computed place in itself, and knows what that leaves alone: temporaries, which other
# functions may change. It fills 5 bytes, and moves a0 by as many.
.globl _start
.type _start, @function
_start:
	la	a0, buffer
	mv	s0, a0
	li	a1, 7
	li	a2, 5
	call	fill
	sub	a0, a0, s0
	li	t0, 8
1:	lbu	t1, 0(s0)
	add	a0, a0, t1
	addi	s0, s0, 1
	addi	t0, t0, -1
	bnez	t0, 1b
	li	a7, 93
	ecall
.size _start, .-_start

.globl fill
.type fill, @function
.option push
.option norvc
fill:
	li	t1, 8
	sub	t1, t1, a2
	slli	t1, t1, 2
	lla	t2, stores
	add	t1, t1, t2
	mv	t0, ra
	jalr	ra, 0(t1)
	mv	ra, t0
	add	a0, a0, a2
	ret
stores:
	sb	a1, 7(a0)
	sb	a1, 6(a0)
	sb	a1, 5(a0)
	sb	a1, 4(a0)
	sb	a1, 3(a0)
	sb	a1, 2(a0)
	sb	a1, 1(a0)
	sb	a1, 0(a0)
	ret
.option pop
.size fill, .-fill

.bss
buffer:	.zero	16
