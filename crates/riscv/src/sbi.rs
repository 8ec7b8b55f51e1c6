//! The built-in supervisor firmware: RISC-V Supervisor Binary Interface, version 2.0. Chapters are cited.
//!
//! A call takes no instructions but its `ecall`, which retires.

use crate::csr::MENVCFG;
use crate::exception::Cause;
use crate::hart::{Hart, environment, interrupt};
use crate::machine::{Machine, Stop};
use crate::privilege::Privilege;

/// Errors (3.1).
const NOT_SUPPORTED: i64 = -2;
const INVALID_PARAM: i64 = -3;
const INVALID_ADDRESS: i64 = -5;
const ALREADY_AVAILABLE: i64 = -6;

/// Extensions.
const BASE: u64 = 0x10;
const TIME: u64 = 0x5449_4d45;
const IPI: u64 = 0x73_5049;
const RFENCE: u64 = 0x5246_4e43;
const HSM: u64 = 0x48_534d;
const SRST: u64 = 0x5352_5354;
const DBCN: u64 = 0x4442_434e;

/// The most bytes that a call prints; software calls again for the rest (12.1).
const MOST_PRINTED: u64 = 4096;

type Answer = Result<u64, i64>;

impl Machine {
    /// Makes a hart start in supervisor mode, as firmware does (9.1): `a0` is its number, `a1` an argument.
    pub(crate) fn enter_supervisor(&mut self, n: usize, address: u64, argument: u64) {
        let fresh = Hart::new(self.config.isa, self.config.asid_bits);
        let hart = self.hart_mut(n);
        let (retired, id) = (hart.retired, hart.id);
        *hart = Hart { retired, id, privilege: Privilege::Supervisor, ..fresh };
        // All that supervisor mode may handle, it handles; its own calls come here.
        hart.medeleg = 0xb1ff;
        if hart.isa.checks_software() {
            hart.medeleg |= 1 << Cause::SoftwareCheck as u8;
        }
        hart.mideleg = hart.supervisor_interrupts();
        hart.extra.mstateen = std::array::from_fn(|n| hart.state_enables(n));
        hart.mcounteren = 0xffff_ffff;
        // cycle, time and instret, as OpenSBI leaves it (lib/sbi/sbi_hart.c); Linux 6.12 does not set it without counters of
        // its firmware, and its vDSO reads the time in user mode.
        hart.scounteren = 7;
        // Every optional feature that exists is on, but those for which supervisor mode must be made; cache blocks are flushed where
        // they would be invalidated (CBIE).
        let prepared = environment::LPE | environment::SSE | environment::PMM;
        let _ = hart.csr_write(MENVCFG, !(1 << 5 | environment::FIOM | prepared));
        hart.pc = hart.canonical(address);
        hart.x[10] = id;
        hart.x[11] = hart.canonical(argument);
    }

    /// Answers the call that the current hart makes (chapter 3).
    pub(crate) fn sbi_call(&mut self) {
        let x = |n: usize| self.hart.outside(self.hart.x[n]);
        let (extension, function) = (x(17), x(16));
        let a = [x(10), x(11), x(12), x(13)];
        if extension <= 8 {
            let result = self.legacy(extension, a[0]);
            self.hart.set_x(10, self.hart.canonical(result as u64));
            return;
        }
        let answer = match extension {
            BASE => self.base(function, a[0]),
            TIME if function == 0 => self.set_timer(a[0]),
            IPI if function == 0 => self.targets(a[0], a[1]).map(|targets| self.interrupt_harts(&targets)),
            RFENCE => self.remote_fence(function, a[0], a[1]),
            HSM => self.hart_state(function, a),
            SRST if function == 0 => self.system_reset(a[0]),
            DBCN => self.debug_console(function, a),
            _ => Err(NOT_SUPPORTED),
        };
        let (error, value) = match answer {
            Ok(value) => (0, value),
            Err(error) => (error, 0),
        };
        self.hart.set_x(10, self.hart.canonical(error as u64));
        self.hart.set_x(11, self.hart.canonical(value));
    }

    /// Chapter 4.
    fn base(&self, function: u64, extension: u64) -> Answer {
        const VERSION_2_0: u64 = 2 << 24;
        Ok(match function {
            0 => VERSION_2_0,
            // Implementation and its version, vendor, architecture and implementation of the hart: none is registered.
            1 => 0x746f,
            2 | 4..=6 => 0,
            3 => u64::from(matches!(extension, 0..=8 | BASE | TIME | IPI | RFENCE | HSM | SRST | DBCN)),
            _ => return Err(NOT_SUPPORTED),
        })
    }

