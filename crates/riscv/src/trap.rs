//! Traps and returns: one routine each, in numbered and named phases.

use crate::bus::Bus;
use crate::csr::{MSTATUS, MSTATUSH};
use crate::exception::{AccessType, Cause, Raised, Trap, TrapReturn};
use crate::hart::{Hart, interrupt, status};
use crate::isa::Extension;
use crate::mmu;
use crate::observer::AnyObserver;
use crate::privilege::Privilege;

/// The hardware's steps of a trap, in order; the routine that takes traps is written in these phases.
pub const TRAP_PHASES: [&str; 7] = [
    "1 choose the mode that handles it",
    "2 write the cause",
    "3 save the program counter",
    "4 write the trap value",
    "5 stack the interrupt enable and the mode",
    "6 enter the mode",
    "7 jump to the handler",
];

/// Takes a trap. Sections are the privileged specification's (version 20240411).
pub(crate) fn take(hart: &mut Hart, bus: &mut Bus, cause: Cause, tval: u64, obs: &mut AnyObserver<'_>) {
    if hart.isa.has(Extension::Sscofpmf) {
        // So far events happened in this mode.
        hart.count_events(&obs.happened());
    }
    let from = hart.privilege;
    let epc = hart.pc;
    let number = cause.code();
    let interrupt_bit = if hart.isa.is_rv64() { 1 << 63 } else { 1u64 << 31 };
    let cause_value = hart.canonical(if cause.is_interrupt() { interrupt_bit | number } else { number });

    // Phase 1, choose the mode that handles it: 3.1.8, medeleg and mideleg. A trap never goes to a less
    // privileged mode than it comes from.
    let delegated = if cause.is_interrupt() { hart.mideleg } else { hart.medeleg } >> number & 1 != 0;
    let to =
        if delegated && from <= Privilege::Supervisor { Privilege::Supervisor } else { Privilege::Machine };

    let a7 = hart.outside(hart.x[17]);
    let tvec = match to {
        Privilege::Machine => {
            // Phase 2, write the cause: 3.1.15, mcause.
            hart.mcause = hart.clic_cause(cause_value);
            // Phase 3, save the program counter: 3.1.14, mepc.
            hart.mepc = epc;
            // Phase 4, write the trap value: 3.1.16, mtval.
            hart.mtval = tval;
            // Phase 5, stack the interrupt enable and the mode: 3.1.6.1, MPIE and MPP of mstatus.
            let mie = hart.mstatus & status::MIE != 0;
            hart.mstatus &= !(status::MIE | status::MPIE | status::MPP);
            hart.mstatus |= if mie { status::MPIE } else { 0 } | (from as u64) << status::MPP_SHIFT;
            hart.stack_pad(status::MPELP);
            hart.mtvec
        }
        _ => {
            // Phase 2, write the cause: 10.1.8, scause.
            hart.scause = cause_value;
            // Phase 3, save the program counter: 10.1.7, sepc.
            hart.sepc = epc;
            // Phase 4, write the trap value: 10.1.9, stval.
            hart.stval = tval;
            // Phase 5, stack the interrupt enable and the mode: 10.1.1, SPIE and SPP of sstatus.
            let sie = hart.mstatus & status::SIE != 0;
            hart.mstatus &= !(status::SIE | status::SPIE | status::SPP);
            hart.mstatus |= if sie { status::SPIE } else { 0 };
            hart.mstatus |= if from == Privilege::Supervisor { status::SPP } else { 0 };
            hart.stack_pad(status::SPELP);
            hart.stvec
        }
    };
    // No reservation outlives a trap: another context may run next (unprivileged specification, 13.2, permits `sc` to fail).
    hart.reservation = None;
    // Phase 6, enter the mode: 3.1.6.1; our own extensions switch banks or stack here (see `custom`).
    hart.custom_trap(bus, from, to, obs);
    hart.privilege = to;
    // Phase 7, jump to the handler: 3.1.7, mtvec, and 10.1.2, stvec. Only interrupts are vectored.
    let vectored = tvec & 1 != 0 && cause.is_interrupt();
    let handler = hart.canonical((tvec & !3).wrapping_add(if vectored { 4 * number } else { 0 }));
    let by_clic = if to == Privilege::Machine { hart.clic_enter(bus, cause, from) } else { None };
    let (handler, by_table) = by_clic.unwrap_or((handler, false));
    hart.pc = handler;

    obs.trap(|| Trap {
        cause,
        tval: hart.outside(tval),
        epc: hart.outside(epc),
        from,
        to,
        handler: hart.outside(hart.pc),
        by_table,
        instret: hart.retired,
        a7,
        raised_by: if cause.is_interrupt() { None } else { raised_by(hart, bus, epc, from) },
    });
}

