//! What cannot be said in a line of the table.

use super::seen::Seen;
use tollgate_record::{Host, Status, warning};

fn host(seen: &Seen) -> Result<&Host, String> {
    seen.host.as_ref().ok_or_else(|| "doctor told nothing of the host".into())
}

fn must(holds: bool, otherwise: impl Into<String>) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise.into()) }
}

pub(super) fn one_cpu_built_in(seen: &Seen) -> Result<(), String> {
    let cpu = &host(seen)?.cpu;
    must(
        cpu.online == [0] && cpu.present == [0],
        format!("online {:?}, present {:?}", cpu.online, cpu.present),
    )
}

pub(super) fn the_other_cpu_can_be_switched_on(seen: &Seen) -> Result<(), String> {
    let cpu = &host(seen)?.cpu;
    must(
        cpu.online == [0] && cpu.present == [0, 1],
        format!("online {:?}, present {:?}", cpu.online, cpu.present),
    )?;
    let finding = seen.findings.iter().find(|finding| finding.code == "one-cpu");
    let fix = finding.and_then(|finding| finding.fix.as_deref()).unwrap_or_default();
    must(fix.contains("cpu1/online"), format!("doctor's remedy is {fix:?}"))
}

/// What the kernel reports, and whether the flag says that isolation is on: the flag is the truth.
pub(super) fn meltdown(seen: &Seen, report: &str, on: bool) -> Result<(), String> {
    let host = host(seen)?;
    let reported = host.kernel.mitigations.get("meltdown").map(String::as_str).unwrap_or_default();
    must(reported == report, format!("the kernel reports {reported:?}, not {report:?}"))?;
    let flag = host.cpu.flags.iter().any(|flag| flag == "pti");
    must(flag == on, format!("the flag pti is {flag}, not {on}"))
}

/// The bare guest under KVM on an emulated processor: everything works as the manuals say, and nothing is taken for the
/// hardware's.
pub(super) fn kvm(seen: &Seen, nested: bool) -> Result<(), String> {
    let parameter = seen.texts.first().and_then(|texts| texts.get("load")).map(|text| text.trim().to_owned());
    let wanted = if nested { "Y" } else { "N" };
    must(parameter.as_deref() == Some(wanted), format!("nested paging is {parameter:?}, not {wanted}"))?;
    let total = |name: &str| -> Result<f64, String> {
        let row = seen.row(&format!("hardware/{name}"), "kvm-amd")?;
        must(row.status == Status::Measured, format!("{} was not measured: {:?}", row.probe, row.reason))?;
        must(row.has_warning(warning::EMULATED), format!("{} is taken for the hardware's", row.probe))?;
        let ticks = row.ticks.ok_or_else(|| format!("{} has no ticks", row.probe))?;
        Ok(ticks.estimate / TICKS_PER_INSTRUCTION)
    };
    // The way to the handler takes no instruction; SYSCALL and SYSRET, INT and IRETQ take one each.
    for name in ["syscall", "interrupt"] {
        let instructions = total(name)?;
        must(instructions == 2.0, format!("{name} took {instructions} instructions, not 2"))?;
    }
    // An exit runs hundreds of instructions of the kernel, so whatever took fewer did not leave the guest.
    let exit = total("exit-cpuid")?;
    must(exit > 500.0, format!("an exit took {exit} instructions"))?;
    must(total("exit-port")? > exit, "an exit to the monitor took less than one to the kernel")?;
    // KVM looks at undefined instructions itself, on AMD always.
    must(total("undefined")? > exit / 2.0, "an undefined instruction did not leave the guest")?;
    for name in ["page-fault", "cr3"] {
        let instructions = total(name)?;
        let left = instructions > exit / 2.0;
        must(left != nested, format!("{name} took {instructions} instructions, an exit {exit}"))?;
    }
    total("iretq").and(total("invlpg")).map(drop)
}

