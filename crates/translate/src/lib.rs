//! The translating tier of the RISC-V machine: hot regions become host code, by Cranelift.
//!
//! ```
//! use tollgate_riscv::{Config, Machine};
//!
//! let mut machine = Machine::new(Config::default())?;
//! let translations = tollgate_translate::Translations::new()?;
//! machine.set_translator(0, Box::new(translations), tollgate_riscv::tier::SAMPLE);
//! machine.run(1_000_000, &mut ());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `emit.rs` translates each instruction. A region is one function, in which guest registers are variables;
//! it writes them back at each exit. Before an instruction that it does not translate (system instructions, and those that
//! observers need) it exits to the interpreter, so every result is the interpreter's, to the instruction.
//!
//! A guest cannot make a translation read or write outside of RAM: each access compares its index with the length of RAM, independently
//! of the page table. Memory for code is writable until the code is complete, and executable afterwards, never both; it
//! is bounded by [`MOST_CODE`].

mod compile;
mod emit;
mod found;
mod notes;
mod reporter;
mod state;

use std::thread;

use compile::{Beside, Compiled, Compiler};
use cranelift_codegen::ir::{Function, Signature};
use cranelift_codegen::isa::{OwnedTargetIsa, TargetFrontendConfig};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Module, default_libcall_names};
use state::{Cursors, Loud, NOT_RESERVED, State};
use tollgate_riscv::tier::{
    Exit, Observed, Passed, ROOM, Region, Registers, Reports, Translation, Translator,
};

/// Bytes of host code after which no more is translated, until all of it is dropped.
pub const MOST_CODE: usize = 32 << 20;

/// Why this host has no translator.
#[derive(Debug, thiserror::Error)]
#[error("this host cannot translate: {0}")]
pub struct Unavailable(String);

/// Calls the code of a translation.
type Caller = extern "C" fn(*mut State<'_, '_>, *const u8);

/// The bytes of the pages that hold one function: each has pages of its own, since a page that is executable is never written.
const fn pages(size: usize) -> usize {
    size.next_multiple_of(4096)
}

/// Translated regions. Host code is generated from the first region on; until then there is nothing but this.
pub struct Translations {
    isa: OwnedTargetIsa,
    compiler: Compiler,
    /// Whether code is compiled on a thread of its own, where no observer needs a processor; the thread, once there is one.
    background: bool,
    beside: Option<Beside>,
    module: Option<JITModule>,
    caller: Option<Caller>,
    /// The code of [`reporter::reporter`].
    reporter: u64,
    codes: Vec<*const u8>,
    /// Whether some of it writes to a log.
    notes_runs: bool,
    loud: Loud,
    bytes: usize,
}

impl Translations {
    /// An empty collection. It translates at once, while the machine waits.
    ///
    /// # Errors
    /// A host whose instructions Cranelift does not generate.
    pub fn new() -> Result<Self, Unavailable> {
        let isa = isa()?;
        Ok(Self {
            compiler: Compiler::new(isa.clone()),
            isa,
            background: false,
            beside: None,
            module: None,
            caller: None,
            reporter: 0,
            codes: Vec::new(),
            notes_runs: false,
            loud: Loud::default(),
            bytes: 0,
        })
    }

    /// The same on a thread of its own, while the machine interprets on, if this process has a second processor. A machine whose
    /// observer receives runs of instructions waits nevertheless: that may be on the second processor itself.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub fn in_background() -> Result<Self, Unavailable> {
        let background = thread::available_parallelism().is_ok_and(|processors| processors.get() > 1);
        let mut translations = Self::new()?;
        translations.background = background;
        Ok(translations)
    }

    /// The module, with the functions that every region needs.
    fn module(&mut self) -> Option<&mut JITModule> {
        if self.module.is_none() {
            let builder = JITBuilder::with_isa(self.isa.clone(), default_libcall_names());
            self.module = Some(JITModule::new(builder));
            let code = self.define(emit::caller)?;
            // SAFETY: the code was generated with the signature of `Caller` (`emit::caller`), is whole and executable, and lives
            // until `clear`, which drops the pointer first.
            self.caller = Some(unsafe { std::mem::transmute::<*const u8, Caller>(code) });
            self.reporter = self.define(reporter::reporter)? as u64;
        }
        self.module.as_mut()
    }

    /// Makes a function that `write` writes.
    fn define(
        &mut self,
        write: impl FnOnce(&mut Function, &mut FunctionBuilderContext, TargetFrontendConfig),
    ) -> Option<*const u8> {
        let id = declare(self.module.as_mut()?)?;
        let compiled = self.compiler.compile(id, |function, builder, isa| {
            write(function, builder, isa.frontend_config());
            Some(())
        })?;
        self.finish(&compiled)
    }

    /// Makes code executable.
    fn finish(&mut self, code: &Compiled) -> Option<*const u8> {
        let module = self.module.as_mut()?;
        module.define_function_bytes(code.id, code.alignment, &code.bytes, &code.relocations).ok()?;
        self.bytes += pages(code.bytes.len());
        module.finalize_definitions().ok()?;
        Some(module.get_finalized_function(code.id))
    }

    /// The result of a compilation.
    fn translation(&mut self, compiled: Option<&Compiled>) -> Translation {
        let number = u16::try_from(self.codes.len()).ok();
        let Some((number, code)) = number.zip(compiled.and_then(|code| self.finish(code))) else {
            return Translation::Refused;
        };
        self.codes.push(code);
        Translation::Ready(number)
    }

    /// The thread for a region, if it may be compiled there.
    fn beside(&mut self, reports: Reports) -> Option<&mut Beside> {
        if !self.background || matches!(reports, Reports::Runs { .. }) {
            return None;
        }
        if self.beside.is_none() {
            self.beside = Beside::new(self.isa.clone());
            // Where no thread starts, none is asked for again.
            self.background = self.beside.is_some();
        }
        self.beside.as_mut()
    }
}

