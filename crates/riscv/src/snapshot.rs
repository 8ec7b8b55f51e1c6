//! A machine as a file: saved between two instructions, and restored to continue as if it had never stopped.
//!
//! The file: [`MAGIC`], the format's number, the length and the SHA-256 of what follows, which is one LZ4 frame of
//! the configuration, the drive's identity, the state (the fields that [`state!`] names), and the pages of RAM that
//! are not zero. Models of time and of caches are observers: they are not saved and begin empty.

mod checkpoint;

use std::io::{self, Read, Write};

use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::config::{Config, ConfigError, MachineKind};
use crate::devices::virtio::Device;
use crate::devices::virtio::block::Storage;
use crate::hart::Hart;
use crate::machine::{DRIVE_SLOT, Machine};
use crate::vector_state::Vector;

pub use checkpoint::Checkpoint;

/// The first bytes of a snapshot.
const MAGIC: &[u8; 16] = b"tollgate machine";
/// The format's number. A change of what is saved, or of its order, raises it; a test notices.
const VERSION: u32 = 3;
const HASH: usize = 32;
const HEADER: usize = MAGIC.len() + 4 + 8 + HASH;
/// Pages are saved whole, or not at all if they are zero.
const PAGE: usize = 4096;
/// The mark after the last page.
const NO_PAGE: u64 = u64::MAX;
/// The longest configuration and state that are read, and the most output that a machine keeps.
const MOST_HEAD: u64 = 1 << 20;
const MOST_STATE: u64 = 1 << 30;
const MOST_CONSOLE: usize = 16 << 20;

/// Why a machine cannot be saved, or a snapshot not be restored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum SnapshotError {
    #[error("only the machine virt can be saved")]
    Machine,
    #[error("not a snapshot of a machine")]
    Foreign,
    #[error("a snapshot of format {0}, and this program reads format {VERSION}; save it again")]
    Version(u32),
    #[error("the snapshot is cut off: {found} bytes of {expected}; save it again")]
    Cut { found: u64, expected: u64 },
    #[error("the snapshot is damaged: its contents do not have the hash that it names; save it again")]
    Hash,
    #[error("the snapshot is damaged: {0}; save it again")]
    Damaged(&'static str),
    #[error("the snapshot's machine: {0}")]
    Config(#[from] ConfigError),
    #[error("the snapshot's machine has no drive")]
    NoDrive,
    #[error("the snapshot's machine has a drive; give the same file as when it was saved")]
    DriveMissing,
    #[error("not the drive that the snapshot's machine had: its contents are different")]
    OtherDrive,
    #[error("the drive cannot be read: {0}")]
    DriveFile(io::Error),
    #[error("the snapshot's machine has {} MiB of RAM, and at most {} are allowed", .has >> 20, .most >> 20)]
    TooLarge { has: u64, most: u64 },
}

/// How a drive's file is recognized.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct DriveFile {
    bytes: u64,
    hash: [u8; HASH],
}

/// Names the fields of the machine that are its state, in the order of the file. What is not here is either
/// configuration, RAM, the drive's file, or a cache.
macro_rules! state {
    ($($($field:ident).+),+ $(,)?) => {
        fn write_state(machine: &Machine, mut out: Vec<u8>) -> Option<Vec<u8>> {
            $(out = postcard::to_extend(&machine.$($field).+, out).ok()?;)+
            machine.write_extra(machine.write_vectors(out)?)
        }

        fn read_state(machine: &mut Machine, bytes: &[u8]) -> Result<(), SnapshotError> {
            let rest = bytes;
            $(let rest = take(rest, &mut machine.$($field).+)?;)+
            let rest = machine.read_vectors(rest)?;
            let rest = machine.read_extra(rest)?;
            if rest.is_empty() { Ok(()) } else { Err(SnapshotError::Damaged("its state is too long")) }
        }
    };
}

state! {
    hart, turns, waiting, lines, idle, next_event, stopped, sbi,
    bus.rom, bus.clint, bus.uart, bus.plic, bus.virt, bus.device_written, bus.console,
}

