// Floating point.
#ifdef __riscv_flen

.macro FLOATS name passes=200
        KERNEL  \name, \passes
        li      t0, 0x6000
        csrs    mstatus, t0
        csrwi   fcsr, 0
        li      t0, 3
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15, 16, 17
        fcvt.d.l f\n, t0
        .endr
        li      t0, 7
        fcvt.d.l fs0, t0
        fcvt.s.l fs1, t0
        fcvt.s.l ft8, t0
        fsd     fs0, 8(s0)
        LOOP    \name
.endm
.macro FLOATCHAIN name instruction
        FLOATS  \name
        .rept   4
        \instruction fa0, fa0, fs0
        .endr
        END     \name
.endm
.macro FLOATWIDE name instruction
        FLOATS  \name
        .irp r, fa0, fa1, fa2, fa3, fa4, fa5, fa6, fa7
        \instruction \r, fs0, fs0
        .endr
        END     \name
.endm
        FLOATCHAIN float.add_chain, fadd.d
        FLOATCHAIN float.multiply_chain, fmul.d
        FLOATCHAIN float.min_chain, fmin.d
        FLOATCHAIN float.sign_chain, fsgnj.d
        FLOATWIDE float.add_independent, fadd.d
        FLOATWIDE float.multiply_independent, fmul.d
        FLOATCHAIN divide.chain, fdiv.d

        FLOATS  divide.single
        .rept   4
        fdiv.s  fa0, fs1, ft8
        fadd.s  fa1, fa0, fa0
        .endr
        END     divide.single

        FLOATS  divide.root
        .rept   4
        fsqrt.d fa0, fs0
        fadd.d  fa1, fa0, fa0
        .endr
        END     divide.root

        FLOATS  divide.hidden
        fdiv.d  fa0, fs0, fs0
        .rept   4
        .irp s, a2, a3, a4, a5, a6, a7, s4, s5
        add     \s, s2, s11
        .endr
        .endr
        fadd.d  fa1, fa0, fa0
        END     divide.hidden

        FLOATS  float.single_chain
        .rept   4
        fadd.s  ft8, ft8, fs1
        .endr
        END     float.single_chain

        FLOATS  float.fused_chain
        .rept   4
        fmadd.d fa0, fa0, fs0, fa1
        .endr
        END     float.fused_chain

        FLOATS  float.to_integer
        .rept   4
        fcvt.l.d a0, fs0
        add     a1, a0, a0
        .endr
        END     float.to_integer

        FLOATS  float.from_integer
        .rept   4
        fcvt.d.l fa0, s11
        fadd.d  fa1, fa0, fa0
        .endr
        END     float.from_integer

        FLOATS  float.move_to_integer
        .rept   4
        fmv.x.d a0, fs0
        add     a1, a0, a0
        .endr
        END     float.move_to_integer

        FLOATS  float.move_both_ways
        .rept   4
        fmv.d.x fa0, s11
        fmv.x.d a0, fa0
        .endr
        END     float.move_both_ways

        FLOATS  float.compare_and_branch
        .rept   4
        feq.d   a0, fs0, fa0
        bnez    a0, done
        .endr
        END     float.compare_and_branch

        FLOATS  float.convert_sizes
        .rept   4
        fcvt.s.d fa0, fs0
        fcvt.d.s fa1, fa0
        .endr
        END     float.convert_sizes

        FLOATS  float.load_use
        .irp r, fa0, fa1, fa2, fa3
        fld     \r, 8(s0)
        fadd.d  ft0, \r, fs0
        .endr
        END     float.load_use

        FLOATS  float.store_fresh
        .irp r, fa0, fa1, fa2, fa3
        fadd.d  \r, fs0, fs0
        fsd     \r, 16(s0)
        .endr
        END     float.store_fresh

        FLOATS  float.load_and_store
        .irp r, fa0, fa1, fa2, fa3, fa4, fa5, fa6, fa7
        fld     \r, 8(s0)
        fsd     \r, 16(s0)
        .endr
        END     float.load_and_store

        FLOATS  float.flags
        .rept   4
        fadd.d  fa0, fs0, fs0
        csrr    a0, fflags
        .endr
        END     float.flags

        FLOATS  float.dot_product
        .rept   4
        fld     fa1, 8(s0)
        fld     fa2, 8(s0)
        fmadd.d fa0, fa1, fa2, fa0
        .endr
        END     float.dot_product
#endif
