// Loads, stores and what is between them.

.macro LOADUSE name load
        PLAIN   \name
        .irp r, a0, a1, a2, a3, a4, a5, a6, a7
        \load   \r, 8(s0)
        add     t0, \r, s11
        .endr
        END     \name
.endm

        LOADUSE load.use, LX
        LOADUSE load.use_word, lw
        LOADUSE load.use_byte, lb
        LOADUSE load.use_byte_unsigned, lbu
        LOADUSE load.use_half, lhu

        PLAIN   load.use_after_one
        .irp r, a0, a1, a2, a3, a4, a5, a6, a7
        LX      \r, 8(s0)
        add     t0, s11, s11
        add     t1, \r, s11
        .endr
        END     load.use_after_one

        PLAIN   load.use_byte_after_one
        .irp r, a0, a1, a2, a3, a4, a5, a6, a7
        lbu     \r, 8(s0)
        add     t0, s11, s11
        add     t1, \r, s11
        .endr
        END     load.use_byte_after_one

        PLAIN   load.use_after_two
        .irp r, a0, a1, a2, a3
        LX      \r, 8(s0)
        add     t0, s11, s11
        add     t1, s11, s11
        add     t2, \r, s11
        .endr
        END     load.use_after_two

        PLAIN   load.independent
        .irp r, a0, a1, a2, a3, a4, a5, a6, a7
        LX      \r, 8(s0)
        .endr
        END     load.independent

        PLAIN   load.to_zero
        .rept   4
        LX      zero, 8(s0)
        add     a0, zero, s11
        .endr
        END     load.to_zero

        KERNEL  load.chase
        SX      s0, 0(s0)
        mv      a0, s0
        LOOP    load.chase
        LX a1, 0(a0); LX a2, 0(a1); LX a3, 0(a2); LX a4, 0(a3)
        LX a5, 0(a4); LX a6, 0(a5); LX a7, 0(a6); LX a0, 0(a7)
        END     load.chase

        PLAIN   load.then_branch
        .rept   8
        LX      a0, 8(s0)
        bnez    a0, done
        .endr
        END     load.then_branch

        PLAIN   load.copy
        .irp r, a0, a1, a2, a3, a4, a5, a6, a7
        LX      \r, 8(s0)
        SX      \r, 8(s1)
        .endr
        END     load.copy

        PLAIN   load.to_address_of_store
        SX      s0, 0(s1)
        .rept   4
        LX      a0, 0(s1)
        SX      s11, 64(a0)
        .endr
        END     load.to_address_of_store

        PLAIN   load.then_multiply
        .rept   4
        LX      a0, 8(s0)
        mul     a1, a0, s11
        .endr
        END     load.then_multiply

        PLAIN   store.words
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7
        SX      s11, \n * XBYTES(s0)
        .endr
        END     store.words

        PLAIN   store.same_word
        .rept   8
        SX      s11, 8(s0)
        .endr
        END     store.same_word

        PLAIN   store.bytes
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7
        sb      s11, \n(s0)
        .endr
        END     store.bytes

        PLAIN   store.lines
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7
        SX      s11, \n * 64(s0)
        .endr
        END     store.lines

        PLAIN   store.fresh_data
        .irp r, a0, a1, a2, a3, a4, a5, a6, a7
        addi    \r, s11, 1
        SX      \r, 8(s0)
        .endr
        END     store.fresh_data

        // The load reads what the store wrote, or something else, after some instructions.
.macro FORWARD name store load at gap count=8
        PLAIN   \name
        .rept   \count
        \store  s11, 8(s0)
        .rept   \gap
        add     t0, s11, s11
        .endr
        \load   a0, \at(s0)
        add     a1, a0, s11
        .endr
        END     \name
.endm

        FORWARD store.load_same, SX, LX, 8, 0
        FORWARD store.load_same_after_1, SX, LX, 8, 1
        FORWARD store.load_same_after_2, SX, LX, 8, 2
        FORWARD store.load_same_after_3, SX, LX, 8, 3, 4
        FORWARD store.load_same_after_4, SX, LX, 8, 4, 4
        FORWARD store.load_same_after_6, SX, LX, 8, 6, 4
        FORWARD store.load_next_word, SX, LX, 16, 0
        FORWARD store.load_same_line, SX, LX, 40, 0
        FORWARD store.load_other_line, SX, LX, 136, 0
        FORWARD store.load_same_page_offset, SX, LX, (1024+8), 0
        FORWARD store.byte_load_word, sb, LX, 8, 0
        FORWARD store.byte_load_byte, sb, lbu, 8, 0
        FORWARD store.byte_load_next_byte, sb, lbu, 9, 0
        FORWARD store.word_load_byte, SX, lbu, 9, 0
        FORWARD store.half_load_word, sh, lw, 8, 2
        FORWARD store.word_load_half, sw, lh, 10, 1

        PLAIN   store.alternate
        .rept   4
        SX      s11, 0(s0)
        LX      a0, 128(s0)
        SX      a0, 64(s0)
        LX      a1, 192(s0)
        .endr
        END     store.alternate

        PLAIN   store.read_modify_write
        .rept   4
        LX      a0, 8(s0)
        addi    a0, a0, 1
        SX      a0, 8(s0)
        .endr
        END     store.read_modify_write

        PLAIN   store.save_and_restore
        addi    sp, sp, -16 * XBYTES
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7
        SX      a\n, \n * XBYTES(sp)
        .endr
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7
        LX      a\n, \n * XBYTES(sp)
        .endr
        addi    sp, sp, 16 * XBYTES
        END     store.save_and_restore

        // The timer's comparison register: a device.