/// Reads one field, and yields the rest.
fn take<'a, T: DeserializeOwned>(bytes: &'a [u8], field: &mut T) -> Result<&'a [u8], SnapshotError> {
    let (value, rest) =
        postcard::take_from_bytes(bytes).map_err(|_| SnapshotError::Damaged("its state has another form"))?;
    *field = value;
    Ok(rest)
}

impl Machine {
    /// The harts: the one that runs, and those that are parked.
    fn all_harts(&self) -> impl Iterator<Item = &Hart> {
        std::iter::once(&self.hart).chain(self.turns.parked.iter().map(|core| &core.hart))
    }

    /// Adds the vector state of each hart that has some, which is not in [`state!`]: without vectors a snapshot is as it was before
    /// there were any.
    fn write_vectors(&self, out: Vec<u8>) -> Option<Vec<u8>> {
        let states = self.all_harts().filter_map(|hart| hart.vector.as_ref());
        states.into_iter().try_fold(out, |out, state| postcard::to_extend(state, out).ok())
    }

    /// Adds the state of other extensions, in the same way.
    fn write_extra(&self, out: Vec<u8>) -> Option<Vec<u8>> {
        let has_some = self.config.isa.has_extra_state();
        let mut states = self.all_harts().filter(|_| has_some).map(|hart| &hart.extra);
        states.try_fold(out, |out, state| postcard::to_extend(state, out).ok())
    }

