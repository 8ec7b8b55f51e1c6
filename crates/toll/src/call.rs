//! System calls by number: each way into the kernel has its own table of numbers.

/// Which table of numbers a call uses. A 64-bit program can use each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Abi {
    Native,
    /// The 32-bit architecture that this one contains: i386, or Arm's EABI.
    Compat,
    /// That of x86-64 with short pointers.
    X32,
}

/// A system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Call {
    abi: Abi,
    number: u64,
}

/// This bit of a number says x32 (`__X32_SYSCALL_BIT` of asm/unistd.h).
const X32_BIT: u64 = 0x4000_0000;

/// Elements of `calls` in guests/bpf/toll.c.
const NATIVE: usize = 1024;
const COMPAT: usize = 512;
const X32: usize = 576;
/// All of them, with the last for other numbers.
pub(crate) const ELEMENTS: usize = NATIVE + COMPAT + X32 + 1;

/// The numbers that x32 alone has, from 512 on (asm/unistd_x32.h). The others are those of x86-64.
const X32_FIRST: u64 = 512;
const X32_NAMES: [&str; 36] = [
    "rt_sigaction",
    "rt_sigreturn",
    "ioctl",
    "readv",
    "writev",
    "recvfrom",
    "sendmsg",
    "recvmsg",
    "execve",
    "ptrace",
    "rt_sigpending",
    "rt_sigtimedwait",
    "rt_sigqueueinfo",
    "sigaltstack",
    "timer_create",
    "mq_notify",
    "kexec_load",
    "waitid",
    "set_robust_list",
    "get_robust_list",
    "vmsplice",
    "move_pages",
    "preadv",
    "pwritev",
    "rt_tgsigqueueinfo",
    "recvmmsg",
    "sendmmsg",
    "process_vm_readv",
    "process_vm_writev",
    "setsockopt",
    "getsockopt",
    "io_setup",
    "io_submit",
    "execveat",
    "preadv2",
    "pwritev2",
];

#[cfg(target_arch = "x86_64")]
const COMPAT_NAME: &str = "i386";
#[cfg(not(target_arch = "x86_64"))]
const COMPAT_NAME: &str = "arm";

#[cfg(target_arch = "x86_64")]
fn compat(number: usize) -> Option<&'static str> {
    syscalls::x86::Sysno::new(number).map(|call| call.name())
}

#[cfg(target_arch = "aarch64")]
fn compat(number: usize) -> Option<&'static str> {
    syscalls::arm::Sysno::new(number).map(|call| call.name())
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn compat(_: usize) -> Option<&'static str> {
    None
}

impl Call {
    /// A call with this number, by the 32-bit ABI or not.
    pub(crate) fn new(number: u64, is_compat: bool) -> Self {
        let is_x32 = cfg!(target_arch = "x86_64") && number & !(X32_BIT - 1) == X32_BIT;
        match (is_compat, is_x32) {
            (true, _) => Self { abi: Abi::Compat, number },
            (false, true) => Self { abi: Abi::X32, number: number ^ X32_BIT },
            (false, false) => Self { abi: Abi::Native, number },
        }
    }

    pub(crate) fn native(number: libc::c_long) -> Self {
        Self { abi: Abi::Native, number: number as u64 }
    }

    /// That of an element of `calls` in the BPF programs; `None` for the last one.
    pub(crate) fn of_element(element: usize) -> Option<Self> {
        let call = |abi, number: usize| Some(Self { abi, number: number as u64 });
        match element {
            0..NATIVE => call(Abi::Native, element),
            _ if element < NATIVE + COMPAT => call(Abi::Compat, element - NATIVE),
            _ if element + 1 < ELEMENTS => call(Abi::X32, element - NATIVE - COMPAT),
            _ => None,
        }
    }

