//! A program's code before it runs.

use std::fmt;
use std::sync::Arc;

use crate::decode::Decoder;
use crate::insn::Insn;
use crate::isa::Isa;

/// Code by physical address, which never changes: for observers that must know instructions before, or without, their
/// execution. Copies share it.
///
/// ```
/// use tollgate_riscv::{Code, Op};
/// // c.addi a0, 1; mret
/// let code = Code::new("rv64imc".parse().unwrap(), vec![(0x8000_0000, vec![0x05, 0x05, 0x73, 0, 0x20, 0x30])]);
/// assert_eq!(code.find(0x8000_0000).unwrap().op, Op::Addi);
/// assert_eq!(code.find(0x8000_0002).unwrap().op, Op::Mret);
/// assert_eq!(code.find(0x8000_0006), None);
/// ```
#[derive(Clone)]
pub struct Code(Arc<Parts>);

struct Parts {
    decoder: Decoder,
    /// Addresses with the bytes there.
    ranges: Vec<(u64, Vec<u8>)>,
}

impl Code {
    /// Instructions of an ISA at some addresses.
    pub fn new(isa: Isa, ranges: Vec<(u64, Vec<u8>)>) -> Self {
        Code(Arc::new(Parts { decoder: Decoder::new(isa), ranges }))
    }

    /// Two bytes.
    fn half(&self, pa: u64) -> Option<u32> {
        self.0.ranges.iter().find_map(|(address, bytes)| {
            let at = usize::try_from(pa.checked_sub(*address)?).ok()?;
            let both = bytes.get(at..at.checked_add(2)?)?;
            Some(u32::from(both[0]) | u32::from(both[1]) << 8)
        })
    }

    /// Whether what is at an address has four bytes, legal or not.
    pub fn is_long(&self, pa: u64) -> bool {
        self.half(pa).is_some_and(|low| low & 3 == 3)
    }

    /// The instruction at an address, if there is a legal one.
    pub fn find(&self, pa: u64) -> Option<Insn> {
        let low = self.half(pa)?;
        if low & 3 != 3 {
            return self.0.decoder.decode(low);
        }
        self.0.decoder.decode(low | self.half(pa.checked_add(2)?)? << 16)
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let ranges = self.0.ranges.iter().map(|(address, bytes)| (address, bytes.len()));
        f.debug_list().entries(ranges).finish()
    }
}
