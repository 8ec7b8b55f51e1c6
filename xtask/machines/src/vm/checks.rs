//! Expectations that are more than a line of the table.

use super::output::CaseOutput;
use anyhow::{Context, Result, ensure};
use tollgate_record::{Host, Status, warning};

fn host(output: &CaseOutput) -> Result<&Host> {
    output.host.as_ref().context("doctor printed no host")
}

pub(super) fn one_cpu_built_in(output: &CaseOutput) -> Result<()> {
    let cpu = &host(output)?.cpu;
    ensure!(cpu.online == [0] && cpu.present == [0], "online {:?}, present {:?}", cpu.online, cpu.present);
    Ok(())
}

pub(super) fn the_other_cpu_can_be_switched_on(output: &CaseOutput) -> Result<()> {
    let cpu = &host(output)?.cpu;
    ensure!(cpu.online == [0] && cpu.present == [0, 1], "online {:?}, present {:?}", cpu.online, cpu.present);
    let finding = output.findings.iter().find(|finding| finding.code == "one-cpu");
    let fix = finding.and_then(|finding| finding.fix.as_deref()).unwrap_or_default();
    ensure!(fix.contains("cpu1/online"), "doctor suggests {fix:?}");
    Ok(())
}

/// What the kernel reports, and whether the flag says that isolation is on. The flag decides.
pub(super) fn meltdown(output: &CaseOutput, report: &str, on: bool) -> Result<()> {
    let host = host(output)?;
    let reported = host.kernel.mitigations.get("meltdown").map(String::as_str).unwrap_or_default();
    ensure!(reported == report, "the kernel reports {reported:?}, not {report:?}");
    let flag = host.cpu.flags.iter().any(|flag| flag == "pti");
    ensure!(flag == on, "the flag pti is {flag}, not {on}");
    Ok(())
}

/// The bare guest under KVM on an emulated processor: it behaves as the manuals say, and its figures are marked as
/// emulated.
pub(super) fn kvm(output: &CaseOutput, nested: bool) -> Result<()> {
    let parameter =
        output.texts.first().and_then(|texts| texts.get("load")).map(|text| text.trim().to_owned());
    let wanted = if nested { "Y" } else { "N" };
    ensure!(parameter.as_deref() == Some(wanted), "nested paging is {parameter:?}, not {wanted}");
    let total = |name: &str| -> Result<f64> {
        let row = output.row(&format!("hardware/{name}"), "kvm-amd")?;
        ensure!(row.status == Status::Measured, "{} was not measured: {:?}", row.probe, row.reason);
        ensure!(row.has_warning(warning::EMULATED), "{} is not marked as emulated", row.probe);
        let ticks = row.ticks.with_context(|| format!("{} has no ticks", row.probe))?;
        Ok(ticks.estimate / TICKS_PER_INSTRUCTION)
    };
    // SYSCALL and SYSRET, INT and IRETQ: the crossing is these two instructions.
    for name in ["syscall", "interrupt"] {
        let instructions = total(name)?;
        ensure!(instructions == 2.0, "{name} took {instructions} instructions, not 2");
    }
    // An exit runs hundreds of instructions of the kernel: fewer mean that the guest was not left.
    let exit = total("exit-cpuid")?;
    ensure!(exit > 500.0, "an exit took {exit} instructions");
    ensure!(total("exit-port")? > exit, "an exit to the monitor took less than one to the kernel");
    // A note in an eventfd is made in the kernel; to answer one, a thread of the monitor wakes up.
    let doorbell = total("exit-ioeventfd")?;
    ensure!(
        doorbell > exit / 2.0 && doorbell < total("exit-port")?,
        "a doorbell took {doorbell} instructions"
    );
    ensure!(total("irqfd-wake")? > doorbell, "an answer took less than its doorbell");
    // On AMD, KVM always intercepts undefined instructions.
    ensure!(total("undefined")? > exit / 2.0, "an undefined instruction did not leave the guest");
    for name in ["page-fault", "cr3"] {
        let instructions = total(name)?;
        let left = instructions > exit / 2.0;
        ensure!(left != nested, "{name} took {instructions} instructions, an exit {exit}");
    }
    total("iretq").and(total("invlpg")).map(drop)
}

