use super::plan::fit;
use super::*;
use crate::cache::Cache;
use crate::room::Room;
use crate::sources::Sources;
use crate::table::{Kind, Runtime};
use crate::transcript::{Sample, Transcript};
use std::path::Path;

const ROOM: Room = Room { bytes: 1 << 30, bound: "--memory" };

/// Rows of programs with these names and numbers of tasks. Each program ends with an error.
fn session(rows: &[(&str, u64)]) -> Session {
    let row = |&(name, tasks): &(&str, u64)| {
        let mut runtime = Runtime::own(Path::new("/bin/false"));
        runtime.id = name.into();
        let row = Row::new(&runtime, &runtime.mechanisms[0], tasks, ROOM);
        Row { folder: Some("/".into()), ..row }
    };
    Session::new(rows.iter().map(row).collect())
}

fn states(time: Option<Duration>) -> Vec<State> {
    let mut session = session(&[("a", 2), ("b", 2)]);
    let plan = Plan { time, ..Plan::usual(true, false, false) };
    let setting = Setting {
        cpu: 0,
        source: Source::Os,
        patience_ms: 10_000,
        room: ROOM,
        cache: Cache::new("/nowhere"),
        sources: Sources::Embedded,
    };
    let tell = &mut |_: Event<'_>| ControlFlow::Continue(());
    session.run(&plan, &setting, &AtomicBool::new(false), tell).unwrap();
    assert!(session.samples.complete);
    session.rows.into_iter().map(|row| row.state).collect()
}

#[test]
fn rows_whose_time_is_over_are_skipped_and_not_started() {
    for state in states(Some(Duration::ZERO)) {
        let State::Skipped(why, _) = state else { panic!("{state:?}") };
        assert_eq!(why, "the time of the run was over before its turn");
    }
    assert!(states(None).iter().all(|state| matches!(state, State::Failed(_))), "without a limit they run");
}

#[test]
fn a_limited_time_goes_to_what_took_little_before_and_to_few_tasks() {
    let session = session(&[("slow", 1_000), ("fast", 30_000), ("fast", 1_000), ("new", 2)]);
    let costs =
        [("slow", 300), ("fast", 5)].map(|(name, ms)| (format!("{name}/yield"), Duration::from_millis(ms)));
    let costs = BTreeMap::from(costs);
    let mut order = vec![0, 1, 2, 3];
    let mut made = Vec::new();
    while !order.is_empty() {
        made.push(order.remove(session.cheapest(&order, &costs)));
    }
    assert_eq!(made, [3, 2, 1, 0], "unknown, then cheap with few tasks, then with many, then expensive");
}

#[test]
fn a_border_whose_call_is_long_has_many_batches() {
    let mut row = session(&[("a", 1)]).rows.remove(0);
    row.runtime.kind = Kind::Border;
    let mut fitted = |ns: f64| {
        let samples = vec![Sample { switches: 256, ns: 256.0 * ns }; 8];
        fit(&mut row, &Plan::borders(false, false), &Transcript { samples, ..Transcript::default() });
        (row.batch, row.batches)
    };
    assert_eq!(fitted(2.0), (50_000, 40), "batches of 100 us for 4 ms");
    assert_eq!(fitted(13e3), (20, 100));
    assert_eq!(fitted(2e6), (20, 6), "these would take 4 s");
}
