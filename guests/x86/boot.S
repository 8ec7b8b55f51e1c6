// Start, the loop over the phases, and the end.
#include "layout.h"

.text
// QEMU enters here by multiboot: protected mode, flat segments, no paging.
        .code32
        .globl start32
start32:
        cli
        mov $pml4, %eax
        mov %eax, %cr3
        mov %cr4, %eax
        or $0x20, %eax                  // PAE
        mov %eax, %cr4
        mov $0xc0000080, %ecx           // EFER
        rdmsr
        or $0x100, %eax                 // LME
        wrmsr
        mov %cr0, %eax
        or $0x80000001, %eax            // PG, PE
        mov %eax, %cr0
        lgdt gdt_pointer
        ljmp $KCODE, $start64

// KVM enters here: long mode, the translation of `pml4`, interrupts disabled.
        .code64
        .globl start64
start64:
        lgdt gdt_pointer
        mov $stack_top, %esp
        pushq $KCODE
        pushq $1f
        lretq
1:      mov $KDATA, %eax
        mov %eax, %ds
        mov %eax, %es
        mov %eax, %ss
        xor %eax, %eax
        mov %eax, %fs
        mov %eax, %gs

        // The descriptor of the task segment: its address in four pieces.
        mov $tss, %eax
        mov %ax, gdt + TSS + 2
        shr $16, %eax
        mov %al, gdt + TSS + 4
        mov %ah, gdt + TSS + 7
        movq $trap_top, tss + 4         // the stack of ring 0 when ring 3 traps
        movw $104, tss + 102            // no map of ports
        mov $TSS, %eax
        ltr %ax

        xor %ebx, %ebx
1:      mov %ebx, %edi
        call default_gate
        inc %ebx
        cmp $256, %ebx
        jb 1b
        lidt idt_pointer

        // The head of the results; zero until now.
        mov $results, %r12d
        mov magic, %rax
        mov %rax, (%r12)
        movl $VERSION, R_VERSION(%r12)
        movl $PHASES, R_PHASES(%r12)
        movl $CAPACITY, R_CAPACITY(%r12)
        call features
        mov %eax, R_FEATURES(%r12)

        mov p_sabotage, %eax
        cmp $TRIPLE_FAULT, %eax
        je triple_fault
        cmp $HANG, %eax
        je .
        cmp $RUBBISH, %eax
        je rubbish
        cmp $HALT, %eax
        je halt
        cmp $UNFINISHED, %eax
        je leave
        cmp $RUNAWAY, %eax
        je runaway

        // Samples of each phase in a turn: what is asked for and fits, divided by the turns and rounded up.
        mov p_samples, %eax
        mov $CAPACITY, %ecx
        cmp %ecx, %eax
        cmova %ecx, %eax
        mov %eax, p_samples
        add $TURNS - 1, %eax
        shr $TURN_BITS, %eax
        mov %eax, results + R_TURN
        movl $TURNS, turns
        movl $0, index
        jmp start_phase

// Finds the features that phases can need (in eax), and the hypercall instruction of this processor's vendor.
features:
        xor %eax, %eax
        cpuid
        xor %esi, %esi
        cmp $0x68747541, %ebx           // "Auth"enticAMD
        je 1f
        cmp $0x6f677948, %ebx           // "Hygo"nGenuine
        jne 2f
1:      or $AMD, %esi
        movb $0xd9, hypercall + 2       // vmcall becomes vmmcall
2:      mov $1, %eax
        cpuid
        bt $17, %ecx
        jnc 1f
        or $PCID, %esi
1:      bt $31, %ecx
        jnc 1f
        or $HYPERVISOR, %esi
1:      bt $24, %ecx
        jnc 1f
        testl $HAS_APIC, p_flags
        jz 1f
        or $DEADLINE, %esi
1:      testl $HAS_DOORBELLS, p_flags
        jz 1f
        or $DOORBELLS, %esi
