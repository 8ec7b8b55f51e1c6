//! Every probe of the list, whoever wrote it: it opens or says why not, crosses, its proof agrees with
//! its claims, and it leaves nothing behind.
//!
//! A program of its own: it compares counts of the whole process, so its tests take turns on one lock.

use std::{
    collections::BTreeSet,
    fs, mem, ptr,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};
use tollgate_boundary::{CROSSINGS, FAULT_KINDS, LADDER, PROBES, select};
use tollgate_measure::{Claim, Crossing, Meta, Placement, Probe, Refusal, Site, placement};

static TURN: Mutex<()> = Mutex::new(());

static LISTS: [&[&dyn Probe]; 3] = [PROBES, CROSSINGS, FAULT_KINDS];

/// All lists, each probe once.
fn every() -> Vec<&'static dyn Probe> {
    let mut ids = BTreeSet::new();
    LISTS.into_iter().flatten().copied().filter(|probe| ids.insert(probe.meta().id)).collect()
}

/// Ids that name more than one experiment: a list has each id once, and two lists share an id only if they share its
/// [`Meta`], as a probe and the same probe with parts do.
fn duplicates(lists: &[&[&'static dyn Probe]]) -> Vec<&'static str> {
    let mut found: Vec<&str> = Vec::new();
    for (at, list) in lists.iter().enumerate() {
        for (place, probe) in list.iter().enumerate() {
            let meta = probe.meta();
            let in_list = list[..place].iter().any(|other| other.meta().id == meta.id);
            let mut before = lists[..at].iter().copied().flatten().map(|other| other.meta());
            let elsewhere = before.any(|other| other.id == meta.id && !ptr::eq(other, meta));
            if in_list || elsewhere {
                found.push(meta.id);
            }
        }
    }
    found
}

#[test]
fn one_id_is_one_experiment() {
    struct Another(Meta);
    impl Probe for Another {
        fn meta(&self) -> &Meta {
            &self.0
        }

        fn open(&self, _: &Site) -> Result<Box<dyn Crossing>, Refusal> {
            Err(Refusal::Failed("never opened".into()))
        }
    }
    assert_eq!(duplicates(&LISTS), [""; 0]);
    let again: &dyn Probe = Box::leak(Box::new(Another(*PROBES[0].meta())));
    assert_eq!(duplicates(&[PROBES, &[again]]), ["null"]);
    assert_eq!(duplicates(&[&[PROBES[0], PROBES[0]]]), ["null"]);
}

#[test]
fn claims_are_spelled_as_the_other_names_of_a_record() {
    for claim in every().iter().flat_map(|probe| probe.meta().proof) {
        assert!(!claim.key.contains('_'), "{}: words are joined by `-`", claim.key);
    }
}

/// The ladder is what fits into a minute and one screen; the other families are measured when they are named.
#[test]
fn the_ladder_is_short_and_other_families_must_be_named() {
    assert!(LADDER.len() <= 45, "{}", LADDER.len());
    let ids = |places: Vec<usize>| places.into_iter().map(|at| PROBES[at].meta().id).collect::<Vec<_>>();
    let ladder = ids(select(&[]).expect("without a pattern"));
    assert_eq!(ladder, LADDER.iter().map(|probe| probe.meta().id).collect::<Vec<_>>());
    assert_eq!(ids(select(&["*".into()]).expect("a pattern")), ladder);
    assert_eq!(
        ids(select(&["*/cas".into(), "w*/futex".into()]).expect("patterns")),
        ["core/cas", "wake/futex"]
    );
    let families: &[(&str, usize)] = &[("wake", 62), ("interpose", 24)];
    for &(family, least) in families {
        let of_it = |id: &&str| id.starts_with(&format!("{family}/"));
        assert!(!ladder.iter().any(of_it), "{family} is in the ladder");
        let named = ids(select(&[family.into()]).expect("the family exists"));
        assert!(named.len() >= least && named.iter().all(of_it), "{named:?}");
    }
}

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Pins the calling thread as the contract says, and names a second CPU where there is one.
fn site() -> Site {
    let allowed = placement::allowed().expect("the mask can be read");
    let cpu = *allowed.last().expect("a CPU");
    placement::pin(cpu).expect("the CPU is in our mask");
    Site { cpu, peer: allowed.into_iter().find(|&other| other != cpu) }
}

/// What a probe could leave behind.
#[derive(Debug, PartialEq, Eq)]
struct Traces {
    threads: usize,
    descriptors: BTreeSet<String>,
    dispositions: Vec<(i32, usize)>,
    blocked: Vec<i32>,
    cpus: Vec<usize>,
}

fn traces() -> Traces {
    let names = |path| -> BTreeSet<String> {
        let entries = fs::read_dir(path).expect("/proc is mounted");
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    };
    // The directory that is being read is a descriptor itself, with the same number each time unless
    // another one was left open.
    Traces {
        threads: names("/proc/self/task").len(),
        descriptors: names("/proc/self/fd"),
        dispositions: (1..=64).filter_map(|signal| Some((signal, disposition(signal)?))).collect(),
        blocked: blocked(),
        cpus: placement::allowed().expect("the mask can be read"),
    }
}

fn disposition(signal: i32) -> Option<usize> {
    // SAFETY: sigaction is plain data, and with no new action the call only reads.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        (libc::sigaction(signal, ptr::null(), &mut action) == 0).then_some(action.sa_sigaction)
    }
}

fn blocked() -> Vec<i32> {
    // SAFETY: sigset_t is plain data; without a new mask the call only reads.
    unsafe {
        let mut mask = mem::zeroed();
        libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), &mut mask);
        (1..=64).filter(|&signal| libc::sigismember(&mask, signal) == 1).collect()
    }
}

