//! Programs and objects that this program contains, as files that exist only in memory.

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use std::{fs::File, io::Write, os::fd::OwnedFd};
use tollgate_measure::Refusal;

/// An executable file with this content. Without `CLOEXEC` in `flags`, the children of this process inherit it.
pub(crate) fn executable(name: &str, content: &[u8], flags: MemfdFlags) -> Result<OwnedFd, Refusal> {
    let memory = match memfd_create(name, flags | MemfdFlags::EXEC) {
        // Kernels before 6.3 do not know MFD_EXEC and make every such file executable.
        Err(Errno::INVAL) => memfd_create(name, flags),
        made => made,
    };
    let memory = memory.map_err(|error| match error {
        // The sysctl forbids executable memory files.
        Errno::ACCESS => Refusal::skip(
            "the system allows no executable file in memory (vm.memfd_noexec is 2)",
            "have the administrator lower the sysctl vm.memfd_noexec",
        ),
        _ => crate::task::refusal("memfd_create", &error.into()),
    })?;
    let mut file = File::from(memory);
    file.write_all(content)?;
    Ok(file.into())
}
