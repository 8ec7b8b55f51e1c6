// The layout of the image, its parameters and its results in memory. crates/microvm/src/image.rs and
// table.rs read the same layout, and refuse another VERSION.

#define VERSION 2
#define LOAD 0x100000            // address of the image, in KVM and by multiboot

// Virtual addresses whose translation is one entry of its own in the page table `pt`.
#define TOUCH 0x200000           // a page to read
#define ABSENT 0x201000          // no page
#define NOWHERE 0x202000         // a physical address where no device and no memory is
#define APIC 0x203000            // the local interrupt controller
#define NOWHERE_PHYSICAL 0xd0000000

#define CAPACITY 256             // maximum number of samples of a phase
#define PHASES 21
#define IN_TURNS 18              // the first phases, which take turns: some of the samples of each, then more of each
#define TURN_BITS 4
#define TURNS (1 << TURN_BITS)

// Parameter `flags`
#define DUMP 1                   // write the results to port 0xe9 as well: QEMU's debugcon
#define HAS_APIC 2               // there is a local interrupt controller
#define HAS_DOORBELLS 4          // the ports of both doorbells have eventfds, and one answers with an interrupt

// Parameter `sabotage`: faults that tests inject.
#define TRIPLE_FAULT 1
#define HANG 2
#define RUBBISH 3
#define STRAY_FAULT 4            // an unexpected fault in the first phase
#define OVERCOUNT 5              // more samples than the capacity
#define HALT 6
#define UNFINISHED 7             // the end is signaled before the table is complete
#define RUNAWAY 8                // port writes that never end

// Status of a phase
#define NOT_RUN 0
#define DONE 1
#define FAULTED 2
#define UNSUPPORTED 3
#define RUNNING 4

// Features that were found, and that a phase can need
#define PCID 1
#define DEADLINE 2
#define HYPERVISOR 4
#define AMD 8
#define DOORBELLS 16

// Offsets in the results
#define R_VERSION 8
#define R_PHASES 12
#define R_CAPACITY 16
#define R_FINISHED 20
#define R_FEATURES 24
#define R_TURN 32                // samples of a phase in one turn
#define R_ROWS 64                // one row of 64 bytes a phase, then CAPACITY samples of 16 bytes a phase
#define R_BYTES (R_ROWS + PHASES * 64 + PHASES * CAPACITY * 16)
#define ROW_STATUS 4
#define ROW_COUNT 8
#define ROW_VECTOR 12
#define ROW_ERROR 16
#define ROW_RIP 24
#define ROW_CR2 32

#define KCODE 0x08
#define KDATA 0x10
#define UDATA 0x23
#define UCODE 0x2b
#define TSS 0x30

#define INT_VECTOR 0x40
#define TIMER_VECTOR 0x50
#define ANSWER_VECTOR 0x51
#define EXIT_PORT 0xf4
#define TEXT_PORT 0xe9
#define PLAIN_PORT 0x80          // nothing listens
#define DOORBELL_PORT 0x90       // KVM counts the writes in an eventfd
#define ANSWERED_PORT 0x91       // also, and a thread of the monitor answers each by an interrupt
