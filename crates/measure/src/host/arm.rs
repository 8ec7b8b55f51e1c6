//! The names of Arm cores, which the kernel prints as numbers only.

/// Implementer, part, name: from the "Main ID Register" page of each core's manual. Cores of Linux
/// servers, boards, phones and laptops.
const CORES: &[(&str, &str, &str)] = &[
    ("0x41", "0xd03", "Cortex-A53"),
    ("0x41", "0xd04", "Cortex-A35"),
    ("0x41", "0xd05", "Cortex-A55"),
    ("0x41", "0xd07", "Cortex-A57"),
    ("0x41", "0xd08", "Cortex-A72"),
    ("0x41", "0xd09", "Cortex-A73"),
    ("0x41", "0xd0a", "Cortex-A75"),
    ("0x41", "0xd0b", "Cortex-A76"),
    ("0x41", "0xd0c", "Neoverse-N1"),
    ("0x41", "0xd0d", "Cortex-A77"),
    ("0x41", "0xd40", "Neoverse-V1"),
    ("0x41", "0xd41", "Cortex-A78"),
    ("0x41", "0xd44", "Cortex-X1"),
    ("0x41", "0xd46", "Cortex-A510"),
    ("0x41", "0xd47", "Cortex-A710"),
    ("0x41", "0xd48", "Cortex-X2"),
    ("0x41", "0xd49", "Neoverse-N2"),
    ("0x41", "0xd4a", "Neoverse-E1"),
    ("0x41", "0xd4b", "Cortex-A78C"),
    ("0x41", "0xd4d", "Cortex-A715"),
    ("0x41", "0xd4e", "Cortex-X3"),
    ("0x41", "0xd4f", "Neoverse-V2"),
    ("0x41", "0xd80", "Cortex-A520"),
    ("0x41", "0xd81", "Cortex-A720"),
    ("0x41", "0xd82", "Cortex-X4"),
    ("0x41", "0xd84", "Neoverse-V3"),
    ("0x41", "0xd8e", "Neoverse-N3"),
    ("0x43", "0x0af", "ThunderX2"),
    ("0x46", "0x001", "A64FX"),
    ("0x48", "0xd01", "Kunpeng-920"),
    ("0x51", "0x001", "Oryon"),
    ("0xc0", "0xac3", "Ampere-1"),
    ("0xc0", "0xac4", "Ampere-1A"),
];

/// The name of a core by its implementer and part numbers as the kernel prints them.
pub(super) fn name(implementer: &str, part: &str) -> Option<&'static str> {
    CORES.iter().find(|(maker, number, _)| *maker == implementer && *number == part).map(|(_, _, name)| *name)
}
