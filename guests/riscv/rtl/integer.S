// Arithmetic: latencies by class and by operands.

        PLAIN   alu.chain
        addi a0, s10, 1; addi a1, a0, 1; addi a2, a1, 1; addi a3, a2, 1; addi a4, a3, 1; addi a5, a4, 1
        addi a6, a5, 1; addi a7, a6, 1; addi s2, a7, 1; addi s3, s2, 1; addi s4, s3, 1; addi s5, s4, 1
        addi s6, s5, 1; addi s7, s6, 1; addi s8, s7, 1; addi s9, s8, 1
        END     alu.chain

        PLAIN   alu.independent
        .irp r, a0, a1, a2, a3, a4, a5, a6, a7, s2, s3, s4, s5, s6, s7, s8, s9
        add     \r, s10, s11
        .endr
        END     alu.independent

        PLAIN   alu.same_register
        .rept   16
        addi    a0, a0, 1
        .endr
        END     alu.same_register

        PLAIN   alu.written_twice
        .rept   8
        add     a0, s10, s11
        add     a1, s10, s11
        .endr
        END     alu.written_twice

        PLAIN   alu.kinds
        lui a0, 0x12345; auipc a1, 0; and a2, a0, a1; ori a3, a0, 7; xor a4, a1, a2; slt a5, a1, a0
        sltiu a6, a0, 9; sub a7, a5, a6; sll s2, a0, a6; srai s3, a0, 3; not s4, a0; seqz s5, a0
        END     alu.kinds

        PLAIN   alu.shift_immediate
        .rept   8
        slli    a0, s11, 5
        srli    a1, a0, 3
        .endr
        END     alu.shift_immediate

        KERNEL  alu.shift_register
        li      s2, 31
        li      s3, 1
        LOOP    alu.shift_register
        .rept   4
        sll     a0, s11, s2
        srl     a1, a0, s3
        sra     a2, a1, s2
        .endr
        END     alu.shift_register

        PLAIN   alu.shortest_loop, 400
        END     alu.shortest_loop

        PLAIN   alu.nop
        .rept   8
        nop
        .endr
        END     alu.nop

#if __riscv_xlen == 64
        PLAIN   word.chain
        .rept   8
        addiw   a0, s11, 1
        addw    a1, a0, s11
        .endr
        END     word.chain
#endif

.macro ARITHMETIC name instruction first second
        KERNEL  \name
        li      s2, \first
        li      s3, \second
        LOOP    \name
        .rept   4
        \instruction a0, s2, s3
        add     a1, a0, a0
        .endr
        END     \name
.endm

// Each needs the result before; the operands stay what they are.
.macro DEPENDENT name instruction first second
        KERNEL  \name
        li      s2, \first
        li      s3, \second
        LOOP    \name
        .irp r, a0, a1, a2, a3
        \instruction \r, s2, s3
        sub     s4, \r, \r
        add     s2, s2, s4
        .endr
        END     \name
.endm

.macro INDEPENDENT name instruction first second
        KERNEL  \name
        li      s2, \first
        li      s3, \second
        LOOP    \name
        .irp r, a0, a1, a2, a3, a4, a5, a6, a7
        \instruction \r, s2, s3
        .endr
        END     \name
.endm

        KERNEL  mul.dependent
        li      s2, 1
        li      a0, 3
        LOOP    mul.dependent
        mul a1, a0, s2; mul a2, a1, s2; mul a3, a2, s2; mul a4, a3, s2
        mul a5, a4, s2; mul a6, a5, s2; mul a7, a6, s2; mul a0, a7, s2
        END     mul.dependent

        INDEPENDENT mul.independent, mul, 3, 5
        ARITHMETIC mul.zero, mul, 0, 0
        ARITHMETIC mul.small, mul, 3, 5
        ARITHMETIC mul.large, mul, 0x7ffffff1, 0x7ffffff3
        ARITHMETIC mul.negative, mul, -3, 5
        ARITHMETIC mul.high, mulh, 0x7ffffff1, 0x7ffffff3
        ARITHMETIC mul.high_unsigned, mulhu, -1, -1
        ARITHMETIC mul.high_mixed, mulhsu, -3, 5
        INDEPENDENT mul.high_independent, mulh, 0x7ffffff1, 3

        KERNEL  mul.hidden
        li      s2, 7
        LOOP    mul.hidden
        .irp r, a0, a1
        mul     \r, s2, s11
        .irp s, a2, a3, a4, a5, a6, a7, s3, s4
        add     \s, s2, s11
        .endr
        add     s5, \r, \r
        .endr
        END     mul.hidden

        KERNEL  mul.to_store
        li      s2, 7
        LOOP    mul.to_store
        .rept   4
        mul     a0, s2, s11
        SX      a0, 0(s0)
        .endr
        END     mul.to_store

        ARITHMETIC div.small, div, 7, 2
        ARITHMETIC div.smaller, div, 2, 7
        ARITHMETIC div.equal, div, 1000000, 1000000
        ARITHMETIC div.large, div, 0x7ffffff1, 3
        ARITHMETIC div.large_by_large, div, 0x7ffffff1, 0x3ffffff3
        ARITHMETIC div.negative, div, -7, 2
        ARITHMETIC div.negative_both, div, -1000000, -3
        ARITHMETIC div.by_zero, div, 7, 0
        ARITHMETIC div.zero, div, 0, 7
        ARITHMETIC div.by_one, div, 0x7ffffff1, 1
        ARITHMETIC div.unsigned, divu, -1, 3
        ARITHMETIC div.remainder, rem, 0x7ffffff1, 10
        ARITHMETIC div.remainder_unsigned, remu, -1, 10
        DEPENDENT div.dependent, div, 1000, 3
        INDEPENDENT div.independent, div, 1000, 3
#if __riscv_xlen == 64
        ARITHMETIC wordmul.word, mulw, 0x7ffffff1, 3
        ARITHMETIC worddiv.small, divw, 7, 2
        ARITHMETIC worddiv.large, divw, 0x7ffffff1, 3
        ARITHMETIC worddiv.wide, div, 0x7ffffffffffffff1, 3
        ARITHMETIC worddiv.remainder, remuw, -1, 10
#endif

        KERNEL  div.hidden
        li      s2, 0x7ffffff1
        li      s3, 3
        LOOP    div.hidden
        div     a0, s2, s3
        .rept   4
        .irp s, a2, a3, a4, a5, a6, a7, s4, s5
        add     \s, s2, s11
        .endr
        .endr
        add     s6, a0, a0
        END     div.hidden

        KERNEL  div.then_multiply
        li      s2, 1000
        li      s3, 3
        LOOP    div.then_multiply
        .rept   4
        div     a0, s2, s3
        mul     a1, s2, s3
        .endr
        END     div.then_multiply

        KERNEL  div.then_load
        li      s2, 1000
        li      s3, 3
        LOOP    div.then_load
        .rept   4
        div     a0, s2, s3
        LX      a1, 0(s0)
        add     a2, a1, a1
        .endr
        END     div.then_load

        // 64 operands of all widths.
        KERNEL  div.widths, 256
        li      s2, -1
        li      s3, 3
        LOOP    div.widths
        srl     a0, s2, s11
        div     a1, a0, s3
        divu    a2, s2, a0
        END     div.widths