fn assert_no_children(id: &str) {
    // SAFETY: no status is asked for.
    let found = unsafe { libc::waitpid(-1, ptr::null_mut(), libc::WNOHANG | libc::__WALL) };
    assert_eq!(found, -1, "{id} leaves a child behind");
    assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::ECHILD), "{id}");
}

fn assert_unchanged(id: &str, before: &Traces) {
    assert_no_children(id);
    // A joined thread can still be listed for a moment, until the kernel has taken it apart.
    let begin = Instant::now();
    while traces().threads != before.threads && begin.elapsed() < Duration::from_secs(10) {
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(&traces(), before, "{id} leaves something behind");
}

fn pass(crossing: &mut dyn Crossing, passes: u64) -> Result<(), Refusal> {
    crossing.prepare(passes)?;
    crossing.cross(passes)
}

/// Exact claims hold exactly; counts that are only reported always agree. The kernel keeps counts with a tolerance for
/// the whole task, and other tasks on this CPU add to them: too few are an error at the claim's own tolerance, too many
/// have room for a loaded machine. A peer that is never switched to halves the count or worse.
fn assert_agrees(meta: &Meta, claim: &Claim, count: u64, passes: u64) {
    if claim.tolerance.is_infinite() {
        return;
    }
    let crossings = (passes * u64::from(meta.crossings_per_pass)) as f64;
    let (id, key, found) = (meta.id, claim.key, count as f64 / crossings);
    if claim.tolerance == 0.0 {
        assert_eq!(count as f64, claim.per_crossing * crossings, "{id}: {key} is {found}");
        return;
    }
    let least = claim.per_crossing * (1.0 - 4.0 * claim.tolerance.min(0.2));
    let most = claim.per_crossing * 4.0;
    assert!(found >= least, "{id}: {key} is {found}, too few");
    assert!(found <= most || claim.divides, "{id}: {key} is {found}, too many");
}

#[test]
fn every_probe_keeps_the_contract() {
    let _turn = turn();
    let site = site();
    // Permanent effects of a first use must not be charged to a probe.
    for probe in every() {
        drop(probe.open(&site));
    }
    let before = traces();
    for probe in every() {
        let meta = probe.meta();
        let mut crossing = match probe.open(&site) {
            Ok(crossing) => crossing,
            Err(Refusal::Skip { reason, enable }) => {
                assert!(!reason.is_empty() && !enable.is_empty(), "{} skips without saying why", meta.id);
                assert_unchanged(meta.id, &before);
                continue;
            }
            Err(Refusal::Failed(reason)) => panic!("{}: {reason}", meta.id),
        };
        let mut counts = vec![None; meta.proof.len()];
        // Opening must not show in the first proof.
        for passes in [1, 3, 400] {
            let passes = passes.min(crossing.most_passes());
            pass(crossing.as_mut(), passes).unwrap_or_else(|error| panic!("{}: {error}", meta.id));
            counts.fill(None);
            crossing.prove(&mut counts).unwrap_or_else(|error| panic!("{}: {error}", meta.id));
            for (claim, &count) in meta.proof.iter().zip(&counts) {
                // With few passes a single preemption outweighs any tolerance.
                if let Some(count) = count
                    && (passes > 100 || claim.tolerance == 0.0)
                {
                    assert_agrees(meta, claim, count, passes);
                }
            }
        }
        // Two batches before one proof add up.
        for passes in [2_u64, 5].map(|passes| passes.min(crossing.most_passes())) {
            pass(crossing.as_mut(), passes).unwrap_or_else(|error| panic!("{}: {error}", meta.id));
        }
        let both = [2_u64, 5].map(|passes| passes.min(crossing.most_passes())).iter().sum();
        crossing.prove(&mut counts).unwrap_or_else(|error| panic!("{}: {error}", meta.id));
        for (claim, &count) in meta.proof.iter().zip(&counts).filter(|(claim, _)| claim.tolerance == 0.0) {
            if let Some(count) = count {
                assert_agrees(meta, claim, count, both);
            }
        }
        drop(crossing);
        assert_unchanged(meta.id, &before);
    }
}

#[test]
fn probes_that_are_open_side_by_side_do_not_disturb_each_other() {
    let _turn = turn();
    let site = site();
    for probe in every() {
        drop(probe.open(&site));
    }
    let before = traces();
    let mut open: Vec<_> =
        every().into_iter().filter_map(|probe| Some((probe.meta(), probe.open(&site).ok()?))).collect();
    for _ in 0..3 {
        for (meta, crossing) in &mut open {
            let passes = 20.min(crossing.most_passes());
            pass(crossing.as_mut(), passes).unwrap_or_else(|error| panic!("{}: {error}", meta.id));
        }
    }
    // Only now are the counts asked for: what others did in between must not be among them. Faults are the
    // exception: the kernel counts them for the whole thread, and a fork in between adds to them, so they
    // mean something only when they are asked for after each batch, as the sampler does.
    for (meta, crossing) in &mut open {
        let mut counts = vec![None; meta.proof.len()];
        crossing.prove(&mut counts).unwrap_or_else(|error| panic!("{}: {error}", meta.id));
        let passes = 3 * 20.min(crossing.most_passes());
        for (claim, count) in meta.proof.iter().zip(counts) {
            if let Some(count) = count
                && (claim.tolerance == 0.0 || claim.key == "switches-per-crossing")
            {
                assert_agrees(meta, claim, count, passes);
            }
        }
    }
    // Closed in the order of opening, which is not the order of nesting.
    for (_, crossing) in open {
        drop(crossing);
    }
    assert_unchanged("the whole list", &before);
}

#[test]
fn without_a_second_cpu_pairs_are_skipped() {
    let _turn = turn();
    let site = Site { peer: None, ..site() };
    for probe in every().into_iter().filter(|probe| probe.meta().placement == Placement::Pair) {
        match probe.open(&site) {
            Err(Refusal::Skip { reason, enable }) => assert!(!reason.is_empty() && !enable.is_empty()),
            Err(Refusal::Failed(reason)) => panic!("{}: {reason}", probe.meta().id),
            Ok(_) => panic!("{} opens without a second CPU", probe.meta().id),
        }
    }
}
