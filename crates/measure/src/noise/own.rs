//! How much CPU time our own processes have used, and where: the counts of a CPU do not tell our work from
//! that of others.

use super::stat;
use crate::host::files::Files;
use std::collections::{BTreeMap, BTreeSet};

/// Time that one living thread has used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadTime {
    /// The CPU that it last ran on. Ours are pinned, so that it is the one they always ran on.
    pub cpu: usize,
    /// Nanoseconds on a CPU.
    pub ran_ns: u64,
}

/// CPU time of a set of processes up to one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnMark {
    /// Every living thread by its id.
    pub threads: BTreeMap<u32, ThreadTime>,
    /// Nanoseconds of all together, with threads that have ended and children that have been waited
    /// for; as coarse as a tick.
    pub total_ns: u64,
}

impl OwnMark {
    /// The least and the most nanoseconds that the set ran on `cpu` between `before` and this mark.
    ///
    /// A thread that lives at the end is known to the nanosecond. Time of those that have ended is known
    /// only in total, and may or may not have been spent on `cpu`.
    #[must_use]
    pub fn on_cpu_since(&self, before: &Self, cpu: usize) -> (u64, u64) {
        let mut here = 0_u64;
        let mut attributed = 0_u64;
        for (id, thread) in &self.threads {
            let ran = match before.threads.get(id) {
                None => thread.ran_ns,
                Some(earlier) if earlier.cpu == thread.cpu => thread.ran_ns.saturating_sub(earlier.ran_ns),
                // It moved in between: how much it ran on either is not known.
                Some(_) => continue,
            };
            attributed = attributed.saturating_add(ran);
            if thread.cpu == cpu {
                here = here.saturating_add(ran);
            }
        }
        let rest = self.total_ns.saturating_sub(before.total_ns).saturating_sub(attributed);
        (here, here.saturating_add(rest))
    }
}

/// The CPU time of a process and of everything that descends from it, with `tick_ns` nanoseconds to a tick of
/// `sysconf(_SC_CLK_TCK)`; `None` when no such process can be seen.
///
/// Descent tells ours from others better than the process group: a script without job control keeps all its commands
/// in one group, also a load that it starts beside the measurement.
pub(super) fn family(files: &Files, process: u32, tick_ns: u64) -> Option<OwnMark> {
    let table = processes(files);
    let mut members = BTreeSet::from([process]);
    // Children may have smaller ids than their parents once ids have wrapped: repeat until nothing is new.
    loop {
        let before = members.len();
        for (&id, entry) in &table {
            if members.contains(&entry.parent) {
                members.insert(id);
            }
        }
        if members.len() == before {
            break;
        }
    }
    sum(files, &table, &members, tick_ns)
}

fn sum(files: &Files, table: &BTreeMap<u32, Stat>, members: &BTreeSet<u32>, tick_ns: u64) -> Option<OwnMark> {
    let mut mark = OwnMark::default();
    let mut seen = false;
    for process in members {
        let Some(entry) = table.get(process) else { continue };
        seen = true;
        let ticks = entry.own_ticks.saturating_add(entry.waited_ticks);
        mark.total_ns = mark.total_ns.saturating_add(ticks.saturating_mul(tick_ns));
        for thread in files.numbered(&format!("proc/{process}/task"), "") {
            let directory = format!("proc/{process}/task/{thread}");
            let Some(own) = files.text(&format!("{directory}/stat")).and_then(|text| parse(&text)) else {
                continue;
            };
            let ran_ns = files
                .text(&format!("{directory}/schedstat"))
                .and_then(|text| stat::ran_ns(&text))
                .unwrap_or_else(|| own.own_ticks.saturating_mul(tick_ns));
            let Ok(id) = u32::try_from(thread) else { continue };
            mark.threads.insert(id, ThreadTime { cpu: own.cpu, ran_ns });
        }
    }
    seen.then_some(mark)
}

/// One `stat` of a process or a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    parent: u32,
    own_ticks: u64,
    waited_ticks: u64,
    cpu: usize,
}

fn processes(files: &Files) -> BTreeMap<u32, Stat> {
    files
        .numbered("proc", "")
        .into_iter()
        .filter_map(|id| {
            let text = files.text(&format!("proc/{id}/stat"))?;
            Some((u32::try_from(id).ok()?, parse(&text)?))
        })
        .collect()
}

