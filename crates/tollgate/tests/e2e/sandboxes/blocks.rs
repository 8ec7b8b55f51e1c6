//! The building blocks of places: each does one thing to the program before it is loaded.
//!
//! What a block does runs between fork and exec, so it only makes system calls; everything that allocates
//! is done before. The order of a place's blocks is the order in which they are applied: whoever gives his
//! rights away does so last.

use crate::places::done;
use crate::scene::{NOBODY, Scene};
use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;

/// What a block answers: an error is the reason why it is not available here.
pub(crate) type Done = Result<(), String>;

fn c(path: impl AsRef<Path>) -> CString {
    CString::new(path.as_ref().as_os_str().as_bytes()).expect("a path has no zero byte")
}

fn is_root() -> bool {
    // SAFETY: no arguments.
    unsafe { libc::geteuid() == 0 }
}

fn needs_root(what: &str) -> Done {
    if is_root() { Ok(()) } else { Err(format!("only root can {what}")) }
}

/// Mounts of its own. Who is not root is root in a user namespace of his own, where that is allowed.
pub(crate) fn own_mounts(scene: &mut Scene) -> Done {
    if is_root() {
        unshared(scene, libc::CLONE_NEWNS);
    } else {
        own_user(scene)?;
        unshared(scene, libc::CLONE_NEWNS);
    }
    scene.in_child(|| {
        let none = ptr::null();
        // SAFETY: the string ends in a zero byte; what is null may be null with these flags.
        done(unsafe { libc::mount(none, c"/".as_ptr(), none, libc::MS_REC | libc::MS_PRIVATE, ptr::null()) })
    });
    Ok(())
}

fn unshared(scene: &mut Scene, what: libc::c_int) {
    scene.in_child(move || {
        // SAFETY: takes flags only.
        done(unsafe { libc::unshare(what) })
    });
}

/// Root in a user namespace of its own, as in a rootless container.
pub(crate) fn own_user(scene: &mut Scene) -> Done {
    // SAFETY: no arguments.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    let maps = [format!("0 {user} 1"), "deny".into(), format!("0 {group} 1")];
    unshared(scene, libc::CLONE_NEWUSER);
    scene.in_child(move || {
        let files = [c"/proc/self/uid_map", c"/proc/self/setgroups", c"/proc/self/gid_map"];
        for (file, text) in files.into_iter().zip(&maps) {
            // SAFETY: the path ends in a zero byte, the text is valid for its length, and the descriptor
            // is closed by the one that opened it.
            unsafe {
                let descriptor = libc::open(file.as_ptr(), libc::O_WRONLY);
                libc::write(descriptor, text.as_ptr().cast(), text.len());
                libc::close(descriptor);
            }
        }
        Ok(())
    });
    Ok(())
}

/// A small empty file system over a directory.
pub(crate) fn empty(scene: &mut Scene, at: impl AsRef<Path>, options: &str) -> Done {
    let (at, options) = (c(at), c(options));
    scene.in_child(move || {
        // SAFETY: every string ends in a zero byte.
        done(unsafe {
            libc::mount(c"none".as_ptr(), at.as_ptr(), c"tmpfs".as_ptr(), 0, options.as_ptr().cast())
        })
    });
    Ok(())
}

/// Another /proc, mounted with an option.
pub(crate) fn proc_with(scene: &mut Scene, options: &str) -> Done {
    let options = c(options);
    scene.in_child(move || {
        // SAFETY: every string ends in a zero byte.
        done(unsafe {
            libc::mount(c"proc".as_ptr(), c"/proc".as_ptr(), c"proc".as_ptr(), 0, options.as_ptr().cast())
        })
    });
    Ok(())
}

/// Files that read as empty, as container runtimes mask them. Those that are not there stay so.
pub(crate) fn masked(scene: &mut Scene, files: &[&str]) -> Done {
    for file in files.iter().filter(|file| Path::new(file).exists()) {
        let (file, directory) = (c(file), Path::new(file).is_dir());
        scene.in_child(move || {
            let none = ptr::null();
            // SAFETY: every string ends in a zero byte; what is null may be null with these flags.
            done(unsafe {
                if directory {
                    libc::mount(none, file.as_ptr(), c"tmpfs".as_ptr(), libc::MS_RDONLY, ptr::null())
                } else {
                    libc::mount(c"/dev/null".as_ptr(), file.as_ptr(), none, libc::MS_BIND, ptr::null())
                }
            })
        });
    }
    Ok(())
}

/// A mounted tree that nothing can be written to.
pub(crate) fn read_only(scene: &mut Scene, at: &str) -> Done {
    let at = c(at);
    scene.in_child(move || {
        // SAFETY: mount_attr is plain numbers for which all zeroes changes nothing.
        let mut change: libc::mount_attr = unsafe { std::mem::zeroed() };
        change.attr_set = libc::MOUNT_ATTR_RDONLY;
        // SAFETY: the path ends in a zero byte, and the change is valid for its size.
        let got = unsafe {
            libc::syscall(
                libc::SYS_mount_setattr,
                libc::AT_FDCWD,
                at.as_ptr(),
                libc::AT_RECURSIVE,
                &raw const change,
                std::mem::size_of_val(&change),
            )
        };
        done(got as libc::c_int)
    });
    Ok(())
}

