//! Vector instructions in blocks: as long as VS is Dirty and no observer wants to know what they do. An instruction that traps, or
//! makes FS Dirty, is left to the reference interpreter, which begins it again.

use super::memory::{Memory, Missing};
use super::{Addressing, Legal, Unit, Vector, ops};
use crate::fp::{Fpu, Rounding};
use crate::insn::{Insn, Op};
use crate::isa::Isa;
use crate::table::instruction_table;

/// The vector state for blocks.
pub(crate) struct Vectors<'a> {
    pub(crate) state: &'a mut Vector,
    pub(crate) isa: Isa,
    /// The rounding mode; `None` where FS is not Dirty, or the mode reserved.
    pub(crate) rounding: Option<Rounding>,
}

/// Why an instruction was left.
pub(crate) enum Left {
    /// The reference interpreter has to do it.
    Step,
    /// This access is in no entry of the TLB. `vstart` says which elements were done.
    Miss { va: u64, size: u64, store: bool },
}

/// How blocks execute a vector instruction.
enum Work {
    Compute(fn(&mut Unit<'_>) -> Legal),
    Access(Addressing, bool),
    Configure,
}

macro_rules! work {
    (Vector $function:ident) => {
        Some(Work::Compute(ops::$function))
    };
    (VectorLoad $addressing:ident) => {
        Some(Work::Access(Addressing::$addressing, false))
    };
    (VectorStore $addressing:ident) => {
        Some(Work::Access(Addressing::$addressing, true))
    };
    (System system_set_vector_type) => {
        Some(Work::Configure)
    };
    ($($rest:tt)*) => {
        None
    };
}

macro_rules! define {
    ($($section:ident { $($class:ident {
        $($op:ident $m:literal $w:ident $e:ident $f:ident $b:literal $($size:literal)? $($call:ident)? $(|$($arg:ident),+| $x:expr)?;)*
    })* })*) => {
        /// How blocks execute an instruction; `None` if it is not a vector instruction.
        fn work(op: Op) -> Option<Work> {
            match op {
                $($($(Op::$op => work!($class $($size)? $($call)?),)*)*)*
            }
        }
    };
}
instruction_table!(define);

/// Whether this is a vector instruction that blocks execute while VS is Dirty.
pub(crate) fn is_vector(op: Op) -> bool {
    work(op).is_some()
}

impl Vectors<'_> {
    /// Executes an instruction.
    #[inline(never)]
    pub(crate) fn execute(
        &mut self,
        insn: &Insn,
        [x, f]: [&mut [u64; 256]; 2],
        fflags: &mut u8,
        memory: Memory<'_>,
    ) -> Result<(), Left> {
        let done = match work(insn.op).ok_or(Left::Step)? {
            Work::Compute(function) => self.compute(insn, function, [x, f], fflags),
            Work::Access(addressing, store) => self.access(insn, addressing, store, x, memory)?,
            Work::Configure => {
                let vl = self.state.set_type(insn, x, self.isa.xlen());
                set(x, insn.rd, vl)
            }
        };
        done.ok_or(Left::Step)
    }

    fn compute(
        &mut self,
        insn: &Insn,
        function: fn(&mut Unit<'_>) -> Legal,
        [x, f]: [&mut [u64; 256]; 2],
        fflags: &mut u8,
    ) -> Legal {
        // (The host's arithmetic is right more often if a flag is raised already.)
        let fpu = self.rounding.map(|rounding| Fpu { rounding, flags: *fflags });
        let mut unit = Unit::new(self.state, insn, self.isa, [x, f], fpu)?;
        function(&mut unit)?;
        *fflags |= unit.flags;
        match unit.result {
            Some(value) if insn.op == Op::VfmvFS => f[usize::from(insn.rd)] = value,
            Some(value) => return set(x, insn.rd, self.isa.xlen().canonical(value)),
            None => {}
        }
        Some(())
    }

    fn access(
        &mut self,
        insn: &Insn,
        addressing: Addressing,
        store: bool,
        x: &[u64; 256],
        memory: Memory<'_>,
    ) -> Result<Legal, Left> {
        match self.state.access(insn, addressing, store, x, self.isa, memory) {
            Some(Err(Missing { va, size })) => Err(Left::Miss { va, size, store }),
            Some(Ok(())) => Ok(Some(())),
            None => Ok(None),
        }
    }
}

fn set(x: &mut [u64; 256], rd: u8, value: u64) -> Legal {
    if rd != 0 {
        x[usize::from(rd)] = value;
    }
    Some(())
}
