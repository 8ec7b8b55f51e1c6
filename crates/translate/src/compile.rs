//! Regions to bytes of host code, on any thread: nothing here is executable.

use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;

use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::Function;
use cranelift_codegen::isa::{OwnedTargetIsa, TargetIsa};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_module::{FuncId, ModuleReloc};
use tollgate_riscv::tier::Region;

use crate::emit;

/// Regions that wait for the thread. More would be translated long after they became hot.
const WAITING: usize = 16;
/// Stack of the thread that compiles, whose recursion is as deep as a region is.
const STACK: usize = 8 << 20;

/// The code of one function.
pub(crate) struct Compiled {
    pub(crate) id: FuncId,
    pub(crate) alignment: u64,
    pub(crate) bytes: Vec<u8>,
    pub(crate) relocations: Vec<ModuleReloc>,
}

/// Compiles functions one after the other.
pub(crate) struct Compiler {
    isa: OwnedTargetIsa,
    context: Context,
    builder: FunctionBuilderContext,
}

impl Compiler {
    pub(crate) fn new(isa: OwnedTargetIsa) -> Self {
        Compiler { isa, context: Context::new(), builder: FunctionBuilderContext::new() }
    }

    /// The code of what `write` writes; `None` if it writes nothing, or what cannot be compiled.
    pub(crate) fn compile(
        &mut self,
        id: FuncId,
        write: impl FnOnce(&mut Function, &mut FunctionBuilderContext, &dyn TargetIsa) -> Option<()>,
    ) -> Option<Compiled> {
        let Compiler { isa, context, builder } = self;
        context.clear();
        write(&mut context.func, builder, &**isa)?;
        context.compile(&**isa, &mut ControlPlane::default()).ok()?;
        let code = context.take_compiled_code()?;
        let relocations = code.buffer.relocs().iter();
        Some(Compiled {
            id,
            alignment: code.buffer.alignment.into(),
            bytes: code.code_buffer().to_vec(),
            relocations: relocations
                .map(|reloc| ModuleReloc::from_mach_reloc(reloc, &context.func, id))
                .collect(),
        })
    }

    /// The code of a region; `reporter` is the address of what its observer is called by.
    pub(crate) fn region(&mut self, id: FuncId, region: &Region, reporter: u64) -> Option<Compiled> {
        self.compile(id, |function, builder, isa| emit::region(region, function, builder, isa, reporter))
    }
}

/// A compiler on a thread of its own, which ends after its current region when this is dropped.
pub(crate) struct Beside {
    requests: SyncSender<(FuncId, Region, u64)>,
    finished: Receiver<Option<Compiled>>,
    /// Regions that were begun and are not finished.
    open: usize,
}

impl Beside {
    /// Starts the thread, if that is possible.
    pub(crate) fn new(isa: OwnedTargetIsa) -> Option<Self> {
        let (requests, requested) = sync_channel::<(FuncId, Region, u64)>(WAITING);
        let (finish, finished) = sync_channel(WAITING + 2);
        let work = move || {
            let mut compiler = Compiler::new(isa);
            for (id, region, reporter) in requested {
                if finish.send(compiler.region(id, &region, reporter)).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name("translator".to_owned()).stack_size(STACK).spawn(work).ok()?;
        Some(Beside { requests, finished, open: 0 })
    }

    /// Begins with a region; gives it back if too many wait.
    pub(crate) fn begin(&mut self, id: FuncId, region: Region, reporter: u64) -> Result<(), Region> {
        use std::sync::mpsc::TrySendError::{Disconnected, Full};
        match self.requests.try_send((id, region, reporter)) {
            Ok(()) => {
                self.open += 1;
                Ok(())
            }
            Err(Full((_, region, _)) | Disconnected((_, region, _))) => Err(region),
        }
    }

    /// The next region that is finished, in the order in which they were begun; the inner `None` if it has no code.
    pub(crate) fn finished(&mut self) -> Option<Option<Compiled>> {
        let finished = match self.finished.try_recv() {
            Ok(compiled) => compiled,
            // The thread is gone, and so are all that it was given.
            Err(TryRecvError::Disconnected) if self.open > 0 => None,
            Err(_) => return None,
        };
        self.open -= 1;
        Some(finished)
    }
}