    fn read_extra<'a>(&mut self, mut bytes: &'a [u8]) -> Result<&'a [u8], SnapshotError> {
        if self.config.isa.has_extra_state() {
            let parked = self.turns.parked.iter_mut().map(|core| &mut core.hart);
            for hart in std::iter::once(&mut self.hart).chain(parked) {
                bytes = take(bytes, &mut hart.extra)?;
            }
        }
        Ok(bytes)
    }

    fn read_vectors<'a>(&mut self, mut bytes: &'a [u8]) -> Result<&'a [u8], SnapshotError> {
        let isa = self.config.isa;
        let parked = self.turns.parked.iter_mut().map(|core| &mut core.hart);
        for hart in std::iter::once(&mut self.hart).chain(parked) {
            if let Some(mut state) = Vector::new(&isa) {
                bytes = take(bytes, &mut state)?;
                if !state.fits(&isa) {
                    return Err(SnapshotError::Damaged(
                        "its vector registers are not those of its configuration",
                    ));
                }
                hart.vector = Some(state);
            }
        }
        Ok(bytes)
    }

    /// The whole machine as a file that [`restore`](Self::restore) reads. Its bytes depend on nothing but the state.
    ///
    /// ```
    /// use tollgate_riscv::{Config, Machine, MachineKind};
    /// let config = Config { machine: MachineKind::Virt, ..Config::default() };
    /// let mut machine = Machine::new(config).unwrap();
    /// machine.set_x(5, 42);
    /// let file = machine.save().unwrap();
    /// assert_eq!(Machine::restore(&file, None).unwrap().x(5), 42);
    /// ```
    ///
    /// # Errors
    /// A machine other than `virt`, or a drive that cannot be read.
    pub fn save(&mut self) -> Result<Vec<u8>, SnapshotError> {
        if self.config.machine != MachineKind::Virt {
            return Err(SnapshotError::Machine);
        }
        let failed = |_| SnapshotError::Damaged("its state cannot be written");
        let drive = self.drive().map(identify).transpose()?;
        let head = postcard::to_stdvec(&(&self.config, drive)).map_err(failed)?;
        let state =
            write_state(self, Vec::new()).ok_or(SnapshotError::Damaged("its state cannot be written"))?;

        let mut file = vec![0; HEADER];
        let info = FrameInfo::new().block_size(BlockSize::Max4MB).block_mode(BlockMode::Linked);
        let mut out = FrameEncoder::with_frame_info(info, &mut file);
        let mut write = || -> io::Result<()> {
            for part in [&head, &state] {
                out.write_all(&(part.len() as u64).to_le_bytes())?;
                out.write_all(part)?;
            }
            for (n, page) in (0_u64..).zip(self.bus.ram.chunks(PAGE)) {
                if page.iter().any(|&byte| byte != 0) {
                    out.write_all(&n.to_le_bytes())?;
                    out.write_all(page)?;
                }
            }
            out.write_all(&NO_PAGE.to_le_bytes())
        };
        write().map_err(|_| SnapshotError::Damaged("its state cannot be written"))?;
        out.finish().map_err(|_| SnapshotError::Damaged("its state cannot be written"))?;

        let (header, body) = file.split_at_mut(HEADER);
        header.copy_from_slice(&self::header(body));
        Ok(file)
    }

    /// The machine that was [saved](Self::save). `drive` is the drive's file if it had one; the same contents are
    /// needed, which are read whole.
    ///
    /// # Errors
    /// A file that is not a whole snapshot of this format, or a different drive.
    pub fn restore(file: &[u8], drive: Option<Box<dyn Storage>>) -> Result<Self, SnapshotError> {
        Self::restore_within(u64::MAX, file, drive)
    }

    /// The same for a file that somebody else may have made: its machine may have so much RAM, because the file decides that.
    ///
    /// # Errors
    /// As [`restore`](Self::restore), and more RAM.
    pub fn restore_within(
        most_ram: u64,
        file: &[u8],
        drive: Option<Box<dyn Storage>>,
    ) -> Result<Self, SnapshotError> {
        // The guest's writes to its drive are in the state, too.
        let most_state = most_ram.saturating_add(MOST_CONSOLE as u64 * 4).min(MOST_STATE);
        let mut body = FrameDecoder::new(check(file)?);
        let head = part(&mut body, MOST_HEAD)?;
        let (config, expected): (Config, Option<DriveFile>) = postcard::from_bytes(&head)
            .map_err(|_| SnapshotError::Damaged("its configuration has another form"))?;
        if config.ram_bytes > most_ram {
            return Err(SnapshotError::TooLarge { has: config.ram_bytes, most: most_ram });
        }
        if config.console_bytes > MOST_CONSOLE {
            return Err(SnapshotError::Damaged("its console keeps more than any machine's"));
        }
        if config.machine != MachineKind::Virt {
            return Err(SnapshotError::Machine);
        }
        let mut machine = Machine::new(config)?;
        let harts = machine.turns.parked.len();
        read_state(&mut machine, &part(&mut body, most_state)?)?;
        machine.bus.console.limit = machine.config.console_bytes;
        machine.after_reading(harts)?;

        match (expected, drive, machine.drive()) {
            (None, None, None) => {}
            (Some(expected), Some(mut storage), Some(place)) => {
                if identify(&mut storage)? != expected {
                    return Err(SnapshotError::OtherDrive);
                }
                *place = storage;
            }
            (Some(_), None, Some(_)) => return Err(SnapshotError::DriveMissing),
            (None, Some(_), None) => return Err(SnapshotError::NoDrive),
            _ => return Err(SnapshotError::Damaged("its drive is not in its place")),
        }

        let mut next = 0;
        loop {
            let n = number(&mut body)?;
            if n == NO_PAGE {
                return Ok(machine);
            }
            let start = usize::try_from(n).ok().and_then(|n| n.checked_mul(PAGE));
            let page =
                start.filter(|_| n >= next).and_then(|at| machine.bus.ram.get_mut(at..at.checked_add(PAGE)?));
            let page = page.ok_or(SnapshotError::Damaged("a page of its RAM is not in its place"))?;
            body.read_exact(page).map_err(|_| SnapshotError::Damaged("its RAM ends early"))?;
            next = n + 1;
        }
    }

    /// Checks what the rest of the machine relies on, and sets what follows from the configuration.
    fn after_reading(&mut self, harts: usize) -> Result<(), SnapshotError> {
        let turns = &mut self.turns;
        if turns.parked.len() != harts || turns.current >= harts.max(1) || self.bus.virt.is_none() {
            return Err(SnapshotError::Damaged("its harts or devices are not those of its configuration"));
        }
        let impossible = || SnapshotError::Damaged("a register or a time has an impossible value");
        let mut clock = turns.start.max(self.idle);
        let all = std::iter::once(&mut self.hart).chain(turns.parked.iter_mut().map(|core| &mut core.hart));
        for hart in all {
            hart.isa = self.config.isa;
            if hart.pc & 1 != 0 || hart.frm > 7 || hart.x[0] != 0 || !hart.is_canonical() {
                return Err(impossible());
            }
            clock = clock.max(hart.retired);
        }
        // Some 100 years; sums of times do not overflow.
        if clock < 1 << 61 { Ok(()) } else { Err(impossible()) }
    }

    fn drive(&mut self) -> Option<&mut Box<dyn Storage>> {
        match &mut self.bus.virt.as_mut()?.slots[DRIVE_SLOT].device {
            Some(Device::Block(block)) => Some(&mut block.storage),
            _ => None,
        }
    }
}

