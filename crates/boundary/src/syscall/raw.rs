//! A system call without a wrapper. The result is the kernel's: a negative error number if it refuses.

pub(crate) use machine::{call0, call2, call3};

/// Functions that make a system call by `$instruction`, each with the operands of so many arguments. The kernel does not
/// use our stack; what else it changes is among the operands.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
macro_rules! calls {
    ($instruction:literal, $number:ident => $result:ident:
        $($name:ident($($argument:ident),*) [$($operands:tt)*])+
    ) => {$(
        /// The system call with this number and these arguments.
        ///
        /// # Safety
        /// As for the call itself.
        #[inline(always)]
        pub(crate) unsafe fn $name($number: libc::c_long $(, $argument: usize)*) -> isize {
            let $result;
            // SAFETY: every register that the kernel changes is an operand. The caller answers for what the call does.
            unsafe { std::arch::asm!($instruction, $($operands)*, options(nostack)) };
            $result
        }
    )+};
}

/// SYSCALL puts the return address into rcx and the flags into r11 (Intel SDM volume 2B, "SYSCALL"); the kernel keeps all
/// else but rax (System V ABI, x86-64 supplement, A.2.1).
///
/// The instruction has a cache line of its own. Otherwise the branches that follow it change what the call costs: on an AMD
/// EPYC of family 25, model 17, the same `clock_gettime` takes 440 or 606 ticks of 2.6 GHz, which depends on the shape of
/// the loop around it and not on the call (METHOD.md, "The parts of a crossing").
#[cfg(target_arch = "x86_64")]
mod machine {
    calls! { ".p2align 6\nsyscall\n.p2align 6", number => result:
        call0() [inlateout("rax") number as isize => result, lateout("rcx") _, lateout("r11") _]
        call2(a, b) [inlateout("rax") number as isize => result, in("rdi") a, in("rsi") b,
            lateout("rcx") _, lateout("r11") _]
        call3(a, b, c) [inlateout("rax") number as isize => result, in("rdi") a, in("rsi") b, in("rdx") c,
            lateout("rcx") _, lateout("r11") _]
    }
}

/// The kernel gives the result in x0 and keeps all other registers but the flags (Linux, Documentation/arch/arm64;
/// syscall(2)).
#[cfg(target_arch = "aarch64")]
mod machine {
    calls! { "svc #0", number => result:
        call0() [in("x8") number, lateout("x0") result]
        call2(a, b) [in("x8") number, inlateout("x0") a => result, in("x1") b]
        call3(a, b, c) [in("x8") number, inlateout("x0") a => result, in("x1") b, in("x2") c]
    }
}

/// The kernel gives the result in a0 and keeps all other registers (RISC-V psABI and syscall(2)).
#[cfg(target_arch = "riscv64")]
mod machine {
    calls! { "ecall", number => result:
        call0() [in("a7") number, lateout("a0") result]
        call2(a, b) [in("a7") number, inlateout("a0") a => result, in("a1") b]
        call3(a, b, c) [in("a7") number, inlateout("a0") a => result, in("a1") b, in("a2") c]
    }
}

/// Through the C library, whose handling of `errno` is then part of the figure.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
mod machine {
    /// The kernel's result from the C library's.
    #[inline(always)]
    fn plain(result: libc::c_long) -> isize {
        if result == -1 {
            let error = std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL);
            return -(error as isize);
        }
        result as isize
    }

    /// No arguments.
    ///
    /// # Safety
    /// As for the call itself.
    #[inline(always)]
    pub(crate) unsafe fn call0(number: libc::c_long) -> isize {
        // SAFETY: the caller's promise.
        plain(unsafe { libc::syscall(number) })
    }

    /// Two arguments.
    ///
    /// # Safety
    /// As for the call itself.
    #[inline(always)]
    pub(crate) unsafe fn call2(number: libc::c_long, a: usize, b: usize) -> isize {
        // SAFETY: the caller's promise.
        plain(unsafe { libc::syscall(number, a, b) })
    }

    /// Three arguments.
    ///
    /// # Safety
    /// As for the call itself.
    #[inline(always)]
    pub(crate) unsafe fn call3(number: libc::c_long, a: usize, b: usize, c: usize) -> isize {
        // SAFETY: the caller's promise.
        plain(unsafe { libc::syscall(number, a, b, c) })
    }
}

#[cfg(test)]
mod tests {
    use super::{call0, call2, call3};

    #[test]
    fn results_are_the_kernels_own() {
        let mut byte = 7u8;
        // SAFETY: a resolution of zeros is one.
        let mut resolution: libc::timespec = unsafe { std::mem::zeroed() };
        let place = (&raw mut resolution).expose_provenance();
        let no_clock = usize::from(u8::MAX);
        // Each call takes just these arguments: a register that we do not set holds anything.
        // SAFETY: the places are ours and large enough, the clock and the descriptor plainly invalid.
        unsafe {
            assert_eq!(call0(libc::SYS_getpid), std::process::id() as isize);
            assert_eq!(call2(libc::SYS_clock_getres, no_clock, place), -(libc::EINVAL as isize));
            assert_eq!((resolution.tv_sec, resolution.tv_nsec), (0, 0));
            assert_eq!(call2(libc::SYS_clock_getres, libc::CLOCK_MONOTONIC as usize, place), 0);
            assert_eq!(call3(libc::SYS_read, usize::MAX, (&raw mut byte).addr(), 1), -(libc::EBADF as isize));
        }
        assert!(resolution.tv_nsec > 0, "{resolution:?}");
        assert_eq!(byte, 7);
    }
}