/// The cases let an instruction take four nanoseconds, and the time-stamp counter ticks once in each.
const TICKS_PER_INSTRUCTION: f64 = 4.0;

pub(super) fn no_kvm(seen: &Seen) -> Result<(), String> {
    let row = seen.row("hardware/syscall", "kvm")?;
    let reason = row.reason.as_deref().unwrap_or_default();
    must(row.status == Status::Skipped && reason.contains("/dev/kvm"), format!("{:?}: {reason}", row.status))
}

/// The number that a test told under this key, in each boot.
fn told(seen: &Seen, key: &str) -> Result<Vec<String>, String> {
    let lines = seen.texts.iter().map(|texts| texts.get("counted").map(String::as_str).unwrap_or_default());
    let found: Vec<String> = lines
        .filter_map(|text| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')))
        .map(str::to_owned)
        .collect();
    must(found.len() == seen.texts.len(), format!("nothing was told of {key}"))?;
    Ok(found)
}

fn number(seen: &Seen, key: &str) -> Result<f64, String> {
    let text = &told(seen, key)?[0];
    text.parse().map_err(|_| format!("{key} is no number: {text}"))
}

/// Counters that are exact because the emulator counts instructions.
pub(super) fn counters(seen: &Seen) -> Result<(), String> {
    for probe in ["syscall/getppid", "call/direct"] {
        let mut instructions = Vec::new();
        for mode in ["user", "kernel", "both"] {
            let key = format!("{probe} {mode} instructions");
            let boots = told(seen, &key)?;
            must(
                boots.iter().all(|told| *told == boots[0]),
                format!("{key} differ between boots: {boots:?}"),
            )?;
            instructions.push(number(seen, &key)?);
            let cycles = number(seen, &format!("{probe} {mode} cycles"))?;
            let counted = instructions[instructions.len() - 1];
            must(
                cycles == 2.0 * counted,
                format!("{probe}: {cycles} cycles in {mode} for {counted} instructions"),
            )?;
        }
        must(instructions[0] > 0.0, format!("{probe}: no instructions in user mode"))?;
    }
    let kernel = number(seen, "syscall/getppid kernel instructions")?;
    let call = number(seen, "call/direct kernel instructions")?;
    must(
        kernel > 20.0 * 1000.0 && call < kernel / 10.0,
        format!("in the kernel: getppid {kernel}, call {call}"),
    )?;
    // The instructions are real; the cycles are a simulation's, and so no figure.
    must(
        number(seen, "judged instructions:k")? > 20.0,
        "too few instructions in the kernel were judged good",
    )?;
    must(number(seen, "judged instructions:u")? > 1.0, "too few instructions of user mode were judged good")?;
    must(
        told(seen, "judged cycles:u")?[0].contains("exactly 2 cycles"),
        "cycles of a simulation were believed",
    )?;
    must(
        told(seen, "judged L1d-loads:u")?[0].contains("no such event"),
        "an event that is missing was counted",
    )?;
    // Six counters and that of cycles: the seventh other event does not fit (EINVAL).
    must(told(seen, "too large errno")?[0] == "22", "a group that is too large was not refused with EINVAL")?;
    must(told(seen, "took turns")?[0].contains("multiplexed"), "counters that take turns were believed")
}

/// Without exact time there is no event of instructions; cycles are counted all the same, and are not twice anything.
pub(super) fn event_missing(seen: &Seen) -> Result<(), String> {
    for mode in ["u", "k"] {
        let text = &told(seen, &format!("judged instructions:{mode}"))?[0];
        must(text.contains("no such event"), format!("instructions:{mode}: {text}"))?;
        must(number(seen, &format!("judged cycles:{mode}"))? > 1.0, format!("cycles:{mode} were lost"))?;
    }
    let text = &told(seen, "syscall/getppid user")?[0];
    must(text.contains("no such event"), format!("a group with a missing event was opened: {text}"))
}