1:      mov %esi, %eax
        ret

// Runs the phases. Those that take turns run again and again, so that all meet whatever speed the machine has for a while: a
// difference of two of them is of the same milliseconds. No register is kept from one phase to the next, because a phase that faults may leave any value in it.
start_phase:
        mov $stack_top, %esp
        mov index, %ebx
        cmp $PHASES, %ebx
        jae finish
        mov %ebx, %eax
        shl $6, %eax
        lea results + R_ROWS(%rax), %r15d
        mov %ebx, (%r15)
        bt %rbx, p_mask
        jnc next_phase
        cmpl $FAULTED, ROW_STATUS(%r15) // in an earlier turn
        je next_phase
        imul $40, %ebx, %ebp
        add $phases, %ebp
        mov 20(%rbp), %eax              // what it needs
        mov results + R_FEATURES, %ecx
        and %eax, %ecx
        cmp %eax, %ecx
        je 1f
        movl $UNSUPPORTED, ROW_STATUS(%r15)
        jmp next_phase
1:      movl $RUNNING, ROW_STATUS(%r15)
        call first_sample
        mov ROW_COUNT(%r15), %eax       // of earlier turns
        mov p_samples, %r13d
        sub %eax, %r13d
        shl $4, %eax
        add %eax, %r14d
        mov results + R_TURN, %eax
        cmp $IN_TURNS, %ebx
        jae 1f
        cmp %eax, %r13d
        cmova %eax, %r13d
1:      test %r13d, %r13d
        jz done
        cmpl $STRAY_FAULT, p_sabotage
        jne 1f
        test %ebx, %ebx
        jz stray
1:      mov 24(%rbp), %edi              // the gate that it answers itself
        test %edi, %edi
        jz 2f
        mov 8(%rbp), %rsi
        cmp $256, %edi                  // the system call has no gate
        je 1f
        mov 28(%rbp), %edx
        call set_gate
        jmp 2f
1:      mov $0xc0000081, %ecx           // STAR: code segments of both sides
        xor %eax, %eax
        mov $(KCODE | 0x1b0000), %edx
        wrmsr
        inc %ecx                        // LSTAR
        mov %esi, %eax
        xor %edx, %edx
        wrmsr
        mov $0xc0000080, %ecx           // EFER.SCE
        rdmsr
        or $1, %eax
        wrmsr
2:      mov $TOUCH, %esi
        cmpl $3, 16(%rbp)
        je 1f
        jmp *(%rbp)
1:      pushq $UDATA
        pushq $user_top
        pushq $2
        pushq $UCODE
        pushq (%rbp)
        iretq

stray:  ud2

// Its first sample, in r14.
first_sample:
        mov index, %r14d
        imul $CAPACITY * 16, %r14d
        add $samples, %r14d
        ret

// A phase in ring 0 that ends normally comes here.
        .globl done
done:   mov $DONE, %r11d
// From here on r11 is the status.
close_phase:
        mov $stack_top, %esp
        mov index, %eax
        shl $6, %eax
        lea results + R_ROWS(%rax), %r15d
        mov %r11d, ROW_STATUS(%r15)
        mov %r14d, %ecx
        call first_sample
        sub %r14d, %ecx
        shr $4, %ecx
        mov %ecx, ROW_COUNT(%r15)
next_phase:
        mov $stack_top, %esp
        mov index, %ebx
        cmp $PHASES, %ebx
        jae 1f
        imul $40, %ebx, %ebp
        mov phases + 24(%rbp), %edi
        cmp $255, %edi
        ja 1f
        call default_gate
1:      incl index
        cmpl $IN_TURNS, index
        jne start_phase
        decl turns
        jz start_phase
        movl $0, index
        jmp start_phase

