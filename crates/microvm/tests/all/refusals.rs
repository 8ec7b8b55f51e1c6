//! Places where the guest cannot run: each gives a reason and a remedy.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use std::time::Duration;
use tollgate_microvm::{Params, RunError, kvm, qemu};
use tollgate_testkit::skip;

const PATIENCE: Duration = Duration::from_secs(30);

fn refusal(device: &Path) -> (String, String) {
    match kvm::run(device, &Params::default(), PATIENCE) {
        Err(RunError::NotHere { reason, enable }) => (reason, enable),
        other => panic!("{}: {other:?}", device.display()),
    }
}

#[test]
fn a_device_that_is_not_there() {
    let (reason, enable) = refusal(Path::new("/nonexistent/kvm"));
    assert_eq!(reason, "/nonexistent/kvm is not there");
    assert!(enable.contains("virtualization"));
    assert_eq!(refusal(Path::new("/dev/null/kvm")).0, "/dev/null/kvm is not there");
}

#[test]
fn a_device_that_is_not_kvm() {
    assert_eq!(refusal(Path::new("/dev/null")).0, "/dev/null is not KVM");
    let file = tempfile::NamedTempFile::new().unwrap();
    assert!(refusal(file.path()).0.ends_with("is not KVM"));
    // A folder cannot be opened for writing.
    assert!(refusal(Path::new("/")).0.contains("refuses to open it"));
}

/// Runs `test` on a thread of its own, because the thread cannot regain the privileges that it drops.
fn apart<T: Send>(test: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| scope.spawn(test).join().expect("the thread ends"))
}

#[test]
fn a_device_that_may_not_be_opened() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::set_permissions(file.path(), Permissions::from_mode(0o000)).unwrap();
    let path = file.path().to_owned();
    let (reason, enable) = apart(move || {
        // SAFETY: the bare system call, unlike libc's wrapper, changes this thread alone; it touches no memory. A user
        // other than root has no such privileges, and the call then fails without harm.
        unsafe { libc::syscall(libc::SYS_setresuid, -1, 65534, -1) };
        refusal(&path)
    });
    assert!(reason.ends_with("may not be opened"), "{reason}");
    assert_eq!(enable, "be a member of the group kvm, or root");
}

/// From here on the ioctl `KVM_CREATE_VM` fails on this thread with `error`.
fn refuse_machines(error: u32) -> bool {
    const KVM_CREATE_VM: u32 = 0xae01;
    let load = |offset: u32| libc::sock_filter { code: 0x20, jt: 0, jf: 0, k: offset };
    let unless = |value: u32, skip: u8| libc::sock_filter { code: 0x15, jt: 0, jf: skip, k: value };
    let give = |value: u32| libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: value };
    // struct seccomp_data: the number at 0, the second argument at 24.
    let mut program = [
        load(0),
        unless(libc::SYS_ioctl as u32, 3),
        load(24),
        unless(KVM_CREATE_VM, 1),
        give(libc::SECCOMP_RET_ERRNO | error),
        give(libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the program is complete and lives until the kernel has copied it.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program) == 0
    }
}

#[test]
fn a_kvm_that_refuses_a_machine() {
    if fs::OpenOptions::new().read(true).write(true).open(kvm::DEVICE).is_err() {
        return skip!("/dev/kvm cannot be opened: a machine with KVM, as root or in the group kvm");
    }
    for (error, says) in
        [(libc::EBUSY, "the other hypervisor"), (libc::ENODEV, "dmesg"), (libc::EPERM, "sandbox")]
    {
        let Some((reason, enable)) =
            apart(|| refuse_machines(error as u32).then(|| refusal(Path::new(kvm::DEVICE))))
        else {
            return skip!("this kernel has no seccomp filters");
        };
        assert!(reason.starts_with("KVM is present and refuses to create a virtual machine"), "{reason}");
        assert!(enable.contains(says), "{enable}");
    }
}

#[test]
fn qemu_that_is_not_there_or_is_something_else() {
    let run = |program: &str| qemu::run(Path::new(program), true, &Params::default(), PATIENCE);
    match run("/nonexistent/qemu-system-x86_64") {
        Err(RunError::NotHere { reason, enable }) => {
            assert!(reason.ends_with("qemu-system-x86_64 is not installed"), "{reason}");
            assert_eq!(enable, "apt-get install qemu-system-x86");
        }
        other => panic!("{other:?}"),
    }
    assert!(
        matches!(run("/dev/null"), Err(RunError::NotHere { reason, .. }) if reason.contains("is not executable"))
    );
    assert!(matches!(run("true"), Err(RunError::Ended(how)) if how.contains("printed nothing")));
    // The error contains the program's message: `ls` does not have these options.
    let said = run("ls").unwrap_err().to_string();
    assert!(said.contains("ended QEMU with exit status: 2"), "{said}");
}
