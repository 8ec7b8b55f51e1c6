//! An extension of CPython in Rust: what `extension.c` does, with PyO3 over Python's stable ABI.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

static ENTERED: AtomicU64 = AtomicU64::new(0);
static COPIED: AtomicU64 = AtomicU64::new(0);
static HANDED: AtomicUsize = AtomicUsize::new(0);

/// Adds without a locked instruction: only one thread counts.
fn count(counter: &AtomicU64, more: bool) {
    counter.store(counter.load(Relaxed) + u64::from(more), Relaxed);
}

/// What Rust and Python call each other by.
#[pymodule]
mod pyo3_extension {
    use super::*;

    #[pyfunction]
    fn down() {
        count(&ENTERED, true);
    }

    #[pyfunction]
    fn down_released(py: Python<'_>) {
        py.detach(|| count(&ENTERED, true));
    }

    #[pyfunction]
    #[allow(clippy::too_many_arguments, reason = "eight is what is measured")]
    fn down_eight(a: i64, b: i64, c: i64, d: i64, e: i64, f: i64, g: i64, h: i64) -> i64 {
        let sum = a + b + c + d + e + f + g + h;
        count(&ENTERED, sum == 36);
        sum
    }

    #[pyfunction]
    fn down_text(text: &str) -> usize {
        count(&ENTERED, text.len() == 100 && text.ends_with('x'));
        count(&COPIED, text.as_ptr().addr() != HANDED.load(Relaxed));
        text.len()
    }

    #[pyfunction]
    fn back(callee: &Bound<'_, PyAny>) -> PyResult<()> {
        count(&ENTERED, true);
        callee.call0().map(drop)
    }

    // The loops that call Python so many times.

    #[pyfunction]
    fn up(calls: u64, callee: &Bound<'_, PyAny>) -> PyResult<()> {
        (0..calls).try_for_each(|_| callee.call0().map(drop))
    }

    /// Each call takes the lock and the state of its thread, as one from a thread that Python did not make.
    #[pyfunction]
    fn up_attached(py: Python<'_>, calls: u64, callee: Py<PyAny>) -> PyResult<()> {
        py.detach(|| (0..calls).try_for_each(|_| Python::attach(|py| callee.call0(py).map(drop))))
    }

    #[pyfunction]
    fn up_eight(calls: u64, callee: &Bound<'_, PyAny>) -> PyResult<()> {
        (0..calls).try_for_each(|_| {
            callee.call1((1_i64, 2_i64, 3_i64, 4_i64, 5_i64, 6_i64, 7_i64, 8_i64)).map(drop)
        })
    }

    #[pyfunction]
    fn up_text(calls: u64, callee: &Bound<'_, PyAny>, text: &[u8]) -> PyResult<()> {
        let text = std::str::from_utf8(text).map_err(|error| PyValueError::new_err(error.to_string()))?;
        (0..calls).try_for_each(|_| {
            let own = PyString::new(callee.py(), text);
            count(&COPIED, own.to_str()?.as_ptr() != text.as_ptr());
            callee.call1((own,)).map(drop)
        })
    }

    /// Where the caller has its text.
    #[pyfunction]
    fn hand(text: &str) {
        HANDED.store(text.as_ptr().addr(), Relaxed);
    }

    #[pyfunction]
    fn counts() -> (u64, u64) {
        (ENTERED.load(Relaxed), COPIED.load(Relaxed))
    }
}
