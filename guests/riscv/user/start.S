// Start and end of a program on one of our kernels.
        .text
        .globl  user_start
user_start:
        call    main
        li      a7, 93
        ecall

        // Set by the handler of the software interrupt; the program that raised it polls it.
        .data
        .balign 8
        .globl  toll_flag
toll_flag:
        .dword  0