/// Somebody without rights, from here on; he owns the directory `home`.
pub(crate) fn nobody(scene: &mut Scene) -> Done {
    scene.for_nobody()?;
    scene.in_child(|| {
        // SAFETY: no group is read from the null pointer when there are none; the others take numbers.
        unsafe {
            done(libc::setgroups(0, ptr::null()))?;
            done(libc::setgid(NOBODY))?;
            done(libc::setuid(NOBODY))
        }
    });
    Ok(())
}

/// What Docker leaves to root: none of the capabilities that measuring would like.
pub(crate) fn few_capabilities(scene: &mut Scene) -> Done {
    /// chown, dac_override, fowner, fsetid, kill, setgid, setuid, setpcap, net_bind_service, net_raw,
    /// sys_chroot, mknod, audit_write, setfcap.
    const KEPT: [u64; 14] = [0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31];
    needs_root("give capabilities away")?;
    scene.in_child(|| {
        for capability in (0..64).filter(|capability| !KEPT.contains(capability)) {
            // Those that the kernel does not know are refused.
            // SAFETY: an option that takes a number.
            unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
        }
        Ok(())
    });
    Ok(())
}

/// A control group of its own with one setting, of either version.
pub(crate) fn group(scene: &mut Scene, controller: &str, settings: &[(&str, &str, &str)]) -> Done {
    let group = Group::new(controller)?;
    for (version1, version2, value) in settings {
        let file = if group.version == 1 { version1 } else { version2 };
        if !file.is_empty() {
            fs::write(group.path.join(file), value)
                .map_err(|error| format!("{file} of a control group cannot be set: {error}"))?;
        }
    }
    let members = fs::OpenOptions::new()
        .write(true)
        .open(group.path.join("cgroup.procs"))
        .map_err(|error| format!("no process can be put into a control group: {error}"))?;
    join(scene, members);
    scene.keep(group);
    Ok(())
}

fn join(scene: &mut Scene, members: File) {
    scene.in_child(move || {
        // SAFETY: one byte that is valid; 0 stands for the process that writes.
        let wrote = unsafe { libc::write(members.as_raw_fd(), c"0".as_ptr().cast(), 1) };
        if wrote == 1 { Ok(()) } else { Err(io::Error::last_os_error()) }
    });
}

/// A control group that is removed when dropped.
struct Group {
    path: PathBuf,
    version: u32,
}

impl Group {
    fn new(controller: &str) -> Result<Self, String> {
        use std::sync::atomic::{AtomicU32, Ordering};
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let first = Path::new("/sys/fs/cgroup").join(controller);
        let (parent, version) = if first.join("cgroup.procs").exists() {
            (first, 1)
        } else {
            let there = fs::read_to_string("/sys/fs/cgroup/cgroup.subtree_control").unwrap_or_default();
            if !there.split_whitespace().any(|name| name == controller) {
                return Err(format!("no control group of {controller} is available"));
            }
            (PathBuf::from("/sys/fs/cgroup"), 2)
        };
        let name = format!("tollgate-test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = parent.join(name);
        fs::create_dir(&path).map_err(|error| format!("a control group cannot be made: {error}"))?;
        Ok(Self { path, version })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The end of a killed process takes a moment.
        for _ in 0..200 {
            if fs::remove_dir(&self.path).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert!(std::thread::panicking(), "processes are left in {}", self.path.display());
    }
}

/// A monotonic clock that is a day ahead, as after a container was moved to another machine.
pub(crate) fn other_time(scene: &mut Scene) -> Done {
    needs_root("make a time namespace")?;
    if !Path::new("/proc/self/ns/time").exists() {
        return Err("this kernel has no time namespaces".into());
    }
    unshared(scene, libc::CLONE_NEWTIME);
    scene.in_child(|| {
        const OFFSETS: &str = "monotonic 86400 0\nboottime 86400 0\n";
        // SAFETY: paths end in a zero byte, the text is valid for its length, and descriptors are closed by
        // the one that opened them.
        unsafe {
            let offsets = libc::open(c"/proc/self/timens_offsets".as_ptr(), libc::O_WRONLY);
            let wrote = libc::write(offsets, OFFSETS.as_ptr().cast(), OFFSETS.len());
            libc::close(offsets);
            if wrote < 0 {
                return Err(io::Error::last_os_error());
            }
            let children = libc::open(c"/proc/self/ns/time_for_children".as_ptr(), libc::O_RDONLY);
            let entered = libc::setns(children, libc::CLONE_NEWTIME);
            libc::close(children);
            done(entered)
        }
    });
    Ok(())
}
