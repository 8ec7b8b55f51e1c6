//! A loop that itself costs a sixteenth of a cycle for each pass, for crossings of a few cycles.

/// Evaluates the expression `passes` times, sixteen times for each iteration of the loop, so that the loop's counter and
/// branch (one cycle for each iteration) do not show in the figure. Longer batches are whole multiples of sixteen (`power_of_two`
/// of the sampler).
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
