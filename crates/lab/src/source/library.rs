//! Our C library for bare programs: `guests/riscv/libc`.

use tollgate_riscv::Isa;

/// Where a program with the library begins.
pub(super) const ENTRY: &str = "_start";

macro_rules! files {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../guests/riscv/libc/", $name)))),*]
    };
}

/// The start-up code and the functions, for C.
pub(super) const UNITS: &[(&str, &str)] = files!["start.S" "exit.S" "libc.c"];

/// The functions alone, for C with start-up code of its own.
pub(super) const FUNCTIONS: &[(&str, &str)] = files!["exit.S" "libc.c"];

/// The functions for assembly, which sets itself up, as a compiler wrote them down for any instruction set of this width.
pub(super) fn for_assembly(isa: Isa) -> [(&'static str, &'static str); 2] {
    const WIDE: &str = include_str!("../../guests/riscv/images/libc-rv64.s");
    const NARROW: &str = include_str!("../../guests/riscv/images/libc-rv32.s");
    [FUNCTIONS[0], ("libc.s", if isa.is_rv64() { WIDE } else { NARROW })]
}

/// What programs include. The headers about types and limits are the compiler's.
pub(super) const HEADERS: &[(&str, &str)] = files![
    "tollgate.h" "riscv.h" "assert.h" "inttypes.h" "stdio.h" "stdlib.h" "string.h" "unistd.h" "sys/syscall.h"
];
