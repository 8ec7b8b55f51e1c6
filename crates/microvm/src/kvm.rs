//! The guest under KVM: one virtual machine with one processor, run once.

use crate::doorbell::{Doorbells, counter_offset, now};
use crate::image::{HAS_APIC, HAS_DOORBELLS, LOAD};
use crate::kick::bounded;
use crate::memory::Memory;
use crate::{CAPACITY, Image, Params, RunError, Stays, Table, Visit};
use kvm_bindings::{
    KVM_API_VERSION, KVM_MAX_CPUID_ENTRIES, kvm_regs, kvm_segment, kvm_sregs, kvm_userspace_memory_region,
};
use kvm_ioctls::{Cap, Kvm, VcpuExit, VcpuFd, VmFd};
use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The device of KVM.
pub const DEVICE: &str = "/dev/kvm";

/// The memory that the image's own page tables cover.
const MEMORY: usize = 2 << 20;
const EXIT_PORT: u16 = 0xf4;
const PLAIN_PORT: u16 = 0x80;
const NOWHERE: u64 = 0xd000_0000;
/// CPUID leaf 1, ECX: a timer with a TSC deadline.
const DEADLINE_BIT: u32 = 1 << 24;
/// CPUID leaf 1, ECX: there is a hypervisor.
const HYPERVISOR_BIT: u32 = 1 << 31;

/// Runs the guest once in a virtual machine of its own, on the calling thread (pin the thread to pin the
/// guest), for at most `patience`. A guest that hangs after it began its table gives the table so far.
///
/// # Errors
/// [`RunError::NotHere`] when `device` is missing, not permitted, not KVM, or refuses a virtual machine; the others if
/// the guest failed.
pub fn run(device: &Path, params: &Params, patience: Duration) -> Result<Visit, RunError> {
    let kvm = open(device)?;
    let vm = kvm.create_vm().map_err(|error| refused("create a virtual machine", error))?;
    let has_apic = vm.create_irq_chip().is_ok();
    let bells = if has_apic { Doorbells::connect(&vm).ok() } else { None };
    let flag = |is_there, flag| if is_there { flag } else { 0 };
    let image = Image::new(params, flag(has_apic, HAS_APIC) | flag(bells.is_some(), HAS_DOORBELLS));
    let mut memory = Memory::new(MEMORY)?;
    if !memory.write(LOAD, image.bytes()) {
        return Err(RunError::Ended("image does not fit its memory".into()));
    }
    let mut machine = Machine::new(&kvm, vm, memory, &image, has_apic)?;
    let offset = counter_offset(&machine.cpu);
    let mut stays = Stays::default();
    let mut live = |stays: &mut _| bounded(patience, |late| machine.live(late, stays));
    let ended = match &bells {
        Some(bells) => bells.answering(offset, &mut stays, live)?,
        None => live(&mut stays),
    }?;
    let bytes = machine.memory.read(image.results());
    match ended {
        Ok(()) => Ok(Visit { table: Table::parse(&bytes)?, stays }),
        Err(RunError::Ended(how)) if how == LATE => match Table::parse_stopped(&bytes) {
            // The guest reached at least one phase.
            Ok(table) if table.rows.iter().any(|row| row.outcome != crate::Outcome::NotRun) => {
                Ok(Visit { table, stays })
            }
            _ => Err(RunError::Hung(patience.as_millis())),
        },
        Err(error) => Err(error),
    }
}

/// The error of [`Machine::live`] after the time limit; the caller replaces it with [`RunError::Hung`].
const LATE: &str = "was stopped";

/// Whether there is a KVM device that may be opened.
pub(crate) fn check(device: &Path) -> Result<(), RunError> {
    open(device).map(drop)
}

fn open(device: &Path) -> Result<Kvm, RunError> {
    let name = device.display();
    let path = CString::new(device.as_os_str().as_bytes())
        .map_err(|_| RunError::not_here("the path of the KVM device contains a zero byte", DEVICE))?;
    let kvm = Kvm::new_with_path(path).map_err(|error| match error.errno() {
        libc::ENOENT | libc::ENOTDIR => RunError::not_here(
            format!("{name} is not there"),
            "a machine whose processor or hypervisor offers virtualization, with the module kvm_intel or kvm_amd",
        ),
        libc::EACCES | libc::EPERM => {
            RunError::not_here(format!("{name} may not be opened"), "be a member of the group kvm, or root")
        }
        libc::ENODEV | libc::ENXIO => RunError::not_here(
            format!("{name} has no driver behind it"),
            "load the module kvm_intel or kvm_amd",
        ),
        _ => refused("open it", error),
    })?;
    // A file that is not KVM does not support this ioctl.
    if kvm.get_api_version() != KVM_API_VERSION as i32 {
        return Err(RunError::not_here(format!("{name} is not KVM"), "the real /dev/kvm"));
    }
    Ok(kvm)
}

fn refused(what: &str, error: kvm_ioctls::Error) -> RunError {
    let enable = match error.errno() {
        libc::EBUSY => "end the other hypervisor that has the processor's virtualization",
        libc::EPERM | libc::EACCES => "a sandbox or container that lets KVM's ioctls through",
        _ => "a processor and a kernel that let KVM work (dmesg may say more)",
    };
    RunError::not_here(format!("KVM is present and refuses to {what}: {error}"), enable)
}

