//! Small programs with known numbers of crossings: `toll-programs NAME N` crosses one boundary N times.
//!
//! What the start of the program crosses is the same for every N, so the difference of two runs is exact.

use std::ffi::CString;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::{env, fs, mem, process, ptr, thread};

const PAGE: usize = 4096;

fn main() {
    let words: Vec<String> = env::args().collect();
    let [_, name, number, ..] = &words[..] else { process::exit(2) };
    let n: usize = number.parse().unwrap_or_else(|_| process::exit(2));
    // SAFETY: each program makes system calls on memory and descriptors of its own.
    unsafe {
        match name.as_str() {
            "getppid" => repeat(n, || libc::syscall(libc::SYS_getppid)),
            "read-byte" => transfer(n, c"/dev/zero", 1),
            "read-page" => transfer(n, c"/dev/zero", PAGE),
            "write-byte" => repeat(n, || libc::write(pipe_end(), b"x".as_ptr().cast(), 1)),
            "open-close" => repeat(n, || libc::close(libc::open(c"/dev/null".as_ptr(), 0))),
            "failing-open" => repeat(n, || libc::open(c"/no/such/file".as_ptr(), 0)),
            "filtered" => filtered(n, libc::SECCOMP_RET_ALLOW),
            "refused" => filtered(n, libc::SECCOMP_RET_KILL_PROCESS),
            "bad-call" => repeat(n, || libc::syscall(999)),
            "mmap-munmap" => repeat(n, || libc::munmap(map(PAGE).cast(), PAGE)),
            "yield" => repeat(n, || libc::sched_yield()),
            "sleep" => (0..n).for_each(|_| thread::sleep(std::time::Duration::from_micros(200))),
            "anonymous" => touch(map(n * PAGE), n, true),
            "zero-page" => touch(map(n * PAGE), n, false),
            "copy-on-write" => copy_on_write(n),
            "file" => file(n, false),
            "major" => file(n, true),
            "huge" => huge(n),
            "protection" => protection(n),
            "signal" => signal(n),
            "fork" => repeat(n, fork),
            "thread" => repeat(n, || thread::spawn(|| ()).join()),
            "exec" => exec(&words[0], "exec", n),
            "exec-in-thread" => drop(thread::spawn(move || exec(&words[0], "exec-in-thread", n)).join()),
            "ping-pong" => ping_pong(n),
            _ => process::exit(2),
        }
    }
}

fn repeat<T>(n: usize, mut cross: impl FnMut() -> T) {
    for _ in 0..n {
        cross();
    }
}