/// The cases set four nanoseconds for each instruction, and the time-stamp counter ticks once in each nanosecond.
const TICKS_PER_INSTRUCTION: f64 = 4.0;

pub(super) fn no_kvm(output: &CaseOutput) -> Result<()> {
    let row = output.row("hardware/syscall", "kvm")?;
    let reason = row.reason.as_deref().unwrap_or_default();
    ensure!(row.status == Status::Skipped && reason.contains("/dev/kvm"), "{:?}: {reason}", row.status);
    Ok(())
}

/// What the test of the counters printed for this key, in each boot.
fn printed(output: &CaseOutput, key: &str) -> Result<Vec<String>> {
    let lines = output.texts.iter().map(|texts| texts.get("counted").map(String::as_str).unwrap_or_default());
    let found: Vec<String> = lines
        .filter_map(|text| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')))
        .map(str::to_owned)
        .collect();
    ensure!(found.len() == output.texts.len(), "nothing was printed for {key}");
    Ok(found)
}

fn number(output: &CaseOutput, key: &str) -> Result<f64> {
    let text = &printed(output, key)?[0];
    text.parse().with_context(|| format!("{key} is not a number: {text}"))
}

/// Counters that are exact because the emulator counts instructions.
pub(super) fn counters(output: &CaseOutput) -> Result<()> {
    for probe in ["syscall/getppid", "call/direct"] {
        let mut instructions = Vec::new();
        for mode in ["user", "kernel", "both"] {
            let key = format!("{probe} {mode} instructions");
            let boots = printed(output, &key)?;
            ensure!(boots.iter().all(|boot| *boot == boots[0]), "{key} differ between boots: {boots:?}");
            instructions.push(number(output, &key)?);
            let cycles = number(output, &format!("{probe} {mode} cycles"))?;
            let counted = instructions[instructions.len() - 1];
            ensure!(cycles == 2.0 * counted, "{probe}: {cycles} cycles in {mode} for {counted} instructions");
        }
        ensure!(instructions[0] > 0.0, "{probe}: no instructions in user mode");
    }
    let kernel = number(output, "syscall/getppid kernel instructions")?;
    let call = number(output, "call/direct kernel instructions")?;
    ensure!(kernel > 20.0 * 1000.0 && call < kernel / 10.0, "in the kernel: getppid {kernel}, call {call}");
    // The instructions were executed; the cycles are simulated, and must not be reported as figures.
    ensure!(
        number(output, "judged instructions:k")? > 20.0,
        "too few instructions in the kernel were judged good"
    );
    ensure!(
        number(output, "judged instructions:u")? > 1.0,
        "too few instructions of user mode were judged good"
    );
    ensure!(
        printed(output, "judged cycles:u")?[0].contains("exactly 2 cycles"),
        "cycles of a simulation were accepted"
    );
    ensure!(
        printed(output, "judged L1d-loads:u")?[0].contains("no such event"),
        "an event that does not exist was counted"
    );
    // There are six counters and one of cycles: a seventh other event is refused (EINVAL).
    ensure!(
        printed(output, "too large errno")?[0] == "22",
        "a group that is too large was not refused with EINVAL"
    );
    ensure!(
        printed(output, "took turns")?[0].contains("multiplexed"),
        "counters that take turns were accepted"
    );
    Ok(())
}

/// Without exact time there is no event for instructions, but one for cycles.
pub(super) fn event_missing(output: &CaseOutput) -> Result<()> {
    for mode in ["u", "k"] {
        let text = &printed(output, &format!("judged instructions:{mode}"))?[0];
        ensure!(text.contains("no such event"), "instructions:{mode}: {text}");
        ensure!(number(output, &format!("judged cycles:{mode}"))? > 1.0, "cycles:{mode} were not counted");
    }
    let text = &printed(output, "syscall/getppid user")?[0];
    ensure!(text.contains("no such event"), "a group with a missing event was opened: {text}");
    Ok(())
}
