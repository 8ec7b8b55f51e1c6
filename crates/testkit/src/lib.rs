//! Helpers for tests and developer commands: programs and a browser, skips with a reason, and recorded files.
//!
//! A test that cannot run here prints the reason and returns. libtest counts it as passed, so the skip is also written to a
//! file, which `cargo xtask test` reads, counts and lists:
//!
//! ```no_run
//! fn agrees_with_qemu() {
//!     let Some(qemu) = tollgate_testkit::program("qemu-riscv64") else {
//!         return tollgate_testkit::skip!("qemu-riscv64 is missing: apt-get install qemu-user");
//!     };
//!     assert!(qemu.is_absolute());
//! }
//! ```

mod allocations;
mod browser;
pub mod cache;
mod programs;
mod recorded;
mod skips;
pub mod workspace;

pub use allocations::{Allocated, Counting};
pub use browser::Browser;
pub use programs::{Missing, all, fast, need, printed, program, program_in};
pub use recorded::{BLESS, Recorded};
pub use skips::{SKIPS, Skip, skipped};

/// Skips the test that calls it: `return skip!("why: what would enable it")`. The arguments are those of `format!`.
#[macro_export]
macro_rules! skip {
    ($($reason:tt)+) => {{
        fn here() {}
        $crate::skipped(std::any::type_name_of_val(&here), None, &format!($($reason)+))
    }};
}

/// Skips one case of a test that continues with the others: `skip_case!("tmpfs", "not root")`.
#[macro_export]
macro_rules! skip_case {
    ($case:expr, $($reason:tt)+) => {{
        fn here() {}
        let case: &str = $case;
        $crate::skipped(std::any::type_name_of_val(&here), Some(case), &format!($($reason)+))
    }};
}
