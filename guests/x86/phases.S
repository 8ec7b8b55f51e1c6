// The phases. A phase is a loop that takes the stamps r8d, r9d, r10d and eax around one crossing and stores them. In ring 0
// it ends at `done`, in ring 3 with an exception at one of two marked places.
#include "layout.h"

// Reads the time into `reg`: earlier instructions have completed, later ones have not started. Clobbers eax and edx. 32 bits are
// enough for a difference.
.macro stamp reg
        lfence
        rdtsc
        lfence
        mov %eax, \reg
.endm

// Takes the last stamp, which stays in eax, stores the sample, and repeats or ends the loop.
.macro keep
        lfence
        rdtsc
        lfence
        mov %r8d, (%r14)
        mov %r9d, 4(%r14)
        mov %r10d, 8(%r14)
        mov %eax, 12(%r14)
        add $16, %r14
        dec %r13d
        jnz 1b
.endm

// The first stamp of a phase; those between are zero where the phase takes none.
.macro whole
        xor %r9d, %r9d
        xor %r10d, %r10d
        .balign 64
.endm

// The handler of an interrupt of the local APIC, whose page is at rdi: r10 in it.
.macro answers name
        .balign 64
\name:
        stamp %r10d
        movl $0, 0xb0(%rdi)             // end of interrupt
        iretq
.endm

.macro phase entry, handler=0, ring=0, need=0, vector=0, gate=0x8e
        .quad \entry, \handler
        .long \ring, \need, \vector, \gate, 0, 0
.endm

.section .rodata, "a"
        .balign 8
        .globl phases
phases:
        phase pair0
        phase pair3, ring=3
        phase fault, fault_whole, 3, vector=14
        phase fault, fault_split, 3, vector=14
        phase undefined, undefined_whole, 3, vector=6
        phase undefined, undefined_split, 3, vector=6
        phase interrupt, interrupt_whole, 3, vector=INT_VECTOR, gate=0xee
        phase interrupt, interrupt_split, 3, vector=INT_VECTOR, gate=0xee
        phase call, call_whole, 3, vector=256
        phase call, call_split, 3, vector=256
        phase interrupt_return
        phase space
        phase space_tagged, need=PCID
        phase one_page
        phase exit_cpuid
        phase exit_port
        phase exit_memory
        phase exit_doorbell, need=DOORBELLS
        // These are last: the guest can hang in them if an emulator executes them incorrectly.
        phase exit_hypercall, need=HYPERVISOR
        phase wake, wake_handler, need=DEADLINE, vector=TIMER_VECTOR
        phase answer, answer_handler, need=DOORBELLS, vector=ANSWER_VECTOR
phases_end:

.text
pair0:  whole
1:      stamp %r8d
        keep
        jmp done

pair3:  whole
1:      stamp %r8d
        keep
        jmp user_done_ud

// A read of an absent page. The handler makes the read repeat at another address, so that the figure includes no work on
// page tables.
fault:  whole
1:      mov $ABSENT, %edi
        stamp %r8d
        mov (%rdi), %ecx
        keep
        jmp user_done_ud
        .balign 64
fault_whole:
        mov %esi, %edi
        add $8, %rsp                    // the error code
        iretq
        .balign 64
fault_split:
        stamp %r9d
        mov %esi, %edi
        add $8, %rsp
        stamp %r10d
        iretq

undefined:
        whole
1:      stamp %r8d
        ud2
        keep
        jmp user_done_pf
        .balign 64
undefined_whole:
        addq $2, (%rsp)                 // past the ud2
        iretq
        .balign 64
undefined_split:
        stamp %r9d
        addq $2, (%rsp)
        stamp %r10d
        iretq

interrupt:
        whole
1:      stamp %r8d
        int $INT_VECTOR
        keep
        jmp user_done_ud
        .balign 64
interrupt_whole:
        iretq
        .balign 64
interrupt_split:
        stamp %r9d
        stamp %r10d
        iretq

