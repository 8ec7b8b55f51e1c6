//! The architectures of the guests, with the names that Debian, tollgate, QEMU and Linux use.

/// The architecture of a guest.
#[derive(Debug)]
pub(super) struct Arch {
    /// Debian's name.
    pub(super) debian: &'static str,
    /// tollgate's name: `std::env::consts::ARCH`.
    pub(super) ours: &'static str,
    /// The program that emulates it, and its package.
    pub(super) emulator: &'static str,
    pub(super) package: &'static str,
    /// Linux's name of the serial port.
    pub(super) console: &'static str,
    /// The board that is emulated, without random numbers in its device tree.
    pub(super) board: &'static str,
    /// Whether the emulator has hardware counters.
    pub(super) has_counters: bool,
}

pub(super) static AMD64: Arch = Arch {
    debian: "amd64",
    ours: "x86_64",
    emulator: "qemu-system-x86_64",
    package: "qemu-system-x86",
    console: "ttyS0",
    board: "q35",
    has_counters: false,
};

pub(super) static ARM64: Arch = Arch {
    debian: "arm64",
    ours: "aarch64",
    emulator: "qemu-system-aarch64",
    package: "qemu-system-arm",
    console: "ttyAMA0",
    board: "virt,dtb-randomness=off",
    has_counters: true,
};
