//! The processor's own counters around real crossings, wherever there are any.
//!
//! A host without counters skips. Where they are exact (an emulator that counts instructions), the file that
//! `TOLLGATE_COUNTED` names gets one line for each thing counted, so that two boots can be compared.
//! A program of its own: `cargo xtask vm` runs it in guests.

#![cfg(target_os = "linux")]

use std::io::Write;
use tollgate_boundary::PROBES;
use tollgate_measure::counters::{
    Counted, Counter, CounterError, Counters, Event, Kernel, Mode, Reading, count,
};
use tollgate_measure::{Refusal, Site};
use tollgate_testkit::skip;

/// Crossings that are counted at once.
const CROSSINGS: u64 = 1_000;

/// Readings of which the least is judged.
const READINGS: usize = 5;

/// Why counters of user mode are not available here; `None` if they are.
fn absent() -> Option<String> {
    let reading = raw(&[Counter { event: Event::Cycles, mode: Mode::User }], || spin(1_000));
    match reading {
        Err(why) => Some(why),
        Ok([before, after]) if after.values[0] <= before.values[0] => Some("they stay at zero".into()),
        Ok(_) => None,
    }
}

fn pair(mode: Mode) -> Vec<Counter> {
    [Event::Instructions, Event::Cycles].map(|event| Counter { event, mode }).into()
}

/// What a group reads before and after some work, as the kernel gives it.
fn raw(group: &[Counter], work: impl FnOnce()) -> Result<[Reading; 2], String> {
    let mut kernel = Kernel::new();
    let refused = |refused| CounterError::Refused(refused).to_string();
    let opened = kernel.open(group, 0).map_err(refused)?;
    let before = kernel.read(opened).map_err(|error| error.to_string())?;
    work();
    let after = kernel.read(opened).map_err(|error| error.to_string())?;
    Ok([before, after])
}

/// Dependent work of user mode.
fn spin(passes: u64) {
    let mut value = 1_u64;
    for _ in 0..passes {
        value = std::hint::black_box(value.wrapping_mul(3));
    }
}

/// A probe's crossings as work to be counted; the first thousand warm up and are not counted.
fn crossing(id: &str) -> impl FnMut() {
    let probe = PROBES.iter().find(|probe| probe.meta().id == id).expect("a probe of the list");
    let mut open = probe.open(&Site { cpu: 0, peer: None }).expect("it opens");
    let mut cross = move || open.cross(CROSSINGS).expect("it crosses");
    cross();
    cross
}

/// Reports to the test that booted this machine.
fn tell(key: &str, value: impl std::fmt::Display) {
    if let Some(path) = std::env::var_os("TOLLGATE_COUNTED") {
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).expect("it opens");
        writeln!(file, "{key} {value}").expect("it can be written");
    }
}

fn gained([before, after]: &[Reading; 2], at: usize) -> u64 {
    after.values[at] - before.values[at]
}

#[test]
fn a_crossing_has_instructions_on_both_sides() {
    if let Some(why) = absent() {
        return skip!("no hardware counters here: {why}");
    }
    for id in ["syscall/getppid", "call/direct"] {
        let mut cross = crossing(id);
        for (mode, name) in [(Mode::User, "user"), (Mode::Kernel, "kernel"), (Mode::Both, "both")] {
            // An interrupt adds tens of thousands of instructions to a reading; the least of some has none of it.
            let readings: Result<Vec<_>, _> = (0..READINGS).map(|_| raw(&pair(mode), &mut cross)).collect();
            let readings = match readings {
                Ok(readings) => readings,
                // Counting the kernel needs more privilege than counting oneself.
                Err(why) => {
                    tell(&format!("{id} {name}"), why);
                    continue;
                }
            };
            let [instructions, cycles] = [0, 1]
                .map(|at| readings.iter().map(|reading| gained(reading, at)).min().expect("there are some"));
            tell(&format!("{id} {name} instructions"), instructions);
            tell(&format!("{id} {name} cycles"), cycles);
            match (id, mode) {
                // A loop of a few instructions around the crossing.
                (_, Mode::User) => assert!((2..200).contains(&(instructions / CROSSINGS)), "{instructions}"),
                ("syscall/getppid", Mode::Kernel) => {
                    assert!(instructions / CROSSINGS >= 20, "{instructions}")
                }
                // A call does not enter the kernel.
                (_, Mode::Kernel) => assert!(instructions / CROSSINGS < 20, "{instructions}"),
                (_, Mode::Both) => assert!(instructions >= 2 * CROSSINGS, "{instructions}"),
            }
        }
    }
}

