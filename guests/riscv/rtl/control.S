// Branches, jumps and what predicts them.

        KERNEL  branch.not_taken
        LOOP    branch.not_taken
        .rept   16
        beqz    s11, done
        .endr
        END     branch.not_taken

        PLAIN   branch.taken
        .rept   8
        bnez    s11, 1f
        nop
1:
        .endr
        END     branch.taken

        PLAIN   branch.taken_to_next
        .rept   8
        bnez    s11, 1f
1:
        .endr
        END     branch.taken_to_next

        PLAIN   branch.taken_and_work
        .rept   4
        bnez    s11, 1f
        nop
1:
        .irp r, a0, a1, a2, a3, a4, a5
        add     \r, s11, s11
        .endr
        .endr
        END     branch.taken_and_work

        PLAIN   branch.inner_loop
        li      a0, 4
1:      addi    a0, a0, -1
        bnez    a0, 1b
        END     branch.inner_loop

        PLAIN   branch.inner_loop_of_ten
        li      a0, 10
1:      add     a1, s11, s11
        add     a2, s11, s11
        addi    a0, a0, -1
        bnez    a0, 1b
        END     branch.inner_loop_of_ten

        PLAIN   branch.alternating
        andi    a0, s11, 1
        beqz    a0, 1f
        nop
1:      END     branch.alternating

        KERNEL  branch.period_of_three, 300
        li      s2, 3
        li      s3, 0
        LOOP    branch.period_of_three
        addi    s3, s3, 1
        bne     s3, s2, 1f
        li      s3, 0
1:      END     branch.period_of_three

        // A shift register with feedback decides.
.macro RANDOM name count
        KERNEL  \name, 400
        li      s2, 0xace1
        li      s3, 0xb400
        LOOP    \name
        .rept   \count
        andi    a0, s2, 1
        srli    s2, s2, 1
        beqz    a0, 1f
        xor     s2, s2, s3
1:
        .endr
        END     \name
.endm
        RANDOM  branch.random, 1
        RANDOM  branch.random_four, 4

        PLAIN   branch.on_fresh_value
        .irp r, a0, a1, a2, a3, a4, a5, a6, a7
        addi    \r, s11, 1
        beqz    \r, done
        .endr
        END     branch.on_fresh_value

        PLAIN   branch.on_product
        .rept   4
        mul     a0, s11, s11
        beqz    a0, done
        .endr
        END     branch.on_product

        // So many taken branches, one in each line, or so far apart.
.macro SPREAD name count bytes passes=100
        KERNEL  \name, \passes
        LOOP    \name
        .rept   \count
        bnez    s11, 1f
        .balign \bytes
1:
        .endr
        FAREND  \name
.endm
        SPREAD  branch.in_8_lines, 8, 64
        SPREAD  branch.in_48_lines, 48, 64
        SPREAD  branch.far_apart, 4, 2048
        SPREAD  branch.dense, 64, 8

        // Directions that depend on the three branches before.
        KERNEL  branch.correlated, 400
        li      s2, 0xace1
        li      s3, 0xb400
        LOOP    branch.correlated
        andi    a0, s2, 1
        srli    s2, s2, 1
        beqz    a0, 1f
        xor     s2, s2, s3
1:      beqz    a0, 2f
        nop
2:      bnez    a0, 3f
        nop
3:      END     branch.correlated

        PLAIN   jump.forward
        .rept   8
        j       1f
        nop
1:
        .endr
        END     jump.forward

        PLAIN   jump.to_next
        .rept   8
        j       1f
1:
        .endr
        END     jump.to_next

        PLAIN   jump.far
        .rept   4
        j       1f
        .balign 64
1:
        .endr
        END     jump.far

        .balign 64
leaf:   add     a0, s11, s11
        .irp r, a1, a2, a3, a4, a5
        add     \r, s11, s11
        .endr