/// A function of a module that any thread may compile. (Its signature is for callers in the module, and there are none.)
fn declare(module: &mut JITModule) -> Option<FuncId> {
    let call = module.target_config().default_call_conv;
    module.declare_anonymous_function(&Signature::new(call)).ok()
}

fn isa() -> Result<OwnedTargetIsa, Unavailable> {
    let mut flags = settings::builder();
    for (name, value) in [
        // Optimizing takes half as long again, and the code, which has few values to share, is no faster.
        ("opt_level", "none"),
        ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }),
        // Nothing unwinds through translations.
        ("unwind_info", "false"),
        // A condition of tail calls.
        ("preserve_frame_pointers", "true"),
    ] {
        flags.set(name, value).map_err(|error| Unavailable(error.to_string()))?;
    }
    let isa = cranelift_native::builder().map_err(|error| Unavailable(error.into()))?;
    isa.finish(settings::Flags::new(flags)).map_err(|error| Unavailable(error.to_string()))
}

impl Translator for Translations {
    fn translate(&mut self, mut region: Region) -> Translation {
        if self.is_full() {
            return Translation::Refused;
        }
        let Some(id) = self.module().and_then(declare) else { return Translation::Refused };
        let (reporter, reports) = (self.reporter, region.reports);
        if let Reports::Counts(sight) = reports {
            self.loud.need(&sight);
        }
        if let Some(beside) = self.beside(reports) {
            match beside.begin(id, region, reporter) {
                Ok(()) => return Translation::Later,
                Err(back) => region = back,
            }
        }
        self.notes_runs |= matches!(reports, Reports::Runs { .. });
        let compiled = self.compiler.region(id, &region, reporter);
        self.translation(compiled.as_ref())
    }

    fn finished(&mut self) -> Option<Translation> {
        let compiled = self.beside.as_mut()?.finished()?;
        Some(self.translation(compiled.as_ref()))
    }

    fn run(&mut self, number: u16, mut registers: Registers<'_>) -> Option<Exit> {
        let (caller, &code) = (self.caller?, self.codes.get(usize::from(number))?);
        let [fetches, data] = self.loud.probes(registers.observed.as_mut());
        let noted = self.loud.room();
        let tells = matches!(registers.observed, Some(Observed::Runs { .. }));
        // (An index of RAM is compared with its length less the bytes of an access.)
        if self.notes_runs && !tells || registers.ram.len() < found::MOST_SPAN as usize {
            return None;
        }
        let mut state = State {
            x: registers.x.as_mut_ptr(),
            f: registers.f.as_mut_ptr(),
            fflags: (*registers.fflags).into(),
            reserved: registers.reservation.unwrap_or(NOT_RESERVED),
            ram: registers.ram.as_mut_ptr(),
            ram_bytes: registers.ram.len() as u64,
            loads: registers.loads.as_ptr(),
            stores: registers.stores.as_ptr(),
            starts: registers.starts.as_ptr(),
            context: registers.context.into(),
            codes: self.codes.as_ptr(),
            count: self.codes.len() as u64,
            retired: registers.retired,
            soon: if tells {
                registers.limit.min(registers.retired.saturating_add(ROOM))
            } else {
                registers.limit
            },
            limit: registers.limit,
            pc: 0,
            interpret: 0,
            fetches,
            data,
            passed: Passed::default(),
            cursors: Cursors::new(registers.observed.as_mut()),
            noted: noted.start,
            noted_end: noted.end,
            loud: &mut self.loud,
            observed: registers.observed,
        };
        // Each pointer is valid for its whole array while `registers` is borrowed. Translations index registers by
        // constants below 32, tables by less than their length, codes by less than `count`, and RAM by less than `ram_bytes`.
        // They write to each part of a log no more entries than instructions retire. No run is longer than what is behind `ROOM` in a
        // log (`emit::region`), and each begins with a look whether `soon` is exceeded. They index tables of lines by less than
        // the length that `Loud::need` has made sure of, and look for room behind each line that they note.
        caller(&raw mut state, code);
        *registers.fflags = state.fflags as u8;
        *registers.reservation = Some(state.reserved).filter(|&pa| pa != NOT_RESERVED);
        state.report_noted();
        match &mut state.observed {
            Some(Observed::Counter { counter, .. }) => {
                let instructions = state.retired - registers.retired;
                counter.count(&Passed { instructions, ..state.passed });
            }
            _ => state.tell(),
        }
        Some(Exit { pc: state.pc, retired: state.retired, interpret: state.interpret != 0 })
    }

    fn is_full(&self) -> bool {
        self.bytes > MOST_CODE || self.codes.len() > usize::from(u16::MAX)
    }

    fn clear(&mut self) {
        // The regions of the thread are obsolete.
        self.beside = None;
        self.codes.clear();
        self.notes_runs = false;
        self.loud = Loud::default();
        self.caller = None;
        self.bytes = 0;
        let Some(old) = self.module.take() else { return };
        // SAFETY: no translation runs, since `run` borrows this, and all pointers into the code were dropped above.
        unsafe { old.free_memory() };
    }
}

impl Drop for Translations {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: as in `clear`.
            unsafe { module.free_memory() };
        }
    }
}