#[test]
fn figures_are_judged_as_they_are_read() {
    if let Some(why) = absent() {
        return skip!("no hardware counters here: {why}");
    }
    let mut cross = crossing("syscall/getppid");
    let groups = tollgate_measure::counters::groups();
    let counted = count(&mut Kernel::new(), &groups, &[0], || {
        cross();
        Ok::<u64, Refusal>(CROSSINGS)
    });
    for Counted { counter, per_crossing } in counted.expect("it crosses") {
        match per_crossing {
            Ok(figure) => {
                assert!(figure >= 0.0, "{}: {figure}", counter.name());
                tell(&format!("judged {}", counter.name()), figure);
            }
            Err(why) => tell(&format!("judged {}", counter.name()), why),
        }
    }
}

#[test]
fn of_a_group_too_large_only_what_fits_is_counted() {
    if let Some(why) = absent() {
        return skip!("no hardware counters here: {why}");
    }
    // No processor has sixteen counters that count cycles.
    let group = vec![Counter { event: Event::Cycles, mode: Mode::User }; 16];
    let refused = Kernel::new().open(&group, 0).expect_err("sixteen do not fit");
    tell("too large at", refused.counter);
    tell("too large errno", refused.errno);
    let run = || {
        spin(100_000);
        Ok::<u64, Refusal>(1)
    };
    let counted =
        count(&mut Kernel::new(), std::slice::from_ref(&group), &[0], run).expect("the work goes well");
    for (at, counter) in counted.iter().enumerate() {
        match &counter.per_crossing {
            Ok(cycles) => assert!(at < refused.counter && *cycles > 0.0, "{at}: {cycles}"),
            Err(CounterError::Refused(why)) => {
                assert!(at >= refused.counter && why.errno == refused.errno, "{at}")
            }
            // A group that opens may still find no room, or not advance in a virtual machine: a missing figure is not a
            // wrong one.
            Err(CounterError::Multiplexed(_) | CounterError::NeverRan | CounterError::Zero) => {}
            Err(why) => panic!("{at}: {why}"),
        }
    }
}

#[test]
fn counters_that_take_turns_give_no_figure() {
    if let Some(why) = absent() {
        return skip!("no hardware counters here: {why}");
    }
    // Sixteen pairs for this task take turns on whatever counters there are.
    let cycles = vec![Counter { event: Event::Cycles, mode: Mode::User }; 2];
    let mut others = Kernel::new();
    let opened: Vec<usize> =
        (0..16).map(|_| others.open(&cycles, 0).expect("each pair alone fits")).collect();
    // A turn lasts for a tick; this is long enough for all to run.
    let mut shares = Vec::new();
    let counted = count(&mut Kernel::new(), &[cycles], &[0], || {
        while shares.len() < 40 {
            spin(200_000);
            let reading = others.read(opened[0]).expect("it can be read");
            shares.push(reading.running as f64 / reading.enabled as f64);
        }
        Ok::<u64, Refusal>(1)
    })
    .expect("the work goes well");
    tell("share of a turn", format!("{:.2}", shares.last().copied().unwrap_or(1.0)));
    for counter in counted {
        match counter.per_crossing {
            Err(why @ (CounterError::Multiplexed(_) | CounterError::NeverRan)) => tell("took turns", why),
            other => panic!("{other:?}"),
        }
    }
}