.macro DEVICE name
        KERNEL  \name
        li      s2, 0x2004000
        li      s3, -1
        LOOP    \name
.endm
        DEVICE  device.store
        sw      s3, 0(s2)
        END     device.store
        DEVICE  device.stores
        .rept   4
        sw      s3, 0(s2)
        .endr
        END     device.stores
        DEVICE  device.load
        .rept   2
        lw      a0, 0(s2)
        add     a1, a0, s11
        .endr
        END     device.load
        DEVICE  device.store_then_load
        sw      s3, 0(s2)
        lw      a0, 0(s2)
        add     a1, a0, s11
        END     device.store_then_load
        DEVICE  device.store_then_work
        sw      s3, 0(s2)
        .rept   16
        add     a1, s11, s11
        .endr
        LX      a0, 8(s0)
        END     device.store_then_work

        // Walks over more than the first data cache, and over addresses that compete for a set.
.macro WALK name access stride steps passes=100
        KERNEL  \name, \passes
        la      s2, data
        li      s3, \stride
        LOOP    \name
        mv      a0, s2
        li      a2, \steps
1:      \access a1, 0(a0)
        add     a0, a0, s3
        addi    a2, a2, -1
        bnez    a2, 1b
        END     \name
.endm
        WALK    cache.load_lines, LX, 64, 1024, 4
        WALK    cache.store_lines, SX, 64, 1024, 4
        WALK    cache.load_words, LX, XBYTES, 2048, 4
        WALK    cache.load_one_set, LX, 4096, 16, 40
        WALK    cache.store_one_set, SX, 4096, 16, 40
        WALK    cache.load_half_lines, LX, 32, 512, 4

        KERNEL  cache.chase, 8
        la      s2, data
        // A ring of lines, each 17 lines behind the one before, over 64 KiB.
        mv      a0, s2
        li      a1, 0
        li      a2, 1024
1:      addi    a1, a1, 17
        andi    a1, a1, 1023
        slli    a3, a1, 6
        add     a3, a3, s2
        SX      a3, 0(a0)
        mv      a0, a3
        addi    a2, a2, -1
        bnez    a2, 1b
        LOOP    cache.chase
        li      a2, 256
1:      LX      a0, 0(a0)
        addi    a2, a2, -1
        bnez    a2, 1b
        END     cache.chase

        KERNEL  cache.miss_and_work, 32
        la      s2, data
        LOOP    cache.miss_and_work
        .irp n, 0, 1, 2, 3
        LX      a0, \n * 64(s2)
        .rept   12
        add     a1, s11, s11
        .endr
        add     a2, a0, a0
        .endr
        addi    s2, s2, 256
        END     cache.miss_and_work

        // Straight code of 32 KiB.
        KERNEL  cache.long_code, 3
        LOOP    cache.long_code
        .rept   8192
        add     a0, s11, s11
        .endr
        FAREND  cache.long_code

        KERNEL  amo.add
        LOOP    amo.add
        .rept   4
        amoadd.w a0, s11, (s0)
        add     a1, a0, a0
        .endr
        END     amo.add

        PLAIN   amo.swap_independent
        .irp r, a0, a1, a2, a3
        amoswap.w \r, s11, (s0)
        .endr
        END     amo.swap_independent

        PLAIN   amo.max_ordered
        .rept   4
        amomax.w.aqrl a0, s11, (s0)
        .endr
        END     amo.max_ordered

        PLAIN   amo.reserve
        .rept   4
        lr.w    a0, (s0)
        addi    a0, a0, 1
        sc.w    a1, a0, (s0)
        add     a2, a1, a1
        .endr
        END     amo.reserve

        PLAIN   amo.reserve_fails
        .rept   4
        sc.w    a1, a0, (s0)
        add     a2, a1, a1
        .endr
        END     amo.reserve_fails

        PLAIN   amo.then_load
        .rept   4
        amoadd.w zero, s11, (s0)
        lw      a0, 0(s0)
        add     a1, a0, a0
        .endr
        END     amo.then_load

        PLAIN   amo.after_store
        .rept   4
        sw      s11, 0(s0)
        amoadd.w a0, s11, (s0)
        .endr
        END     amo.after_store

        PLAIN   fence.alone
        .rept   4
        fence
        .endr
        END     fence.alone

        PLAIN   fence.after_store
        .rept   4
        SX      s11, 8(s0)
        fence   rw, rw
        LX      a0, 8(s0)
        .endr
        END     fence.after_store

        PLAIN   fence.between_loads
        .rept   4
        LX      a0, 8(s0)
        fence   r, r
        LX      a1, 16(s0)
        .endr
        END     fence.between_loads

        PLAIN   fence.code
        fence.i
        END     fence.code

        PLAIN   fence.code_after_stores
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7
        SX      s11, \n * 64(s0)
        .endr
        fence.i
        END     fence.code_after_stores

        // Done in hardware or not at all: then the handler goes past it.
.macro MISALIGNED name access at
        KERNEL  \name
        HANDLER skip
        LOOP    \name
        .rept   4
        \access a0, \at(s0)
        .endr
        END     \name
.endm
        MISALIGNED misaligned.load, lw, 9
        MISALIGNED misaligned.load_half, lh, 9
        MISALIGNED misaligned.load_half_across_words, lh, 11
        MISALIGNED misaligned.load_across_lines, lw, 62
        MISALIGNED misaligned.store, sw, 9
        MISALIGNED misaligned.store_half, sh, 11