call:   whole
1:      stamp %r8d
        syscall
        keep
        jmp user_done_ud
        .balign 64
call_whole:
        sysretq
        .balign 64
call_split:
        stamp %r9d
        stamp %r10d
        sysretq

// From ring 0 to ring 0, with a frame that was made before the first stamp.
interrupt_return:
        mov %rsp, %rbx
        whole
1:      pushq $KDATA
        pushq %rbx
        pushq $2
        pushq $KCODE
        pushq $2f
        stamp %r8d
        iretq
2:      keep
        jmp done

// Loads the same translation, which flushes the TLB. Then a page is read twice: the difference is the cost of the
// page-table walk.
.macro after_flush
        stamp %r9d
        mov (%rdi), %ecx
        stamp %r10d
        mov (%rdi), %ecx
        keep
.endm
space:  mov %cr3, %rbx
        mov $TOUCH, %edi
        .balign 64
1:      mov (%rdi), %ecx
        stamp %r8d
        mov %rbx, %cr3
        after_flush
        jmp done

// With a tag, and bit 63: keep what the TLB has.
space_tagged:
        mov %cr4, %rax
        bts $17, %rax
        mov %rax, %cr4
        mov %cr3, %rbx
        bts $63, %rbx
        mov $TOUCH, %edi
        .balign 64
1:      mov (%rdi), %ecx
        stamp %r8d
        mov %rbx, %cr3
        after_flush
        mov %cr4, %rax
        btr $17, %rax
        mov %rax, %cr4
        jmp done

one_page:
        mov $TOUCH, %edi
        .balign 64
1:      mov (%rdi), %ecx
        stamp %r8d
        invlpg (%rdi)
        after_flush
        jmp done

// Exits: KVM handles cpuid and the hypercall in the kernel; the monitor handles the others in user space.
exit_cpuid:
        whole
1:      stamp %r8d
        xor %eax, %eax
        cpuid
        keep
        jmp done

exit_hypercall:
        whole
1:      stamp %r8d
        mov $1, %eax                    // KVM_HC_VAPIC_POLL_IRQ, which does nothing
        .globl hypercall
hypercall:
        vmcall
        keep
        jmp done

exit_port:
        whole
1:      stamp %r8d
        out %al, $PLAIN_PORT
        keep
        jmp done

exit_memory:
        mov $NOWHERE, %edi
        whole
1:      stamp %r8d
        mov %eax, (%rdi)
        keep
        jmp done

// KVM notes the write in an eventfd and continues the guest.
exit_doorbell:
        whole
1:      stamp %r8d
        out %al, $DOORBELL_PORT
        keep
        jmp done

// r8 before hlt, r9 the deadline, r10 in the handler, eax behind hlt.
wake:   mov $APIC, %edi
        movl $0x1ff, 0xf0(%rdi)         // on
        movl $(0x40000 | TIMER_VECTOR), 0x320(%rdi)     // the timer, by deadline
        mfence
        cmp $32, %r13d                  // these take long
        jbe 1f
        mov $32, %r13d
1:      rdtsc
        add p_deadline, %eax
        adc $0, %edx
        mov %eax, %r9d
        mov $0x6e0, %ecx                // IA32_TSC_DEADLINE
        wrmsr
        stamp %r8d
        sti
        hlt
        cli
        keep
        jmp done
        answers wake_handler

// Rings, and halts until the answer's interrupt: r8 before the doorbell, r10 in the handler, eax behind hlt. Interrupts are off
// until hlt, so that an early answer waits for it.
answer: mov $APIC, %edi
        movl $0x1ff, 0xf0(%rdi)         // on
        mfence
        whole
1:      stamp %r8d
        out %al, $ANSWERED_PORT
        sti
        hlt
        cli
        keep
        jmp done
        answers answer_handler

// The two ends of ring 3, each for phases that do not handle that exception themselves.
        .globl user_done_ud, user_done_pf
user_done_ud:
        ud2
user_done_pf:
        mov ABSENT, %ecx