fn parse(text: &str) -> Option<Stat> {
    // The command's name comes in parentheses and may contain blanks and parentheses itself.
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // Counted from the state, which is the third field of the manual page.
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    Some(Stat {
        parent: number(4)?.try_into().ok()?,
        own_ticks: number(14)?.saturating_add(number(15)?),
        waited_ticks: number(16)?.saturating_add(number(17)?),
        cpu: number(39)?.try_into().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;

    fn line(id: u32, parent: u32, group: u32, ticks: [u64; 4], cpu: usize) -> String {
        let [user, system, waited_user, waited_system] = ticks;
        format!(
            "{id} (a ) b) R {parent} {group} 1 0 -1 4194304 93 0 0 0 {user} {system} {waited_user} \
             {waited_system} 20 0 1 0 1160 2703360 1 2 3 4 5 6 7 8 9 10 11 12 13 14 17 {cpu} 0 0 0 0 0\n"
        )
    }

    /// Id, parent, group, ticks, CPU, nanoseconds where schedstat tells them.
    type Row = (u32, u32, u32, [u64; 4], usize, Option<u64>);

    fn tree(processes: &[Row]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for &(id, parent, group, ticks, cpu, ran) in processes {
            let task = root.path().join(format!("proc/{id}/task/{id}"));
            fs::create_dir_all(&task).unwrap();
            let text = line(id, parent, group, ticks, cpu);
            fs::write(root.path().join(format!("proc/{id}/stat")), &text).unwrap();
            fs::write(task.join("stat"), &text).unwrap();
            if let Some(ran) = ran {
                fs::write(task.join("schedstat"), format!("{ran} 5 6\n")).unwrap();
            }
        }
        root
    }

    const TICK: u64 = 10_000_000;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let stat = parse(&line(7, 3, 4, [10, 20, 1, 2], 1)).unwrap();
        assert_eq!(stat, Stat { parent: 3, own_ticks: 30, waited_ticks: 3, cpu: 1 });
        assert_eq!(parse("7 (x) R 1 2 3"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn a_family_is_its_descendants_whatever_their_ids_and_groups() {
        let root = tree(&[
            (100, 1, 100, [5, 5, 2, 1], 1, Some(99_000_000)),
            (50, 100, 50, [3, 0, 0, 0], 0, None),
            (40, 50, 100, [1, 0, 0, 0], 1, None),
            (101, 1, 100, [70, 0, 0, 0], 1, None),
        ]);
        let files = Files::below(root.path());
        let own = family(&files, 100, TICK).unwrap();
        assert_eq!(own.total_ns, (13 + 3 + 1) * TICK);
        assert_eq!(own.threads.keys().copied().collect::<Vec<_>>(), [40, 50, 100]);
        assert_eq!(own.threads[&100], ThreadTime { cpu: 1, ran_ns: 99_000_000 });
        assert_eq!(own.threads[&50], ThreadTime { cpu: 0, ran_ns: 30_000_000 });
        assert_eq!(family(&files, 9, TICK), None);
    }

    #[test]
    fn time_is_given_to_a_cpu_as_far_as_it_is_known() {
        let mark = |threads: &[(u32, usize, u64)], total_ns| OwnMark {
            threads: threads.iter().map(|&(id, cpu, ran_ns)| (id, ThreadTime { cpu, ran_ns })).collect(),
            total_ns,
        };
        let before = mark(&[(1, 1, 100), (2, 0, 50), (3, 1, 900)], 1_050);
        // 1 ran 10 here, 2 moved, 3 ended after another 30, 4 is new.
        let after = mark(&[(1, 1, 110), (2, 1, 70), (4, 1, 7)], 1_117);
        assert_eq!(after.on_cpu_since(&before, 1), (17, 67));
        assert_eq!(after.on_cpu_since(&before, 0), (0, 50));
        // Numbers that run backwards (an id used again) give nothing rather than wrap.
        assert_eq!(before.on_cpu_since(&after, 1).0, 900);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[0-9]{0,3} ?\\(?[a-z )]{0,5}\\)?[ 0-9R\\-]{0,120}\\PC{0,20}") {
            let _ = parse(&text);
        }
    }
}
