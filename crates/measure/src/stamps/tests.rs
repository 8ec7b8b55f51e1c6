use super::*;
use proptest::prelude::*;

/// Ticks of a counter at `hz` that was at `zero` when the system's clock was at 0.
fn ticks(hz: f64, zero: f64, ns: f64) -> f64 {
    zero + ns * hz / 1e9
}

#[test]
fn the_tight_brackets_make_the_anchor() {
    // Eight brackets: the two tightest are 40 wide, around 1,020 and 1,120 ticks.
    let mut brackets: Vec<Bracket> =
        (0..6).map(|i| Bracket { before: 2_000 + i * 100, ns: 7_777, after: 2_090 + i * 100 }).collect();
    brackets.push(Bracket { before: 1_000, ns: 500, after: 1_040 });
    brackets.push(Bracket { before: 1_100, ns: 550, after: 1_140 });
    assert_eq!(Anchor::of(&brackets), Some(Anchor { ticks: 1_070.0, ns: 525.0, width: 40.0 }));
}

#[test]
fn a_bracket_that_ran_backwards_is_none() {
    let backwards = Bracket { before: 100, ns: 1, after: 99 };
    assert_eq!(Anchor::of(&[backwards]), None);
    assert_eq!(Anchor::of(&[]), None);
    let good = Bracket { before: 10, ns: 4, after: 20 };
    assert_eq!(Anchor::of(&[backwards, good]), Some(Anchor { ticks: 15.0, ns: 4.0, width: 10.0 }));
}

#[test]
fn anchors_that_do_not_lie_apart_map_nothing() {
    let at = |ticks, ns| Anchor { ticks, ns, width: 40.0 };
    assert!(Mapping::between(at(10.0, 10.0), at(10.0, 20.0)).is_none());
    assert!(Mapping::between(at(10.0, 10.0), at(20.0, 10.0)).is_none());
    assert!(Mapping::between(at(20.0, 20.0), at(10.0, 10.0)).is_none());
    assert!(Mapping::between(at(10.0, 10.0), at(20.0, 20.0)).is_some());
}

proptest! {
    /// Known parts are put in on a simulated pair of clocks, and come out again.
    #[test]
    fn the_parts_that_were_put_in_come_out(
        hz in 1.0e9..5.0e9_f64, start in 1.0e9..1.0e12_f64,
        way_in in 50.0..5_000.0_f64, way_out in 50.0..5_000.0_f64, pair in 0.0..60.0_f64,
    ) {
        let anchor = |ns: f64| Anchor { ticks: ticks(hz, 1e6, ns), ns, width: 90.0 };
        let mapping = Mapping::between(anchor(start), anchor(start + 5e6)).unwrap();
        // A crossing two milliseconds on: each stamp of user mode costs half a pair beyond its reading.
        let inside_ns = (start + 2e6).floor();
        let inside = ticks(hz, 1e6, inside_ns);
        let before = (inside - way_in - pair / 2.0).round() as u64;
        let after = (inside + way_out + pair / 2.0).round() as u64;
        let found_in = mapping.length(Span::into_kernel(before, inside_ns as u64), pair);
        let found_out = mapping.length(Span::out_of_kernel(inside_ns as u64, after), pair);
        let whole = mapping.length(Span::user(before, after), pair);
        // Half a tick of rounding, and the grain of a float of that size.
        prop_assert!((found_in - way_in).abs() < 1.0, "{found_in} for {way_in}");
        prop_assert!((found_out - way_out).abs() < 1.0, "{found_out} for {way_out}");
        prop_assert!((found_in + found_out - whole).abs() < 1e-3);
    }
}

/// A counter that advances by 26 ticks at once, of which a stamp takes 61: every single difference is 52 or 78.
#[test]
fn a_stamp_is_known_more_exactly_than_the_counter_counts() {
    thread_local!(static TICKS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) });
    fn coarse() -> u64 {
        TICKS.set(TICKS.get() + 61);
        TICKS.get() / 26 * 26
    }
    assert!((pair_ticks(coarse) - 61.0).abs() < 0.5, "{}", pair_ticks(coarse));
}