/// Calls under a seccomp filter of its own, which answers `getppid` with `action`.
unsafe fn filtered(n: usize, action: u32) {
    let code = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let mut code = [
        code(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        code(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, libc::SYS_getppid as u32),
        code(libc::BPF_RET | libc::BPF_K, 0, 0, action),
        code(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    // SAFETY: the filter is valid for the call, which copies it.
    unsafe {
        let filter = libc::sock_fprog { len: code.len() as u16, filter: code.as_mut_ptr() };
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter);
        repeat(n, || libc::syscall(libc::SYS_getppid));
    }
}

/// The writing end of a pipe that is large enough.
unsafe fn pipe_end() -> libc::c_int {
    static mut END: libc::c_int = -1;
    // SAFETY: one thread.
    unsafe {
        if END < 0 {
            let mut ends = [0; 2];
            libc::pipe(ends.as_mut_ptr());
            libc::fcntl(ends[1], libc::F_SETPIPE_SZ, 1 << 20);
            END = ends[1];
        }
        END
    }
}

unsafe fn transfer(n: usize, path: &std::ffi::CStr, bytes: usize) {
    // SAFETY: the buffer is longer than what is read.
    unsafe {
        let (file, mut buffer) = (libc::open(path.as_ptr(), libc::O_RDONLY), [1_u8; PAGE]);
        repeat(n, || libc::read(file, buffer.as_mut_ptr().cast(), bytes));
    }
}

/// New memory in small pages.
unsafe fn map(bytes: usize) -> *mut u8 {
    // SAFETY: a new mapping.
    unsafe {
        let bytes = bytes.max(PAGE);
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let at = libc::mmap(ptr::null_mut(), bytes, access, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0);
        libc::madvise(at, bytes, libc::MADV_NOHUGEPAGE);
        at.cast()
    }
}

/// Touches every page of a mapping of `n`.
unsafe fn touch(at: *mut u8, n: usize, write: bool) {
    for page in 0..n {
        // SAFETY: inside of the mapping.
        unsafe {
            let at = at.add(page * PAGE);
            match write {
                true => at.write_volatile(1),
                false => _ = at.read_volatile(),
            }
        }
    }
}

/// Reads pages, which are the kernel's page of zeros until they are written to. (What a fork shares would do as well, but there it
/// depends on the scheduler, too, who copies what.)
unsafe fn copy_on_write(n: usize) {
    // SAFETY: a mapping of as many pages.
    unsafe {
        let at = map(n * PAGE);
        touch(at, n, false);
        touch(at, n, true);
    }
}

/// Reads one byte of each page of a file, whose pages are in the page cache or not.
unsafe fn file(n: usize, cold: bool) {
    // A device, because files in memory have no major faults.
    let path = format!("/var/tmp/tollgate-programs-{}", process::id());
    let mut file = fs::OpenOptions::new().read(true).write(true).create_new(true).open(&path).unwrap();
    fs::remove_file(&path).unwrap();
    file.write_all(&vec![1; 400 * 16 * PAGE]).unwrap();
    file.sync_all().unwrap();
    // SAFETY: a mapping of the file, which is as long.
    unsafe {
        let (bytes, fd) = (400 * 16 * PAGE, file.as_raw_fd());
        if cold {
            libc::posix_fadvise(fd, 0, 0, libc::POSIX_FADV_DONTNEED);
            libc::posix_fadvise(fd, 0, 0, libc::POSIX_FADV_RANDOM);
        }
        let at = libc::mmap(ptr::null_mut(), bytes, libc::PROT_READ, libc::MAP_PRIVATE, fd, 0);
        libc::madvise(at, bytes, libc::MADV_RANDOM);
        for page in 0..n {
            at.cast::<u8>().add(if cold { page * 16 * PAGE } else { 0 }).read_volatile();
            if !cold {
                // The page stays in the page cache, and the next touch is a fault again.
                libc::madvise(at, PAGE, libc::MADV_DONTNEED);
            }
        }
    }
}

/// First writes to huge pages.
unsafe fn huge(n: usize) {
    const HUGE: usize = 2 << 20;
    // SAFETY: a mapping with room to begin at a multiple of a huge page.
    unsafe {
        let bytes = 40 * HUGE;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let at = libc::mmap(ptr::null_mut(), bytes, access, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0);
        libc::madvise(at, bytes, libc::MADV_HUGEPAGE);
        let first = at.cast::<u8>().add(at.align_offset(HUGE));
        (0..n).for_each(|page| first.add(page * HUGE).write_volatile(1));
    }
}

static mut GUARDED: *mut u8 = ptr::null_mut();

extern "C" fn unprotect(_: libc::c_int) {
    // SAFETY: the page is mapped before the first signal.
    unsafe { libc::mprotect(GUARDED.cast(), PAGE, libc::PROT_READ | libc::PROT_WRITE) };
}

/// Writes to a page that may not be written; the handler permits it.
unsafe fn protection(n: usize) {
    // SAFETY: the handler repairs what faults.
    unsafe {
        GUARDED = map(PAGE);
        GUARDED.write_volatile(1);
        handle(libc::SIGSEGV, unprotect);
        for _ in 0..n {
            libc::mprotect(GUARDED.cast(), PAGE, libc::PROT_READ);
            GUARDED.write_volatile(1);
        }
    }
}

extern "C" fn nothing(_: libc::c_int) {}

unsafe fn handle(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) {
    // SAFETY: the handler is one of those above.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        libc::sigaction(signal, &action, ptr::null_mut());
    }
}

unsafe fn signal(n: usize) {
    // SAFETY: the handler does nothing.
    unsafe {
        handle(libc::SIGUSR1, nothing);
        repeat(n, || libc::raise(libc::SIGUSR1));
    }
}

fn fork() {
    // SAFETY: the child exits at once.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            libc::_exit(0);
        }
        libc::waitpid(child, ptr::null_mut(), 0);
    }
}

/// Executes this program again until N is zero.
fn exec(program: &str, name: &str, n: usize) {
    if n == 0 {
        return;
    }
    let words = [program, name, &(n - 1).to_string()].map(|word| CString::new(word).unwrap());
    let argv = [words[0].as_ptr(), words[1].as_ptr(), words[2].as_ptr(), ptr::null()];
    // SAFETY: valid strings and a null pointer at the end.
    unsafe { libc::execv(argv[0], argv.as_ptr()) };
}

/// Two processes pass a byte to each other N times.
unsafe fn ping_pong(n: usize) {
    // SAFETY: pipes of this function, buffers of one byte.
    unsafe {
        let (mut there, mut back, mut byte) = ([0; 2], [0; 2], 0_u8);
        libc::pipe(there.as_mut_ptr());
        libc::pipe(back.as_mut_ptr());
        let child = libc::fork();
        let (from, to) = if child == 0 { (there[0], back[1]) } else { (back[0], there[1]) };
        for _ in 0..n {
            if child != 0 {
                libc::write(to, (&raw const byte).cast(), 1);
            }
            libc::read(from, (&raw mut byte).cast(), 1);
            if child == 0 {
                libc::write(to, (&raw const byte).cast(), 1);
            }
        }
        if child == 0 {
            libc::_exit(0);
        }
        libc::waitpid(child, ptr::null_mut(), 0);
    }
}