fn identify(drive: &mut Box<dyn Storage>) -> Result<DriveFile, SnapshotError> {
    let (bytes, mut hash) = (drive.len(), Sha256::new());
    let mut buffer = vec![0; 1 << 20];
    for at in (0..bytes).step_by(buffer.len()) {
        let len = (bytes - at).min(buffer.len() as u64) as usize;
        drive.read(at, &mut buffer[..len]).map_err(SnapshotError::DriveFile)?;
        hash.update(&buffer[..len]);
    }
    Ok(DriveFile { bytes, hash: hash.finalize().into() })
}

/// The header before the contents.
fn header(body: &[u8]) -> Vec<u8> {
    let mut header = MAGIC.to_vec();
    header.extend(VERSION.to_le_bytes());
    header.extend((body.len() as u64).to_le_bytes());
    header.extend(Sha256::digest(body));
    header
}

/// The contents, if they are all there and as they were written.
fn check(file: &[u8]) -> Result<&[u8], SnapshotError> {
    let begins = file.iter().zip(MAGIC).all(|(found, expected)| found == expected);
    if !begins || file.is_empty() {
        return Err(SnapshotError::Foreign);
    }
    let Some((header, body)) = file.split_at_checked(HEADER) else {
        return Err(SnapshotError::Cut { found: file.len() as u64, expected: HEADER as u64 });
    };
    let (number, rest) = header[MAGIC.len()..].split_at(4);
    let version = crate::map::from_le(number) as u32;
    if version != VERSION {
        return Err(SnapshotError::Version(version));
    }
    let (len, hash) = rest.split_at(8);
    let len = crate::map::from_le(len);
    if (body.len() as u64) < len {
        let expected = len.saturating_add(HEADER as u64);
        return Err(SnapshotError::Cut { found: file.len() as u64, expected });
    }
    if body.len() as u64 != len || Sha256::digest(body).as_slice() != hash {
        return Err(SnapshotError::Hash);
    }
    Ok(body)
}

fn number(body: &mut impl Read) -> Result<u64, SnapshotError> {
    let mut bytes = [0; 8];
    body.read_exact(&mut bytes).map_err(|_| SnapshotError::Damaged("it ends early"))?;
    Ok(u64::from_le_bytes(bytes))
}

/// Reads what has its length in front.
fn part(body: &mut impl Read, most: u64) -> Result<Vec<u8>, SnapshotError> {
    let len = number(body)?;
    let mut bytes = Vec::new();
    let read = body.take(len.min(most)).read_to_end(&mut bytes);
    match read {
        Ok(found) if found as u64 == len => Ok(bytes),
        _ => Err(SnapshotError::Damaged("it ends early")),
    }
}

#[cfg(test)]
mod tests;
