//! Where calls and faults came from, as the programs keep it.

use crate::count::Kind;
use crate::images::Images;
use crate::rings::Rings;
use crate::sites::{Place, Sites};
use crate::snapshot::{FAULTS, call_name};
use crate::sums::Sums;
use aya::maps::{HashMap, MapData, StackTraceMap};
use aya::{Ebpf, Pod};
use std::time::Duration;

/// `struct site` of the program.
#[repr(C)]
#[derive(Clone, Copy)]
struct SiteKey {
    pid: u32,
    image: u32,
    /// The element of a call, or [`IS_FAULT`] and a kind of fault.
    boundary: u32,
    /// Negative where the stack is not known; with [`SKIPPED`] without its innermost frame.
    stack: i32,
    instruction: u64,
    caller: u64,
}

// SAFETY: plain data without padding, in which every bit pattern is valid.
unsafe impl Pod for SiteKey {}

const IS_FAULT: u32 = 1 << 16;
const SKIPPED: u32 = 1 << 30;
/// As many call sites and stacks are told apart.
pub(super) const SITES: u32 = 1 << 14;
/// The kernel's reports of mapped code are read as often while the command runs.
pub(super) const MAPS_PERIOD: Duration = Duration::from_millis(50);

/// The records for the call sites.
#[derive(Default)]
pub(super) struct Stacks {
    pub(super) rings: Option<Rings>,
    pub(super) images: Images,
    pub(super) yardstick: libc::pid_t,
    pub(super) sites: Sites,
}

impl Stacks {
    pub(super) fn read(&mut self) {
        for record in self.rings.iter_mut().flat_map(Rings::read) {
            self.images.apply(&record);
        }
    }

    /// The command has ended.
    pub(super) fn ended(&mut self, ebpf: &Ebpf) {
        let rest = self.rings.take().map(|mut rings| rings.finish()).unwrap_or_default();
        rest.iter().for_each(|record| self.images.apply(record));
        self.sites = self.sites(ebpf).unwrap_or_default();
    }

    /// The call sites until now.
    fn sites(&self, ebpf: &Ebpf) -> Option<Sites> {
        let sites = HashMap::<&MapData, SiteKey, Sums>::try_from(ebpf.map("sites")?).ok()?;
        let frames = StackTraceMap::<&MapData>::try_from(ebpf.map("stacks")?).ok()?;
        let places = sites.iter().filter_map(Result::ok).filter(|(key, _)| key.pid != self.yardstick as u32);
        let places = places.map(|(key, sums)| {
            let found = |id: u32| Some((id & SKIPPED != 0, frames.get(&(id & !SKIPPED), 0).ok()?));
            let walked = u32::try_from(key.stack).ok().and_then(found).map(|(skipped, stack)| {
                let innermost = skipped.then_some(key.instruction);
                innermost.into_iter().chain(stack.frames().iter().map(|frame| frame.ip)).collect()
            });
            let place = Place {
                pid: key.pid as libc::pid_t,
                image: key.image,
                frames: walked.unwrap_or_else(|| vec![key.instruction]),
                top: key.caller,
            };
            let (kind, name) = match key.boundary.checked_sub(IS_FAULT) {
                Some(fault) => {
                    (Kind::Fault, FAULTS.get(fault as usize).copied().unwrap_or_default().to_owned())
                }
                None => (Kind::Call, call_name(key.boundary as usize)),
            };
            (place, kind, name, sums.tally())
        });
        Some(Sites::of(places, &self.images))
    }
}