// Handles all exceptions and interrupts that the phase does not handle itself. The stack contains vector, error code and the
// processor's frame. The two ends of ring 3 come here too.
unexpected:
        mov 16(%rsp), %rax
        cmp $user_done_ud, %rax
        je done
        cmp $user_done_pf, %rax
        je done
        mov index, %ecx
        cmp $PHASES, %ecx
        jae finish
        shl $6, %ecx
        lea results + R_ROWS(%rcx), %r15d
        mov %rax, ROW_RIP(%r15)
        mov (%rsp), %rax
        mov %eax, ROW_VECTOR(%r15)
        mov 8(%rsp), %rax
        mov %rax, ROW_ERROR(%r15)
        mov %cr2, %rax
        mov %rax, ROW_CR2(%r15)
        mov $FAULTED, %r11d
        jmp close_phase

// The vector in edi gets the gate that records a failure.
default_gate:
        mov %edi, %esi
        cmp $31, %esi
        jbe 1f
        mov $32, %esi
1:      shl $4, %esi
        add $stubs, %esi
        mov $0x8e, %edx
// The vector in edi gets the handler in rsi, a gate of the kind in dl.
set_gate:
        shl $4, %edi
        add $idt, %edi
        mov %si, (%rdi)
        movw $KCODE, 2(%rdi)
        movb $0, 4(%rdi)
        mov %dl, 5(%rdi)
        shr $16, %rsi
        mov %si, 6(%rdi)
        movl $0, 8(%rdi)
        movl $0, 12(%rdi)
        ret

finish: cmpl $OVERCOUNT, p_sabotage
        jne 1f
        movl $CAPACITY + 1, results + R_ROWS + ROW_COUNT
1:      movl $1, results + R_FINISHED
leave:  testl $DUMP, p_flags
        jz 1f
        mov $results, %esi
        mov $R_BYTES, %ecx
        mov $TEXT_PORT, %edx
        cld
        rep outsb
1:      mov $0x10, %eax
        mov $EXIT_PORT, %edx
        out %eax, %dx
halt:   cli
        hlt
        jmp halt

triple_fault:
        lidt no_idt
        ud2
rubbish:
        mov $results, %edi
        mov $(R_BYTES / 8), %ecx
        mov $0x9e3779b97f4a7c15, %rdx
        mov %rdx, %rax
1:      stosq
        imul %rdx, %rax
        inc %rax
        loop 1b
        jmp leave
runaway:
        out %al, $PLAIN_PORT
        jmp runaway

// Sixteen bytes a vector, 0 to 31 and one for all the others.
        .balign 16
stubs:
        .set vector, 0
        .rept 33
        .balign 16
        // Exceptions for which the processor pushes an error code.
        .if !(vector == 8 || (vector >= 10 && vector <= 14) || vector == 17 || vector == 21 || vector == 29 || vector == 30)
        pushq $0
        .endif
        pushq $vector
        jmp unexpected
        .set vector, vector + 1
        .endr

.section .rodata, "a"
magic:  .ascii "TOLLTAB\0"
gdt_pointer:
        .word gdt_end - gdt - 1
        .quad gdt
idt_pointer:
        .word 4095
        .quad idt
no_idt: .word 0
        .quad 0

.data
        .balign 8
gdt:    .quad 0
        .quad 0x00af9b000000ffff        // 08: code of ring 0
        .quad 0x00cf93000000ffff        // 10: data of ring 0
        .quad 0                         // 18: where sysret would look for 32-bit code
        .quad 0x00cff3000000ffff        // 20: data of ring 3
        .quad 0x00affb000000ffff        // 28: code of ring 3
        .quad 0x0000890000000067, 0     // 30: the task segment
gdt_end:

.bss
        .balign 4096
idt:    .skip 4096
        .globl results
results:
        .skip R_ROWS + PHASES * 64
samples:
        .skip PHASES * CAPACITY * 16
tss:    .skip 104
index:  .skip 8
turns:  .skip 8                         // that are left
        .balign 16
        .skip 4096
stack_top:
        .skip 4096
trap_top:
        .skip 4096
user_top:
