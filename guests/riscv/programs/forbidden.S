// image: forbidden bare
// Asks the host, through Spike's host-target interface, to open a file that it may not open, and ends with the
// error number as its status.
        .text
        .globl  _start
_start:
        la      a0, request
        la      a1, tohost
        fence
        sd      a0, 0(a1)
        // The host answers in fromhost, and replaces the number by the result.
        la      a2, fromhost
1:      ld      t0, 0(a2)
        beqz    t0, 1b
        sd      zero, 0(a2)
        ld      t0, 0(a0)
        neg     t0, t0
        slli    t0, t0, 1
        ori     t0, t0, 1
        sd      t0, 0(a1)
2:      j       2b

        .data
        .balign 64
        .globl  tohost, fromhost
tohost: .dword  0
        .balign 64
fromhost:
        .dword  0
        .balign 64
        // openat(AT_FDCWD, path, length with its zero, O_RDONLY, 0)
request:
        .dword  56, -100, path, path_end - path, 0, 0, 0, 0
path:   .asciz  "/etc/hostname"
path_end:
