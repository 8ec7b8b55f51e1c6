//! The choice of the measured CPU and of its peer: a pure function of what is known of the machine.

use super::{Relation, relation_in};
use crate::probe::Site;
use tollgate_record::host::Cpu;

/// Why CPUs cannot be chosen so, as a sentence that names those that can.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlacementError {
    /// No such CPU is built in; these are.
    #[error("cpu {} does not exist; this machine has {}", .0, list(.1))]
    NoSuchCpu(usize, Vec<usize>),
    /// The CPU is there and switched off; these are online.
    #[error("cpu {} is offline; online are {}", .0, list(.1))]
    Offline(usize, Vec<usize>),
    /// The CPU is outside the set that the process may use.
    #[error("cpu {} is outside the set of CPUs that this process may use: {}", .0, list(.1))]
    NotAllowed(usize, Vec<usize>),
    /// Both sides on one CPU.
    #[error("the peer must be another CPU than the measured one, which is cpu {0}")]
    SamePeer(usize),
    /// Nothing is known to be allowed.
    #[error("the CPUs that this process may use are not known; choose one with --cpu")]
    NothingKnown,
}

/// Chooses where to measure.
///
/// The measured CPU is the highest-numbered that may be used, because CPU 0 takes most interrupts. Its
/// peer is the nearest CPU of another core, in the same socket if possible; a hardware
/// thread of the same core only when there is nothing else ([`Relation`] says so in the record); and
/// `None` when only one CPU may be used.
///
/// # Errors
/// A sentence when a CPU that was asked for does not exist, is offline or is not allowed, or when the
/// two are the same.
pub fn choose(cpu: &Cpu, want: Option<usize>, want_peer: Option<usize>) -> Result<Site, PlacementError> {
    for wanted in [want, want_peer].into_iter().flatten() {
        usable(cpu, wanted)?;
    }
    let measured = match want {
        Some(wanted) => wanted,
        None => cpu
            .allowed
            .iter()
            .copied()
            .filter(|&one| Some(one) != want_peer)
            .max()
            .ok_or(want_peer.map_or(PlacementError::NothingKnown, PlacementError::SamePeer))?,
    };
    if want_peer == Some(measured) {
        return Err(PlacementError::SamePeer(measured));
    }
    Ok(Site { cpu: measured, peer: want_peer.or_else(|| nearest(cpu, measured)) })
}

/// Checks one CPU that was asked for, as far as the machine is known.
fn usable(cpu: &Cpu, wanted: usize) -> Result<(), PlacementError> {
    // Where sysfs is missing, the allowed CPUs are all that is known to exist.
    let known = [&cpu.present, &cpu.online, &cpu.allowed].into_iter().find(|set| !set.is_empty());
    if known.is_some_and(|present| !present.contains(&wanted)) {
        return Err(if cpu.present.is_empty() {
            PlacementError::NotAllowed(wanted, cpu.allowed.clone())
        } else {
            PlacementError::NoSuchCpu(wanted, cpu.present.clone())
        });
    }
    if !cpu.online.is_empty() && !cpu.online.contains(&wanted) {
        return Err(PlacementError::Offline(wanted, cpu.online.clone()));
    }
    if !cpu.allowed.is_empty() && !cpu.allowed.contains(&wanted) {
        return Err(PlacementError::NotAllowed(wanted, cpu.allowed.clone()));
    }
    Ok(())
}

fn nearest(cpu: &Cpu, measured: usize) -> Option<usize> {
    let socket = cpu.packages.iter().find(|group| group.contains(&measured));
    cpu.allowed.iter().copied().filter(|&other| other != measured).min_by_key(|&other| {
        let sibling = relation_in(&cpu.cores, measured, other) == Relation::Sibling;
        let elsewhere = socket.is_some_and(|group| !group.contains(&other));
        (sibling, elsewhere, other.abs_diff(measured))
    })
}