/// The instruction at an address, for which nothing is changed.
fn raised_by(hart: &Hart, bus: &Bus, pc: u64, privilege: Privilege) -> Option<Raised> {
    let half = |va: u64| {
        let pa = mmu::look_up(hart, bus, va, AccessType::Fetch, privilege).ok()?;
        Some((pa, bus.ram_read(pa, 2)? as u32))
    };
    let (pa, low) = half(pc)?;
    let high = match low & 3 {
        3 if pa % mmu::PAGE == mmu::PAGE - 2 => half(hart.canonical(pc.wrapping_add(2)))?.1,
        3 => bus.ram_read(pa + 2, 2)? as u32,
        _ => 0,
    };
    Some(Raised { pa, word: low | high << 16 })
}

/// Returns from a trap handled in `mode`, as `mret` and `sret` do (3.1.6.1 and 10.1.1). Yields the new pc.
pub(crate) fn return_from(hart: &mut Hart, bus: &mut Bus, mode: Privilege, obs: &mut AnyObserver<'_>) -> u64 {
    if hart.isa.has(Extension::Sscofpmf) {
        hart.count_events(&obs.happened());
    }
    let (to, pc) = if mode == Privilege::Machine {
        let to = Privilege::from_bits(hart.mstatus >> status::MPP_SHIFT);
        // MIE takes MPIE's value, MPIE becomes 1, MPP the least privileged mode.
        let mpie = hart.mstatus & status::MPIE != 0;
        hart.mstatus &= !(status::MIE | status::MPP);
        hart.mstatus |= status::MPIE | if mpie { status::MIE } else { 0 };
        (to, hart.mepc)
    } else {
        let to = if hart.mstatus & status::SPP != 0 { Privilege::Supervisor } else { Privilege::User };
        let spie = hart.mstatus & status::SPIE != 0;
        hart.mstatus &= !(status::SIE | status::SPP);
        hart.mstatus |= status::SPIE | if spie { status::SIE } else { 0 };
        (to, hart.sepc)
    };
    if to != Privilege::Machine {
        // 3.1.6.3: leaving M-mode clears MPRV.
        hart.mstatus &= !status::MPRV;
    }
    hart.unstack_pad(if mode == Privilege::Machine { status::MPELP } else { status::SPELP }, to);
    hart.custom_return(bus, mode, obs);
    hart.privilege = to;
    let pc = if mode == Privilege::Machine { hart.clic_return(bus, to, pc) } else { pc };
    let pc = pc & !hart.target_mask();
    obs.csr(MSTATUS, || hart.outside(hart.csr_read(MSTATUS, 0).unwrap_or_default()));
    if mode == Privilege::Machine && !hart.isa.is_rv64() {
        obs.csr(MSTATUSH, || hart.outside(hart.csr_read(MSTATUSH, 0).unwrap_or_default()));
    }
    obs.trap_return(|| TrapReturn { from: mode, to, pc: hart.outside(pc), instret: hart.retired });
    pc
}

/// The interrupt to take now, if any (3.1.9): pending, enabled, and its mode not masked; the mode that comes
/// first is the more privileged one, then external, software, timer.
pub(crate) fn pending(hart: &Hart) -> Option<Cause> {
    match &hart.clic {
        Some(clic) => hart.clic_pending(clic),
        None => first_of(hart, hart.mip & hart.mie),
    }
}

/// Whether no interrupt can be taken, whatever becomes pending.
pub(crate) fn are_masked(hart: &Hart) -> bool {
    if hart.clic.is_some() { !hart.clic_is_open() } else { first_of(hart, hart.mie).is_none() }
}

/// Which of these interrupts is taken, if any.
fn first_of(hart: &Hart, pending: u64) -> Option<Cause> {
    if pending == 0 {
        return None;
    }
    let machine_on = hart.privilege < Privilege::Machine || hart.mstatus & status::MIE != 0;
    let supervisor_on = hart.privilege < Privilege::Supervisor
        || hart.privilege == Privilege::Supervisor && hart.mstatus & status::SIE != 0;
    let to_machine = if machine_on { pending & !hart.mideleg } else { 0 };
    let to_supervisor = if supervisor_on { pending & hart.mideleg } else { 0 };
    let which = if to_machine != 0 { to_machine } else { to_supervisor };
    [
        (interrupt::MEI, Cause::MachineExternal),
        (interrupt::MSI, Cause::MachineSoftware),
        (interrupt::MTI, Cause::MachineTimer),
        (interrupt::SEI, Cause::SupervisorExternal),
        (interrupt::SSI, Cause::SupervisorSoftware),
        (interrupt::STI, Cause::SupervisorTimer),
        (interrupt::LCOFI, Cause::CounterOverflow),
    ]
    .into_iter()
    .find(|(bit, _)| which & bit != 0)
    .map(|(_, cause)| cause)
}
