//! The architectures of the guests, with the names that Debian, tollgate, QEMU and Linux use.

/// The architecture of a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Arch {
    Amd64,
    Arm64,
}

impl Arch {
    /// Debian's name.
    pub(super) fn debian(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    /// tollgate's name: `std::env::consts::ARCH`.
    pub(super) fn ours(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64",
            Self::Arm64 => "aarch64",
        }
    }

    /// The program that emulates it.
    pub(super) fn emulator(self) -> &'static str {
        match self {
            Self::Amd64 => "qemu-system-x86_64",
            Self::Arm64 => "qemu-system-aarch64",
        }
    }

    /// The package of that program.
    pub(super) fn package(self) -> &'static str {
        match self {
            Self::Amd64 => "qemu-system-x86",
            Self::Arm64 => "qemu-system-arm",
        }
    }

    /// Linux's name of the serial port.
    pub(super) fn console(self) -> &'static str {
        match self {
            Self::Amd64 => "ttyS0",
            Self::Arm64 => "ttyAMA0",
        }
    }

    /// The board that is emulated, without random numbers in its device tree.
    pub(super) fn board(self) -> &'static str {
        match self {
            Self::Amd64 => "q35",
            Self::Arm64 => "virt,dtb-randomness=off",
        }
    }
}