empty_leaf:
        ret

        PLAIN   jump.call
        .rept   4
        jal     leaf
        .endr
        END     jump.call

        PLAIN   jump.call_empty
        .rept   4
        jal     empty_leaf
        .endr
        END     jump.call_empty

        // Calls in calls: each level keeps its return address in a register of its own, and returns by ra.
        .macro  LEVEL number, keep, next
        .balign 16
level\number:
        mv      \keep, ra
        jal     \next
        mv      ra, \keep
        ret
        .endm
        LEVEL   1, s2, empty_leaf
        LEVEL   2, s3, level1
        LEVEL   3, s4, level2
        LEVEL   4, s5, level3
        LEVEL   5, s6, level4
        LEVEL   6, s7, level5
        LEVEL   7, s8, level6
        LEVEL   8, s9, level7

        PLAIN   jump.calls_2_deep
        jal     level1
        END     jump.calls_2_deep
        PLAIN   jump.calls_4_deep
        jal     level3
        END     jump.calls_4_deep
        PLAIN   jump.calls_9_deep
        jal     level8
        END     jump.calls_9_deep

        KERNEL  jump.indirect
        la      s2, 1f
        LOOP    jump.indirect
        jr      s2
        nop
1:      END     jump.indirect

        KERNEL  jump.indirect_two_targets
        la      s2, 1f
        la      s3, 2f
        LOOP    jump.indirect_two_targets
        mv      a0, s2
        mv      s2, s3
        mv      s3, a0
        jr      s2
1:      nop
        nop
2:      END     jump.indirect_two_targets

        KERNEL  jump.indirect_fresh_target
        la      s2, 1f
        LOOP    jump.indirect_fresh_target
        addi    a0, s2, 0
        jr      a0
        nop
1:      END     jump.indirect_fresh_target

        KERNEL  jump.indirect_loaded_target
        la      s2, 1f
        SX      s2, 0(s0)
        LOOP    jump.indirect_loaded_target
        LX      a0, 0(s0)
        jr      a0
        nop
1:      END     jump.indirect_loaded_target

        KERNEL  jump.indirect_call
        la      s2, leaf
        LOOP    jump.indirect_call
        .rept   4
        jalr    s2
        .endr
        END     jump.indirect_call

        // A return to elsewhere than the last call.
        KERNEL  jump.wrong_return
        LOOP    jump.wrong_return
        jal     2f
        nop
1:      j       3f
2:      addi    ra, ra, 4
        ret
3:      END     jump.wrong_return

        KERNEL  jump.coroutine
        la      t0, 2f
        LOOP    jump.coroutine
        jalr    ra, t0
        j       3f
2:      jalr    t0, ra
3:      la      t0, 2b
        END     jump.coroutine

#ifdef __riscv_compressed
        .option push
        .option rvc
        PLAIN   compressed.chain
        .rept   16
        c.addi  a0, 1
        .endr
        END     compressed.chain

        PLAIN   compressed.across_words
        c.nop
        .rept   8
        .option norvc
        addi    a0, s11, 1
        .option rvc
        .endr
        c.nop
        END     compressed.across_words

        PLAIN   compressed.mixed
        .rept   8
        c.addi  a0, 1
        .option norvc
        addi    a1, s11, 1
        .option rvc
        .endr
        END     compressed.mixed

        // Targets that are not aligned with a word: short, and across two words.
.macro TARGET name insn
        PLAIN   \name
        .rept   4
        .option norvc
        .balign 4
        j       1f
        .option rvc
        c.nop
1:      \insn
        .endr
        .option norvc
        END     \name
        .option rvc
.endm
        TARGET  compressed.target_short, "c.addi a0, 1"
        TARGET  compressed.target_across_words, ".option norvc; addi a0, s11, 1; .option rvc; c.nop"

        PLAIN   compressed.load_use
        mv      a1, s0
        .rept   8
        c.lw    a0, 0(a1)
        c.add   a2, a0
        .endr
        END     compressed.load_use

        PLAIN   compressed.branches
        mv      a0, s11
        .rept   8
        c.bnez  a0, 1f
        c.nop
1:
        .endr
        END     compressed.branches
        .option pop
#endif
