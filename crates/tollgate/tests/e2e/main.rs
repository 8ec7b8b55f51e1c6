//! The program as its users call it: what goes right, and bad input and bad places.
//! A program of its own, because it measures and must run alone; the simulations are in `all`.
#![allow(clippy::print_stderr, reason = "tests say which case failed")]

mod bad_input;
mod case;
mod comparing;
mod crossing;
mod examples;
mod exchange;
mod exec;
mod fault;
mod guests;
mod happy;
mod help;
mod json;
mod output;
mod own;
mod places;
mod plug;
mod processes;
mod progress;
mod refused;
mod report;
mod ring;
mod sandboxes;
mod scene;
mod signals;
mod sources;
mod stores;
mod switch;
mod views;

use case::Case;

/// Every table of cases.
fn tables() -> Vec<(&'static str, &'static [Case])> {
    vec![
        ("bad input", bad_input::CASES),
        ("comparing", comparing::CASES),
        ("crossing", crossing::CASES),
        ("exchange", exchange::CASES),
        ("guests", guests::CASES),
        ("output", output::CASES),
        ("own", own::CASES),
        ("killed", sandboxes::killed::CASES),
        ("places", places::CASES),
        ("refused", refused::CASES),
        ("report", report::CASES),
        ("signals", signals::CASES),
        ("sources", sources::CASES),
        ("stores", stores::CASES),
    ]
}

#[test]
fn the_tables_have_many_cases_and_each_its_own_name() {
    let names: Vec<_> = tables().iter().flat_map(|(_, cases)| cases.iter().map(|case| case.name)).collect();
    let different: std::collections::BTreeSet<_> = names.iter().collect();
    assert_eq!(different.len(), names.len());
    assert!(names.len() >= 60, "{} cases", names.len());
}
