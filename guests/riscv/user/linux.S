// Where a static program on Linux or the proxy kernel begins and ends.
        .text
        .globl  user_start
user_start:
        // The default linker script lets small data be addressed from gp.
        .option push
        .option norelax
        la      gp, __global_pointer$
        .option pop
        call    main
        li      a7, 93
        ecall
