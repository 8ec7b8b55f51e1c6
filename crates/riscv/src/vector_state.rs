//! The vector state of a hart (unprivileged specification, 31.3).
//!
//! The registers are one array of bytes, one register after the other, so that a group of registers is an array of elements as
//! well.

use serde::{Deserialize, Serialize};

use crate::isa::Isa;

/// `vill` of `vtype`, in RV64's layout.
const VILL: u64 = 1 << 63;

/// The vector state of a hart.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Vector {
    /// `v0` to `v31`.
    pub(crate) regs: Vec<u8>,
    /// Bytes of a register.
    pub(crate) vlenb: usize,
    pub(crate) vl: u64,
    pub(crate) vtype: u64,
    pub(crate) vstart: u64,
    pub(crate) vxrm: u8,
    pub(crate) vxsat: bool,
}

/// What `vtype` says: sizes as powers of two, of an element in bytes and of a group in registers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) sew: u32,
    pub(crate) lmul: i32,
}

impl Kind {
    /// The kind that a type selects; `None` if it is reserved (31.3.4).
    fn of(vtype: u64) -> Option<Self> {
        let sew = (vtype >> 3 & 7) as u32;
        let lmul = (vtype as i32 & 7) << 29 >> 29;
        // At least one element of the largest size must fit in a fraction of a register: SEW <= LMUL * ELEN.
        let fits = sew <= 3 && lmul != -4 && sew as i32 <= 3 + lmul.min(0);
        (vtype >> 8 == 0 && fits).then_some(Kind { sew, lmul })
    }
}

impl Vector {
    /// The state at reset, if the ISA has vectors.
    pub(crate) fn new(isa: &Isa) -> Option<Box<Self>> {
        let vlenb = isa.vlen()? as usize / 8;
        let regs = vec![0; 32 * vlenb];
        Some(Box::new(Self { regs, vlenb, vl: 0, vtype: VILL, vstart: 0, vxrm: 0, vxsat: false }))
    }

    /// Whether it can be the state of a hart with this ISA; for snapshots.
    pub(crate) fn fits(&self, isa: &Isa) -> bool {
        let kind = self.kind();
        isa.vlen() == Some(8 * self.vlenb as u64)
            && self.regs.len() == 32 * self.vlenb
            && self.vl <= kind.map_or(0, |kind| self.vlmax(kind))
            && (kind.is_some() || self.vtype == VILL)
            && self.vstart < 8 * self.vlenb as u64
            && self.vxrm < 4
    }

    /// The kind of elements; `None` is `vill`.
    pub(crate) fn kind(&self) -> Option<Kind> {
        Kind::of(self.vtype)
    }

    pub(crate) fn vlmax(&self, kind: Kind) -> u64 {
        ((self.vlenb as u64) << 3 >> (3 - kind.lmul)) >> kind.sew
    }

    /// An element of the group that begins at a register; sizes are powers of two.
    #[inline(always)]
    pub(crate) fn get(&self, register: usize, size: u32, index: usize) -> u64 {
        let at = register * self.vlenb + (index << size);
        let bytes = &self.regs[at..at + (1 << size)];
        match *bytes {
            [a] => u64::from(a),
            [a, b] => u64::from(u16::from_le_bytes([a, b])),
            [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
            [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            _ => 0,
        }
    }

    #[inline(always)]
    pub(crate) fn set(&mut self, register: usize, size: u32, index: usize, value: u64) {
        let at = register * self.vlenb + (index << size);
        let bytes = &mut self.regs[at..at + (1 << size)];
        match bytes.len() {
            1 => bytes.copy_from_slice(&(value as u8).to_le_bytes()),
            2 => bytes.copy_from_slice(&(value as u16).to_le_bytes()),
            4 => bytes.copy_from_slice(&(value as u32).to_le_bytes()),
            _ => bytes.copy_from_slice(&value.to_le_bytes()),
        }
    }

    /// A bit of a register, as masks have them.
    #[inline(always)]
    pub(crate) fn bit(&self, register: usize, index: usize) -> bool {
        self.regs[register * self.vlenb + index / 8] >> (index % 8) & 1 != 0
    }

    #[inline(always)]
    pub(crate) fn set_bit(&mut self, register: usize, index: usize, value: bool) {
        let byte = &mut self.regs[register * self.vlenb + index / 8];
        *byte = *byte & !(1 << (index % 8)) | u8::from(value) << (index % 8);
    }
}

impl Vector {
    /// Sets type and length; `avl` is absent where the length is kept, for which VLMAX must stay the same.
    pub(crate) fn configure(&mut self, vtype: u64, avl: Option<u64>) {
        let before = self.kind().map(|kind| self.vlmax(kind));
        let kind = Kind::of(vtype).filter(|kind| avl.is_some() || before == Some(self.vlmax(*kind)));
        (self.vtype, self.vl) = match (kind, avl) {
            (None, _) => (VILL, 0),
            (Some(_), None) => (vtype, self.vl),
            (Some(kind), Some(avl)) => (vtype, avl.min(self.vlmax(kind))),
        };
    }
}