/// CPUs as people write them: `0-3,8`.
pub(crate) fn list(cpus: &[usize]) -> String {
    if cpus.is_empty() {
        return "no known CPU".into();
    }
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(cpu) => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let texts: Vec<String> = ranges
        .into_iter()
        .map(|(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") })
        .collect();
    texts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(allowed: &[usize], cores: &[&[usize]], packages: &[&[usize]]) -> Cpu {
        let groups = |groups: &[&[usize]]| groups.iter().map(|group| group.to_vec()).collect();
        Cpu {
            present: (0..8).collect(),
            online: (0..7).collect(),
            allowed: allowed.to_vec(),
            cores: groups(cores),
            packages: groups(packages),
            ..Cpu::default()
        }
    }

    fn chosen(cpu: &Cpu, want: Option<usize>, peer: Option<usize>) -> (usize, Option<usize>) {
        let site = choose(cpu, want, peer).unwrap();
        (site.cpu, site.peer)
    }

    #[test]
    fn the_highest_cpu_is_measured_and_its_peer_is_another_core() {
        // Siblings are neighbors, as on many laptops.
        let paired = machine(&[0, 1, 2, 3, 4, 5], &[&[0, 1], &[2, 3], &[4, 5]], &[]);
        assert_eq!(chosen(&paired, None, None), (5, Some(3)));
        assert_eq!(chosen(&paired, Some(2), None), (2, Some(1)));
        // Siblings are halves apart, as on servers.
        let halves = machine(&[0, 1, 2, 3], &[&[0, 2], &[1, 3]], &[]);
        assert_eq!(chosen(&halves, None, None), (3, Some(2)));
        assert_eq!(chosen(&machine(&[0, 2], &[], &[]), None, None), (2, Some(0)));
    }

    #[test]
    fn a_peer_in_the_same_socket_is_nearer_than_a_neighboring_number() {
        let alternating = machine(&[0, 1, 2, 3], &[&[0], &[1], &[2], &[3]], &[&[0, 2], &[1, 3]]);
        assert_eq!(chosen(&alternating, None, None), (3, Some(1)));
    }

    #[test]
    fn a_sibling_is_better_than_nobody_and_nobody_is_an_answer() {
        let one_core = machine(&[2, 3], &[&[2, 3]], &[]);
        assert_eq!(chosen(&one_core, None, None), (3, Some(2)));
        assert_eq!(chosen(&machine(&[4], &[], &[]), None, None), (4, None));
    }

    #[test]
    fn the_measured_cpu_gives_way_to_a_peer_that_was_asked_for() {
        let cpu = machine(&[0, 1], &[&[0], &[1]], &[]);
        assert_eq!(chosen(&cpu, None, Some(1)), (0, Some(1)));
    }

    #[test]
    fn what_cannot_be_chosen_ends_in_a_sentence() {
        let cpu = machine(&[1, 2, 3, 6], &[], &[]);
        let text = |want, peer| choose(&cpu, want, peer).unwrap_err().to_string();
        assert_eq!(text(Some(99), None), "cpu 99 does not exist; this machine has 0-7");
        assert_eq!(text(None, Some(7)), "cpu 7 is offline; online are 0-6");
        assert_eq!(text(Some(0), None), "cpu 0 is outside the set of CPUs that this process may use: 1-3,6");
        assert_eq!(
            text(Some(2), Some(2)),
            "the peer must be another CPU than the measured one, which is cpu 2"
        );
        let alone = machine(&[4], &[], &[]);
        assert_eq!(choose(&alone, None, Some(4)).unwrap_err(), PlacementError::SamePeer(4));
        assert_eq!(choose(&Cpu::default(), None, None).unwrap_err(), PlacementError::NothingKnown);
    }

    #[test]
    fn without_any_facts_the_wish_is_the_choice() {
        assert_eq!(chosen(&Cpu::default(), Some(3), None), (3, None));
    }
}
