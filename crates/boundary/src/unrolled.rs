//! A loop whose own cost is a sixteenth of a cycle a pass, for crossings of a few cycles.

/// Evaluates the expression `passes` times, sixteen times for each turn of the loop, so that the
/// loop's counter and branch (one cycle a turn) cannot show in the figure.
macro_rules! unrolled {
    ($passes:expr, $pass:expr) => {{
        let passes: u64 = $passes;
        for _ in 0..passes / 16 {
            $pass;
            $pass;
            $pass;
            $pass;
            $pass;
            $pass;
            $pass;
            $pass;
            $pass;
            $pass;
            $pass;
            $pass;
            $pass;
            $pass;
            $pass;
            $pass;
        }
        for _ in 0..passes % 16 {
            $pass;
        }
    }};
}
