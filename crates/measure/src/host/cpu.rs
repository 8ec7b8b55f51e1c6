//! The processor: what it calls itself, its topology, and the flags that matter to a crossing.

use super::arm;
use super::files::{Files, value};
use tollgate_record::Host;
use tollgate_record::host::Cpu;

/// Flags that change what a crossing costs, or whether a clock can be trusted, by subject.
const FLAGS: &[&str] = &[
    // Address space switches: isolation, tagged TLBs, and how they are flushed.
    "pti pcid invpcid invlpgb la57 asids",
    // Entry and exit.
    "fred fsgsbase smap syscall sysenter user_shstk",
    // Speculation control at each entry.
    "ibrs ibrs_enhanced stibp ibpb ssbd ssbs csv2 csv3 sb rsb_ctxsw",
    // Saved state.
    "xsaveopt xsavec xsaves sve sme paca",
    // Clock.
    "constant_tsc nonstop_tsc tsc_reliable tsc_known_freq ecv",
    // Where it runs.
    "hypervisor",
];

/// The topology of all CPUs.
pub(super) fn read(files: &Files, host: &mut Host) {
    let info = files.text("proc/cpuinfo").unwrap_or_default();
    let cpu = &mut host.cpu;
    cpu.online = files.cpus("sys/devices/system/cpu/online");
    if cpu.online.is_empty() {
        cpu.online = blocks(&info).filter_map(|block| value(block, "processor")?.parse().ok()).collect();
    }
    cpu.present = files.cpus("sys/devices/system/cpu/present");
    cpu.isolated = files.cpus("sys/devices/system/cpu/isolated");
    cpu.tickless = files.cpus("sys/devices/system/cpu/nohz_full");
    cpu.cores = groups(files, &cpu.online, &["core_cpus_list", "thread_siblings_list"]);
    cpu.packages = groups(files, &cpu.online, &["package_cpus_list", "core_siblings_list"]);
    cpu.smt = if cpu.cores.is_empty() {
        files.switch("sys/devices/system/cpu/smt/active")
    } else {
        Some(cpu.cores.iter().any(|core| core.len() > 1))
    };
    host.arch = architecture(files);
    host.clock.invariant = match host.arch.as_str() {
        "x86_64" => flags_line(&info).map(|flags| {
            let has = |flag| flags.split_ascii_whitespace().any(|word| word == flag);
            has("constant_tsc") && has("nonstop_tsc")
        }),
        // The architecture demands it of the generic timer, and of the RISC-V `time` counter.
        "aarch64" | "riscv64" => Some(true),
        _ => None,
    };
}

/// The architecture of the kernel.
pub(super) fn architecture(files: &Files) -> String {
    let by_shape = || arch_of(&files.text("proc/cpuinfo")?).map(str::to_owned);
    files.word("proc/sys/kernel/arch").or_else(by_shape).unwrap_or_default()
}

