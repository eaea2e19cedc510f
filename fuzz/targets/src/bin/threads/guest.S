# A guest that does what a table says: `main.rs` has the words of this, and makes tables.
#
# A record is 64 bytes: what to do, a0 to a5, a7. s0 is the offset of the next one, s1 the table's address, s2 what keeps an
# offset within it. Threads begin with the registers of their makers, and so go on behind the record that has made them.
next:
    and s0, s0, s2
    add t0, s1, s0
    addi s0, s0, 64
    ld t1, 0(t0)
    ld a0, 8(t0)
    ld a1, 16(t0)
    ld a2, 24(t0)
    ld a3, 32(t0)
    ld a4, 40(t0)
    ld a5, 48(t0)
    ld a7, 56(t0)
    beqz t1, call
    addi t1, t1, -1
    beqz t1, store
    addi t1, t1, -1
    beqz t1, add
    addi t1, t1, -1
    beqz t1, go
    addi t1, t1, -1
    beqz t1, keep
    ebreak
    j next
call:                   # a system call
    ecall
    mv s3, a0
    j next
store:
    sd a1, 0(a0)
    j next
add:                    # an atomic operation
    amoadd.w t2, a1, (a0)
    j next
go:                     # elsewhere in the table
    mv s0, a0
    j next
keep:                   # stores what the last call has given, such as a descriptor
    sd s3, 0(a0)
    j next
handler:                # of signals
    ret
