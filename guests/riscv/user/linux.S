// Start and end of a static program on Linux or the proxy kernel.
        .text
        .globl  user_start
user_start:
        // With the default linker script, small data is addressed relative to gp.
        .option push
        .option norelax
        la      gp, __global_pointer$
        .option pop
        call    main
        li      a7, 93
        ecall
