//! Doorbells: ports whose writes KVM notes in eventfds, without an exit to the monitor. A thread of the monitor answers one
//! of them by an interrupt, through an eventfd of KVM.

use crate::{CAPACITY, RunError, Stays};
use kvm_bindings::{
    KVM_IRQ_ROUTING_MSI, KVM_VCPU_TSC_CTRL, KVM_VCPU_TSC_OFFSET, KvmIrqRouting, kvm_device_attr,
    kvm_irq_routing_entry,
};
use kvm_ioctls::{IoEventAddress, NoDatamatch, VcpuFd, VmFd};
use std::arch::x86_64::_rdtsc;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use vmm_sys_util::eventfd::{EFD_CLOEXEC, EFD_NONBLOCK, EventFd};

// guests/x86/layout.h
const DOORBELL_PORT: u64 = 0x90;
const ANSWERED_PORT: u64 = 0x91;
const ANSWER_VECTOR: u32 = 0x51;
/// The interrupt that the answer raises: the first behind the pins of the interrupt controller.
const ANSWER_GSI: u32 = 24;
/// The address of a message to the first processor (Intel SDM volume 3A, "Message Address Register Format").
const MESSAGE_ADDRESS: u32 = 0xfee0_0000;

/// The eventfds behind the ports.
pub(crate) struct Doorbells {
    counted: EventFd,
    answered: EventFd,
    answer: EventFd,
}

impl Doorbells {
    /// Connects both ports; an error of KVM if it cannot.
    pub(crate) fn connect(vm: &VmFd) -> Result<Self, kvm_ioctls::Error> {
        let new = |flags| EventFd::new(flags | EFD_CLOEXEC).map_err(kvm_ioctls::Error::from);
        let bells = Self { counted: new(EFD_NONBLOCK)?, answered: new(0)?, answer: new(0)? };
        for (fd, port) in [(&bells.counted, DOORBELL_PORT), (&bells.answered, ANSWERED_PORT)] {
            vm.register_ioevent(fd, &IoEventAddress::Pio(port), NoDatamatch)?;
        }
        let mut entry =
            kvm_irq_routing_entry { gsi: ANSWER_GSI, type_: KVM_IRQ_ROUTING_MSI, ..Default::default() };
        entry.u.msi.address_lo = MESSAGE_ADDRESS;
        entry.u.msi.data = ANSWER_VECTOR;
        let routing =
            KvmIrqRouting::from_entries(&[entry]).map_err(|_| kvm_ioctls::Error::new(libc::ENOMEM))?;
        vm.set_gsi_routing(&routing)?;
        vm.register_irqfd(&bells.answer, ANSWER_GSI)?;
        Ok(bells)
    }

    /// Answers on a thread of its own, which inherits the pin of the calling one, while `run` runs.
    pub(crate) fn answering<T>(
        &self,
        cpu: Option<i64>,
        stays: &mut Stays,
        run: impl FnOnce(&mut Stays) -> T,
    ) -> Result<T, RunError> {
        let stop = AtomicBool::new(false);
        let (result, answers) = thread::scope(|scope| {
            let thread = thread::Builder::new()
                .name("doorbell".into())
                .spawn_scoped(scope, || self.answer(&stop))
                .map_err(RunError::host("start the thread that answers the guest"))?;
            // Also when `run` panics, so that the scope ends.
            let stopped = Stop { stop: &stop, bell: &self.answered };
            let result = run(stays);
            drop(stopped);
            // A thread that panicked has already been reported by the panic itself.
            Ok::<_, RunError>((result, thread.join().unwrap_or_default()))
        })?;
        stays.doorbells = self.counted.read().unwrap_or(0);
        stays.one_clock = cpu.is_some();
        stays.answers = answers
            .into_iter()
            .map(|times| times.map(|at: u64| at.wrapping_add_signed(cpu.unwrap_or(0))))
            .collect();
        Ok(result)
    }

    fn answer(&self, stop: &AtomicBool) -> Vec<[u64; 2]> {
        let mut answers = Vec::with_capacity(CAPACITY);
        while self.answered.read().is_ok() {
            let woken = now();
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let sent = now();
            if self.answer.write(1).is_err() {
                break;
            }
            // A guest that rings more often is broken; it shows in the count.
            if answers.len() <= CAPACITY {
                answers.push([woken, sent]);
            }
        }
        answers
    }
}

/// Ends the thread when it is dropped.
struct Stop<'a> {
    stop: &'a AtomicBool,
    bell: &'a EventFd,
}

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // It cannot fail: the count is far from its maximum.
        let _ = self.bell.write(1);
    }
}

/// The offset that KVM adds to the host's counter for the guest (Linux 5.16, Documentation/virt/kvm/devices/vcpu.rst).
pub(crate) fn counter_offset(cpu: &VcpuFd) -> Option<i64> {
    const KVM_GET_DEVICE_ATTR: u64 = 0x4018_aee2;
    let mut offset = 0_i64;
    let attribute = kvm_device_attr {
        flags: 0,
        group: KVM_VCPU_TSC_CTRL,
        attr: KVM_VCPU_TSC_OFFSET.into(),
        addr: (&raw mut offset).expose_provenance() as u64,
    };
    // SAFETY: the kernel reads the structure and writes eight bytes to `offset`; both live.
    let result = unsafe { libc::ioctl(cpu.as_raw_fd(), KVM_GET_DEVICE_ATTR as _, &raw const attribute) };
    (result == 0).then_some(offset)
}

/// The host's time-stamp counter.
pub(crate) fn now() -> u64 {
    // SAFETY: every x86-64 processor has the counter, and user space may read it unless prctl(PR_SET_TSC) forbids it;
    // then a signal ends this process.
    unsafe { _rdtsc() }
}
