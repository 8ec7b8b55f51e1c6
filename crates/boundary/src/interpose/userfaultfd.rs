//! A fault that another thread handles through userfaultfd, against one that the kernel handles.

use super::taxed::taxed;
use crate::fault::{ANONYMOUS, USER_OTHER_CPU, USER_SAME_CPU};
use crate::mechanism::{Mechanism, Opened};
use tollgate_measure::{Meta, Probe, Site};

pub(super) static SAME_CPU: Mechanism = Mechanism {
    meta: &Meta {
        id: "interpose/userfaultfd",
        what: "first write to a page that a thread on the CPU fills through userfaultfd",
        ..*USER_SAME_CPU.meta
    },
    open: |_, site| open(&USER_SAME_CPU, site),
};

pub(super) static OTHER_CPU: Mechanism = Mechanism {
    meta: &Meta {
        id: "interpose/userfaultfd-core",
        what: "first write to a page that a thread on another core fills through userfaultfd",
        ..*USER_OTHER_CPU.meta
    },
    open: |_, site| open(&USER_OTHER_CPU, site),
};

fn open(user: &Mechanism, site: &Site) -> Opened {
    taxed(user.open(site), ANONYMOUS.open(site), [user.meta.proof.len(), ANONYMOUS.meta().proof.len()])
}
