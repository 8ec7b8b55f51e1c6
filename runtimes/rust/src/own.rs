//! Our own stack switch, inlined: the compiler saves its live registers, so that the switch saves only the two registers that
//! cannot be declared clobbered, and the address to continue at.
//!
//! Four forms: by a jump or by a return (which the processor mispredicts, because it expects a return to the stack just left),
//! each with and without the control registers of the floating-point unit. Each architecture has its own file.

#[cfg(target_arch = "aarch64")]
#[path = "own/aarch64.rs"]
mod machine;
#[cfg(target_arch = "riscv64")]
#[path = "own/riscv64.rs"]
mod machine;
#[cfg(target_arch = "x86_64")]
#[path = "own/x86_64.rs"]
mod machine;

use crate::protocol::{Counts, Course, Params, Stamps, resident, singles, skip};
use machine::{CONTROL, enter, jmp, jmp_fp, ret, ret_fp, words};
use std::ptr;

/// Bytes of the mapping for a task's stack.
const STACK: usize = 64 << 10;

/// A task, at the top of its own stack.
#[repr(C)]
pub struct Task {
    pointer: *mut u8,
    next: *mut Task,
    resumes: u64,
    stamps: *mut Stamps,
}

/// The four forms, as constants for generic code.
const JMP: u8 = 0;
const RET: u8 = 1;
const JMP_FP: u8 = 2;
const RET_FP: u8 = 3;

/// # Safety
/// As for the forms.
#[inline(always)]
unsafe fn switch<const FORM: u8>(from: *mut Task, to: *mut Task) {
    // SAFETY: the caller's promise.
    unsafe {
        match FORM {
            JMP => jmp(from, to),
            RET => ret(from, to),
            JMP_FP => jmp_fp(from, to),
            _ => ret_fp(from, to),
        }
    }
}

/// A task: counts and switches to the next one in an endless loop. It owns nothing, so its stack may be unmapped.
unsafe extern "C" fn body<const FORM: u8, const STAMP: bool>(task: *mut Task) -> ! {
    loop {
        // SAFETY: the ring outlives all that runs on it, and one task runs at a time.
        unsafe {
            if STAMP {
                (*(*task).stamps).arrived();
            }
            (*task).resumes += 1;
            if STAMP {
                (*(*task).stamps).leaving();
            }
            switch::<FORM>(task, (*task).next);
        }
    }
}

/// A ring of tasks. The first one is the thread that created it.
struct Ring {
    first: Box<Task>,
    memory: *mut u8,
    tasks: usize,
}

impl Ring {
    fn new<const FORM: u8, const STAMP: bool>(tasks: usize, stamps: *mut Stamps) -> Self {
        let bytes = (tasks - 1) * STACK;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping, which nothing else uses.
        let memory =
            unsafe { libc::mmap(ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if memory == libc::MAP_FAILED {
            skip(&format!(
                "{tasks} stacks of {STACK} bytes cannot be mapped: {}",
                std::io::Error::last_os_error()
            ));
        }
        // A huge page would be shared by 32 tasks, and make all their memory resident.
        // SAFETY: advice on our own mapping.
        unsafe { libc::madvise(memory, bytes, libc::MADV_NOHUGEPAGE) };
        let mut first =
            Box::new(Task { pointer: ptr::null_mut(), next: ptr::null_mut(), resumes: 0, stamps });
        let memory = memory.cast::<u8>();
        let mut next: *mut Task = &mut *first;
        for at in (0..tasks - 1).rev() {
            // Tops at the same offset of every stack would all be in one set of the cache.
            let shift = 128 * (at % 16);
            // SAFETY: within the stack of this task.
            unsafe {
                let task = memory.add((at + 1) * STACK - 64 - shift).cast::<Task>();
                let code = body::<FORM, STAMP> as *const () as usize;
                let words = words(enter as *const () as usize, task.expose_provenance(), code);
                let frame = task.cast::<usize>().sub(8);
                frame.copy_from_nonoverlapping(words.as_ptr(), words.len());
                task.write(Task { pointer: frame.cast(), next, resumes: 0, stamps });
                next = task;
            }
        }
        first.next = next;
        Self { first, memory, tasks }
    }

    /// Each task runs once.
    #[inline(always)]
    fn round<const FORM: u8>(&mut self) {
        let first: *mut Task = &mut *self.first;
        // SAFETY: the next task does not run, and the last one comes back here.
        unsafe { switch::<FORM>(first, (*first).next) };
        self.first.resumes += 1;
    }

    fn resumes(&self) -> u64 {
        let mut task = self.first.next;
        let mut sum = self.first.resumes;
        for _ in 1..self.tasks {
            // SAFETY: every task of the ring is alive and none runs now.
            unsafe {
                sum += (*task).resumes;
                task = (*task).next;
            }
        }
        sum
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the tasks never run again and own nothing.
        unsafe { libc::munmap(self.memory.cast(), (self.tasks - 1) * STACK) };
    }
}

pub fn run(params: &Params) -> ! {
    match params.mechanism.as_str() {
        "jmp" => measure::<JMP>(params),
        "ret" => measure::<RET>(params),
        "jmp-fp" => measure::<JMP_FP>(params),
        "ret-fp" => measure::<RET_FP>(params),
        other => skip(&format!("own has no mechanism {other}")),
    }
}

fn measure<const FORM: u8>(params: &Params) -> ! {
    let before = resident();
    crate::clock::reset_float_control();
    let mut ring = Ring::new::<FORM, false>(params.tasks, ptr::null_mut());
    ring.round::<FORM>();
    let counts = |ring: &Ring| Counts { resumes: ring.resumes(), ..Counts::default() };
    let course = Course::new(params, before).run(&mut ring, counts, Ring::round::<FORM>);
    drop(ring);
    let mut notes = vec![format!("stacks of {} KiB without guard pages", STACK >> 10)];
    if FORM >= JMP_FP {
        notes.push(CONTROL.into());
    }
    let make = |stamps| {
        crate::clock::reset_float_control();
        Ring::new::<FORM, true>(params.tasks, stamps)
    };
    let round = |ring: &mut Ring, stamps: *mut Stamps| {
        // SAFETY: the stamps outlive the ring, and one task runs at a time.
        unsafe {
            (*stamps).leaving();
            ring.round::<FORM>();
            (*stamps).arrived();
        }
    };
    course.finish("tollgate 0.1.0", &notes, &singles(params, make, round, drop), false)
}
