# Hello
#
# While a program sets no trap handler, the page answers
# its ecalls: 64 writes, 93 exits. Press "Run", then look
# at the console.

        .globl  _start
_start:
        li      a7, 64          # write
        li      a0, 1
        la      a1, text
        li      a2, 14
        ecall
        li      a7, 93          # exit
        li      a0, 0
        ecall

        .data
text:   .ascii  "hello, cycles\n"
