//! `getppid` of a task whose system calls are audited.

use crate::mechanism::Mechanism;
use crate::syscall::{GETPPID, ROW};
use tollgate_measure::{Meta, Probe, Refusal, host};

pub(super) static AUDIT: Mechanism = Mechanism {
    meta: &Meta {
        id: "interpose/audit",
        what: "getppid of a task that the kernel's audit system watches; there is no plain call",
        ..ROW
    },
    open: |_, site| match host::audited() {
        Some(true) => GETPPID.open(site),
        audited => Err(Refusal::skip(
            match audited {
                Some(_) => "audit is off",
                None => "whether audit is on is not known: the kernel does not tell this user",
            },
            "audit=1 on the kernel's command line, or auditctl -e 1 as root before this program starts",
        )),
    },
};