    /// Chapter 5: the first eight extensions return a plain value.
    fn legacy(&mut self, extension: u64, argument: u64) -> i64 {
        match extension {
            0 => drop(self.set_timer(argument)),
            1 => self.bus.console.write(&[argument as u8]),
            2 => return self.bus.console.read().map_or(-1, i64::from),
            3 => self.hart.mip &= !interrupt::SSI,
            // The argument is the virtual address of a mask; 0 means all harts.
            4..=7 => {
                let mask = match argument {
                    0 => Some(u64::MAX),
                    at => self.translate(at).and_then(|pa| self.bus.ram_read(pa, 8)),
                };
                let Some(mask) = mask else { return INVALID_ADDRESS };
                let targets: Vec<usize> = (0..self.harts()).filter(|n| mask >> n & 1 != 0).collect();
                match extension {
                    4 => drop(self.interrupt_harts(&targets)),
                    5 => targets.iter().for_each(|&n| self.fence_i_of(n)),
                    _ => targets.iter().for_each(|&n| self.flush_translations_of(n)),
                }
            }
            _ => self.stopped = Some(Stop::Exit { code: 0 }),
        }
        0
    }

    /// Chapter 6.
    fn set_timer(&mut self, time: u64) -> Answer {
        match self.hart.has_supervisor_timer() {
            true => self.hart.stimecmp = time,
            false => self.bus.clint.mtimecmp[self.turns.current] = time,
        }
        self.bus.device_written = true;
        Ok(0)
    }

    /// The harts of a mask (3.3).
    fn targets(&self, mask: u64, base: u64) -> Result<Vec<usize>, i64> {
        let count = self.harts() as u64;
        if base == self.hart.outside(u64::MAX) {
            return Ok((0..count as usize).collect());
        }
        let ends_at = base.saturating_add(u64::from(64 - mask.leading_zeros()));
        if ends_at > count {
            return Err(INVALID_PARAM);
        }
        Ok((base as usize..ends_at as usize).filter(|n| mask >> (n - base as usize) & 1 != 0).collect())
    }

    /// Chapter 7.
    fn interrupt_harts(&mut self, targets: &[usize]) -> u64 {
        for &n in targets {
            self.hart_mut(n).mip |= interrupt::SSI;
        }
        0
    }

    /// Chapter 8. Every fence is of everything, and done at once.
    fn remote_fence(&mut self, function: u64, mask: u64, base: u64) -> Answer {
        let targets = self.targets(mask, base)?;
        match function {
            0 => targets.iter().for_each(|&n| self.fence_i_of(n)),
            1 | 2 => targets.iter().for_each(|&n| self.flush_translations_of(n)),
            _ => return Err(NOT_SUPPORTED),
        }
        Ok(0)
    }

    /// Chapter 9.
    fn hart_state(&mut self, function: u64, a: [u64; 4]) -> Answer {
        const STARTED: u64 = 0;
        const STOPPED: u64 = 1;
        let n = a[0] as usize;
        match function {
            0 if n >= self.harts() => Err(INVALID_PARAM),
            0 if self.bus.ram_slice(a[1], 2).is_none() => Err(INVALID_ADDRESS),
            0 => match self.turns.parked.get_mut(n) {
                Some(core) if !core.started => {
                    core.started = true;
                    core.waiting = false;
                    core.engine.flush_blocks();
                    core.engine.flush_translations();
                    self.enter_supervisor(n, a[1], a[2]);
                    Ok(0)
                }
                _ => Err(ALREADY_AVAILABLE),
            },
            1 => {
                let current = self.turns.current;
                match self.turns.parked.get_mut(current) {
                    Some(core) => {
                        core.started = false;
                        self.turns.over = true;
                    }
                    None => self.stopped = Some(Stop::Idle),
                }
                Ok(0)
            }
            2 if n >= self.harts() => Err(INVALID_PARAM),
            2 => Ok(if self.turns.parked.get(n).is_none_or(|core| core.started) { STARTED } else { STOPPED }),
            // Retentive suspension is a wait for an interrupt.
            3 if a[0] == 0 => {
                self.waiting = self.hart.mip & self.hart.mie == 0;
                Ok(0)
            }
            3 => Err(INVALID_PARAM),
            _ => Err(NOT_SUPPORTED),
        }
    }

    /// Chapter 10.
    fn system_reset(&mut self, kind: u64) -> Answer {
        self.stopped = Some(match kind {
            0 => Stop::Exit { code: 0 },
            1 | 2 => Stop::Reboot,
            _ => return Err(INVALID_PARAM),
        });
        Ok(0)
    }

    /// Chapter 12.
    fn debug_console(&mut self, function: u64, a: [u64; 4]) -> Answer {
        let (len, at) = (a[0].min(MOST_PRINTED), a[1]);
        match function {
            0 => {
                let start = at.checked_sub(crate::map::RAM_BASE).ok_or(INVALID_PARAM)? as usize;
                let end = start.checked_add(len as usize).ok_or(INVALID_PARAM)?;
                self.bus.console.write(self.bus.ram.get(start..end).ok_or(INVALID_PARAM)?);
                Ok(len)
            }
            1 => {
                self.bus.ram_slice(at, len).ok_or(INVALID_PARAM)?;
                let mut read = 0;
                while read < len
                    && let Some(byte) = self.bus.console.read()
                {
                    self.bus.ram_write(at + read, 1, u64::from(byte));
                    read += 1;
                }
                Ok(read)
            }
            2 => {
                self.bus.console.write(&[a[0] as u8]);
                Ok(0)
            }
            _ => Err(NOT_SUPPORTED),
        }
    }
}