    /// `getppid`, or `getppid (i386)`; a number that no table here has stays a number.
    pub(crate) fn name(self) -> String {
        let known = usize::try_from(self.number).ok().and_then(|number| match self.abi {
            Abi::Native => syscalls::Sysno::new(number).map(|call| call.name()),
            Abi::Compat => compat(number),
            Abi::X32 if self.number >= X32_FIRST => X32_NAMES.get(number - X32_FIRST as usize).copied(),
            Abi::X32 => syscalls::Sysno::new(number).map(|call| call.name()),
        });
        // Names that are words of Rust, too, are marked so.
        let plain = |name: &str| name.trim_start_matches("r#").to_owned();
        let name = known.map_or_else(|| format!("call {}", self.number as i64), plain);
        match self.abi {
            Abi::Native => name,
            Abi::Compat => format!("{name} ({COMPAT_NAME})"),
            Abi::X32 => format!("{name} (x32)"),
        }
    }

    /// Whether it moves as many bytes as its third argument says.
    pub(crate) fn moves(self) -> bool {
        ["read", "write"].contains(&plain(&self.name()))
    }
}

/// The name of a call without its ABI.
pub(crate) fn plain(name: &str) -> &str {
    name.split_once(" (").map_or(name, |(name, _)| name)
}

/// Whether a call is by the ABI of i386, whose way into the kernel is another one.
pub(crate) fn is_i386(name: &str) -> bool {
    name.ends_with(" (i386)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Names and numbers of a header of the kernel, without the x32 bit.
    fn header(name: &str) -> Option<Vec<(u64, String)>> {
        let text = ["/usr/include/x86_64-linux-gnu/asm", "/usr/include/asm"]
            .iter()
            .find_map(|folder| fs::read_to_string(format!("{folder}/{name}")).ok())?;
        let line = |line: &str| {
            let (name, number) = line.strip_prefix("#define __NR_")?.split_once(' ')?;
            let number = number.trim_start_matches("(__X32_SYSCALL_BIT + ").trim_end_matches(')');
            Some((number.parse().ok()?, name.to_owned()))
        };
        Some(text.lines().filter_map(line).collect())
    }

    #[test]
    fn names_are_those_of_the_headers_of_the_kernel() {
        if !cfg!(target_arch = "x86_64") {
            return tollgate_testkit::skip!("the headers of x86 are not used on this architecture");
        }
        for (file, bit, is_compat, suffix) in [
            ("unistd_64.h", 0, false, ""),
            ("unistd_32.h", 0, true, " (i386)"),
            ("unistd_x32.h", X32_BIT, false, " (x32)"),
        ] {
            let Some(calls) = header(file) else {
                tollgate_testkit::skip_case!(file, "the header is missing: apt-get install linux-libc-dev");
                continue;
            };
            assert!(calls.len() > 300, "{file}: {}", calls.len());
            for (number, name) in calls {
                let call = Call::new(number | bit, is_compat);
                assert_eq!(call.name(), format!("{name}{suffix}"), "{file}: {number}");
                assert_eq!((plain(&call.name()), is_i386(&call.name())), (name.as_str(), is_compat));
            }
        }
    }

    #[test]
    fn elements_of_the_programs_are_calls() {
        let name = |element| Call::of_element(element).map(Call::name);
        assert_eq!(name(999).as_deref(), Some("call 999"));
        assert_eq!(name(ELEMENTS - 1), None);
        if cfg!(target_arch = "x86_64") {
            assert_eq!(name(NATIVE + 64).as_deref(), Some("getppid (i386)"));
            assert_eq!(name(NATIVE + COMPAT + 110).as_deref(), Some("getppid (x32)"));
            assert_eq!(name(NATIVE + COMPAT + 513).as_deref(), Some("rt_sigreturn (x32)"));
        }
    }

    #[test]
    fn a_number_that_no_table_has_stays_a_number() {
        assert_eq!(Call::new(-1_i64 as u64, false).name(), "call -1");
        assert_eq!(Call::new(9_999, false).name(), "call 9999");
    }
}
