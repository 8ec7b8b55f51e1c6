//! A RISC-V machine in which every step can be observed.
//!
//! RV32 and RV64, I M A F D C, machine, supervisor and user mode, Sv32, Sv39 and Sv48, physical memory
//! protection, timer and software interrupts: enough to boot the proxy kernel or a small kernel of your own, and
//! to observe each instruction, each memory access and each trap. Time is simulated: two runs of one
//! program are identical to the bit.
//!
//! ```
//! use tollgate_riscv::{Config, Insn, Machine, Op, Operands, Stop};
//!
//! let mut machine = Machine::new(Config { machine: tollgate_riscv::MachineKind::Virt, ..Config::default() })?;
//! // lui t0, 0x100; lui t1, 0x5; addi t1, t1, 0x555; sw t1, 0(t0): the test finisher ends the run.
//! let program = [
//!     Insn::encode(Op::Lui, Operands { rd: 5, imm: 0x10_0000, ..Default::default() }),
//!     Insn::encode(Op::Lui, Operands { rd: 6, imm: 0x5000, ..Default::default() }),
//!     Insn::encode(Op::Addi, Operands { rd: 6, rs1: 6, imm: 0x555, ..Default::default() }),
//!     Insn::encode(Op::Sw, Operands { rs1: 5, rs2: 6, ..Default::default() }),
//! ];
//! let bytes: Vec<u8> = program.iter().flat_map(|w| w.to_le_bytes()).collect();
//! machine.write_memory(0x8000_0000, &bytes)?;
//! assert_eq!(machine.run(100, &mut ()), Stop::Exit { code: 0 });
//! assert_eq!(machine.instret(), 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The modules:
//!
//! - `table` has one row for each instruction, from which `insn`, `decode`, `disasm`, `exec` (the reference interpreter) and
//!   `engine` with `blocks` (the fast one) follow.
//! - `privilege`, `exception`, `hart`, `csr`, `trap`, `pmp`, `mmu`: the privileged architecture; `fp`: IEEE 754.
//! - `bus`, `map`, `devices`, `htif`, `host`, `proxy`, `dtb`: the machine around the hart; `input`: console input.
//! - `vector` and `vector_state`: the vector extension.
//! - `turn` and `harts` let several harts take turns.
//! - `boot` and `sbi` start a kernel, `semihosting` answers a bare program, `repeat` finds its endless loops.
//! - `snapshot` saves and restores a machine; `arrays` has forms of its fields.
//! - [`Observer`] receives every event; [`aside`](aside()) runs it on a thread of its own.
//! - [`asm`] assembles and links; [`custom`] has our own extensions; [`cache`] models caches without time.
//!
//! The crate `tollgate-cores` counts cycles.
//!
//! The library prints nothing and opens nothing. No guest and no input makes it panic or run without end: runs
//! have a budget, and the [`Config`] limits memory.

#![forbid(unsafe_code)]

mod absent;
mod alu;
mod arrays;
mod aside;
pub mod asm;
mod bare;
mod blocks;
mod boot;
mod bus;
pub mod cache;
mod clic;
mod clic_state;
mod code;
pub mod compressed;
mod config;
mod counter;
pub mod csr;
pub mod custom;
mod decode;
mod devices;
mod disasm;
mod dtb;
mod elf;
mod engine;
mod exception;
mod exec;
mod extra;
mod extra_state;
mod fold;
mod format;
mod fp;
mod hart;
mod harts;
mod host;
mod hpm;
mod htif;
mod input;
mod insn;
mod inspect;
mod isa;
mod jump;
mod log;
mod machine;
mod map;
mod mmu;
mod observer;
mod pmp;
mod privilege;
mod proxy;
mod repeat;
mod sbi;
mod semihosting;
mod snapshot;
mod table;
pub mod tier;
mod trap;
mod turn;
mod vector;
mod vector_state;

pub use absent::absent;
pub use aside::{Aside, aside};
pub use bare::EXIT_CALLS;
pub use boot::{Boot, BootError, Firmware};
pub use code::Code;
pub use config::{Config, ConfigError, MachineKind};
pub use decode::Decoder;
pub use devices::virtio::block::Storage;
pub use disasm::{F_NAMES, X_NAMES, compressed_mnemonic, disassemble, disassemble_compressed, text};
pub use elf::{Elf, LoadError, Segment, Symbol};
pub use exception::{AccessType, Cause, Raised, Trap, TrapReturn};
pub use fold::Map;
pub use format::{Format, Operands, RegClass, VectorFormat};
pub use host::{Errno, HostCalls, MemoryFiles, NoFiles, Refused, Stat};
pub use hpm::EventCounts;
pub use insn::{Class, INSTRUCTIONS, Insn, Op, Row, Width};
pub use isa::{Extension, Isa, IsaError, Xlen};
pub use jump::boxed;
pub use machine::{Machine, MemoryError, Step, Stop};
pub use map::{is_device, ram_below};
pub use observer::{Access, AccessKind, BlockInsn, Observer, Pass, Retired, Several, Touch, Walk};
pub use privilege::Privilege;
pub use repeat::Repeat;
pub use semihosting::semihosting_name;
pub use snapshot::{Checkpoint, SnapshotError};
pub use trap::TRAP_PHASES;