/// The model of one CPU; CPUs of one machine may differ.
pub(super) fn identify(files: &Files, cpu: &mut Cpu, number: usize) {
    let Some(info) = files.text("proc/cpuinfo") else { return };
    let own = blocks(&info)
        .find(|block| value(block, "processor").and_then(|text| text.parse().ok()) == Some(number))
        .or_else(|| blocks(&info).next())
        .unwrap_or(&info);
    let get = |key| value(own, key).filter(|text| !text.is_empty());
    let decimal = |key| get(key).and_then(|text| text.parse::<u32>().ok());

    let matters = |flag: &&str| FLAGS.iter().flat_map(|group| group.split(' ')).any(|known| known == *flag);
    let flags = flags_line(own).unwrap_or_default().split_ascii_whitespace();
    cpu.flags = flags.filter(matters).map(str::to_owned).collect();
    cpu.microcode = get("microcode").map(str::to_owned);
    cpu.family_model_stepping = decimal("cpu family")
        .zip(decimal("model"))
        .zip(decimal("stepping"))
        .map(|((family, model), stepping)| [family, model, stepping]);
    cpu.isa = get("hart isa").or_else(|| get("isa")).map(str::to_owned);
    if let (Some(implementer), Some(part)) = (get("CPU implementer"), get("CPU part")) {
        cpu.vendor = implementer.to_owned();
        cpu.part = Some(format!("{implementer}/{part}"));
        let name =
            arm::name(implementer, part).map_or_else(|| format!("Arm {implementer}/{part}"), str::to_owned);
        let revision = get("CPU variant")
            .and_then(|text| u32::from_str_radix(text.trim_start_matches("0x"), 16).ok())
            .zip(decimal("CPU revision"))
            .map(|(variant, revision)| format!(" r{variant}p{revision}"))
            .unwrap_or_default();
        cpu.model = name + &revision;
    } else {
        cpu.vendor = get("vendor_id").or_else(|| get("mvendorid")).unwrap_or_default().to_owned();
        if let (Some(vendor), Some(architecture)) = (get("mvendorid"), get("marchid")) {
            cpu.part = Some(format!("{vendor}/{architecture}"));
        }
        // `cpu` is the line of POWER, `uarch` that of RISC-V.
        cpu.model = ["model name", "Model Name", "uarch", "cpu model", "cpu"]
            .into_iter()
            .find_map(get)
            .unwrap_or_default()
            .to_owned();
    }
}

/// One block for each CPU; a block without a `processor` line (the board's, on Arm) is left out.
fn blocks(info: &str) -> impl Iterator<Item = &str> {
    info.split("\n\n").filter(|block| value(block, "processor").is_some())
}

fn flags_line(info: &str) -> Option<&str> {
    value(info, "flags").or_else(|| value(info, "Features"))
}

/// The architecture by the shape of its cpuinfo, for kernels before 6.1 that have no file for it.
fn arch_of(info: &str) -> Option<&'static str> {
    if value(info, "CPU implementer").is_some() {
        // 32-bit kernels name the same fields; only 64-bit ones list `asimd` rather than `neon`.
        let wide = flags_line(info).is_none_or(|flags| !flags.split_ascii_whitespace().any(|f| f == "neon"));
        return Some(if wide { "aarch64" } else { "arm" });
    }
    if let Some(isa) = value(info, "isa").or_else(|| value(info, "hart isa")) {
        return Some(if isa.starts_with("rv32") { "riscv32" } else { "riscv64" });
    }
    let flags = flags_line(info)?;
    value(info, "vendor_id")?;
    Some(if flags.split_ascii_whitespace().any(|flag| flag == "lm") { "x86_64" } else { "x86" })
}

/// CPUs in the groups that a topology file names; empty when no CPU has such a file.
fn groups(files: &Files, cpus: &[usize], names: &[&str]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for &cpu in cpus {
        if groups.iter().any(|group| group.contains(&cpu)) {
            continue;
        }
        let mut group = names
            .iter()
            .map(|name| files.cpus(&format!("sys/devices/system/cpu/cpu{cpu}/topology/{name}")))
            .find(|group| group.contains(&cpu))
            .unwrap_or_default();
        group.retain(|member| cpus.contains(member));
        if !group.is_empty() {
            groups.push(group);
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shape_of_cpuinfo_names_the_architecture() {
        assert_eq!(arch_of("processor : 0\nvendor_id : GenuineIntel\nflags : fpu lm\n"), Some("x86_64"));
        assert_eq!(arch_of("processor : 0\nvendor_id : GenuineIntel\nflags : fpu\n"), Some("x86"));
        assert_eq!(arch_of("Features : fp asimd\nCPU implementer : 0x41\n"), Some("aarch64"));
        assert_eq!(arch_of("Features : half neon\nCPU implementer : 0x41\n"), Some("arm"));
        assert_eq!(arch_of("processor : 0\nhart : 0\nisa : rv64imafdc\n"), Some("riscv64"));
        assert_eq!(arch_of(""), None);
    }
}