fn host(what: &'static str) -> impl Fn(kvm_ioctls::Error) -> RunError {
    move |error| RunError::host(what)(io::Error::from_raw_os_error(error.errno()))
}

/// The fields are dropped in order: the processor and the machine before the memory that they use.
struct Machine {
    cpu: VcpuFd,
    _vm: VmFd,
    memory: Memory,
}

impl Machine {
    fn new(kvm: &Kvm, vm: VmFd, memory: Memory, image: &Image, has_apic: bool) -> Result<Self, RunError> {
        let region = kvm_userspace_memory_region {
            slot: 0,
            flags: 0,
            guest_phys_addr: 0,
            memory_size: memory.len(),
            userspace_addr: memory.address(),
        };
        // SAFETY: the region is one whole mapping, and `Machine` keeps it for as long as the machine exists.
        unsafe { vm.set_user_memory_region(region) }.map_err(host("give the guest its memory"))?;
        let cpu = vm.create_vcpu(0).map_err(|error| refused("create a processor", error))?;
        let mut cpuid =
            kvm.get_supported_cpuid(KVM_MAX_CPUID_ENTRIES).map_err(host("ask what processor KVM offers"))?;
        let deadline = has_apic && kvm.check_extension(Cap::TscDeadlineTimer);
        for leaf in cpuid.as_mut_slice().iter_mut().filter(|leaf| leaf.function == 1) {
            // KVM leaves both bits to the monitor.
            leaf.ecx |= HYPERVISOR_BIT | if deadline { DEADLINE_BIT } else { 0 };
        }
        cpu.set_cpuid2(&cpuid).map_err(host("describe the processor to the guest"))?;
        let mut system = cpu.get_sregs().map_err(host("read the processor's state"))?;
        long_mode(&mut system, image.translation() as u64);
        cpu.set_sregs(&system).map_err(host("put the processor in long mode"))?;
        let registers = kvm_regs { rip: image.entry() as u64, rflags: 2, ..kvm_regs::default() };
        cpu.set_regs(&registers).map_err(host("set the processor's registers"))?;
        Ok(Self { cpu, _vm: vm, memory })
    }

    /// Runs the guest until it announces its end.
    fn live(&mut self, late: &AtomicBool, stays: &mut Stays) -> Result<(), RunError> {
        let ended = |how: String| Err(RunError::Ended(how));
        // The last exit (port or memory) and its time. It is stored after the guest continues, so that the stay does not
        // contain the storing.
        let mut last: Option<(bool, u64)> = None;
        loop {
            let go = now();
            let exit = self.cpu.run();
            let back = now();
            if let Some((port, since)) = last.take() {
                let list = if port { &mut stays.port } else { &mut stays.mmio };
                if list.len() == CAPACITY {
                    return ended("exited to the monitor more often than requested".into());
                }
                list.push(go.wrapping_sub(since));
            }
            match exit {
                Ok(VcpuExit::IoOut(PLAIN_PORT, _)) => last = Some((true, back)),
                Ok(VcpuExit::MmioWrite(NOWHERE, _)) => last = Some((false, back)),
                Ok(VcpuExit::IoOut(EXIT_PORT, _)) => return Ok(()),
                Ok(VcpuExit::Hlt) => return ended("halted before its end".into()),
                Ok(VcpuExit::Shutdown) => return ended("shut down: a triple fault".into()),
                Ok(VcpuExit::Intr) => {}
                Ok(VcpuExit::FailEntry(reason, _)) => {
                    return ended(format!("could not be entered (hardware reason {reason:#x})"));
                }
                Ok(VcpuExit::InternalError) => {
                    return ended("executed an instruction that KVM cannot emulate".into());
                }
                Ok(other) => return ended(format!("exited to the monitor unexpectedly: {other:?}")),
                Err(error) if matches!(error.errno(), libc::EINTR | libc::EAGAIN) => {}
                Err(error) => return Err(host("run the guest")(error)),
            }
            if late.load(Ordering::Relaxed) {
                return ended(LATE.into());
            }
        }
    }
}

/// The state that the image expects at its entry: flat segments, its page tables, interrupts off.
fn long_mode(system: &mut kvm_sregs, translation: u64) {
    let code = kvm_segment {
        base: 0,
        limit: 0xffff_ffff,
        selector: 0x08,
        type_: 11, // execute, read, accessed
        present: 1,
        dpl: 0,
        db: 0,
        s: 1,
        l: 1,
        g: 1,
        ..kvm_segment::default()
    };
    let data = kvm_segment { selector: 0x10, type_: 3, db: 1, l: 0, ..code };
    system.cs = code;
    (system.ds, system.es, system.fs, system.gs, system.ss) = (data, data, data, data, data);
    system.cr3 = translation;
    system.cr4 = 1 << 5; // PAE
    system.cr0 = 1 << 31 | 1 << 4 | 1; // PG, ET, PE
    system.efer = 1 << 10 | 1 << 8; // LMA, LME
}
