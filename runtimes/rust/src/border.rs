//! The yardsticks of the borders between languages: calls from Rust to Rust in one image, through a shared library and
//! through a trait object. The rows of a run take turns.

mod callee;
#[cfg(feature = "wasmtime")]
pub mod wasm;

use crate::protocol::{Counts, Course, Params, fail, leave, resident};
use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

type Down = extern "C" fn();
type Eight = extern "C" fn(i64, i64, i64, i64, i64, i64, i64, i64) -> i64;
type Text = unsafe extern "C" fn(*const u8, usize) -> usize;
type Back = extern "C" fn(extern "C" fn());

/// Calls that came back.
static CALLED: AtomicU64 = AtomicU64::new(0);

extern "C" fn called() {
    CALLED.store(CALLED.load(Relaxed) + 1, Relaxed);
}

/// What was counted so far, by whichever row.
#[derive(Clone, Copy)]
pub struct Entered {
    /// Calls, by the callee.
    pub callee: u64,
    /// Calls, by the caller that is called back.
    pub caller: u64,
    /// Texts that were copied on their way.
    pub copies: u64,
}

/// The calls of one mechanism.
pub trait Border {
    fn call(&mut self, calls: u64);
    fn entered(&mut self) -> Entered;
}

/// A border that takes turns with others.
struct Turn {
    params: &'static Params,
    border: Box<dyn Border>,
    course: Course<'static>,
    /// Of this border's batches.
    counts: Counts,
}

impl Turn {
    /// One batch; `false` after the last one. The others had the caches before it, so an eighth of it runs outside the clock.
    fn batch(&mut self) -> bool {
        self.border.call(self.params.batch.div_ceil(8));
        let (before, counts) = (self.border.entered(), self.counts);
        let Some(calls) = self.course.begin(|| counts) else { return false };
        self.border.call(calls);
        self.course.end();
        let after = self.border.entered();
        let (callee, caller) = (after.callee - before.callee, after.caller - before.caller);
        let is_back = self.params.mechanism == "back";
        if is_back && callee != caller {
            fail(&format!("the callee counted {callee} calls and the caller {caller}"));
        }
        self.counts.resumes += if is_back { callee } else { callee + caller };
        self.counts.copies = Some(counts.copies.unwrap_or(0) + after.copies - before.copies);
        true
    }
}

/// Warms each border up, then lets them take turns, batch by batch.
pub fn run(each: &'static [Params], version: &str, open: fn(&Params) -> Box<dyn Border>) -> ! {
    let warmed = each.iter().map(|params| {
        let before = resident();
        let mut border = open(params);
        border.call(1);
        let counts = Counts { copies: Some(0), ..Counts::default() };
        let mut turn = Turn { params, border, course: Course::new(params, before), counts };
        while !turn.course.is_warm() {
            turn.batch();
        }
        turn
    });
    let mut turns: Vec<Turn> = warmed.collect();
    let mut again = true;
    while again {
        again = false;
        for turn in &mut turns {
            again |= turn.batch();
        }
    }
    let transcripts = turns.into_iter().map(|turn| turn.course.transcript(version, &[], &[], false));
    leave(&transcripts.collect::<String>())
}

/// Two closures as a border.
struct Calls<F, C> {
    call: F,
    counted: C,
}

impl<F: FnMut(u64), C: FnMut() -> [u64; 2]> Border for Calls<F, C> {
    fn call(&mut self, calls: u64) {
        (self.call)(calls);
    }

    fn entered(&mut self) -> Entered {
        let [callee, copies] = (self.counted)();
        Entered { callee, caller: CALLED.load(Relaxed), copies }
    }
}

/// A border that repeats a call. `counted` reads calls and copies that the callee counted.
fn repeated(
    mut call: impl FnMut() + 'static,
    counted: impl FnMut() -> [u64; 2] + 'static,
) -> Box<dyn Border> {
    let call = move |calls| {
        for _ in 0..calls {
            call();
        }
    };
    Box::new(Calls { call, counted })
}

/// A text that the compiler does not know. `hand` tells the callee where it is.
fn text(hand: impl FnOnce(*mut u8)) -> &'static str {
    let text = "x".repeat(100).leak();
    hand(text.as_mut_ptr());
    text
}

/// Numbers that the compiler does not know.
fn eight() -> [i64; 8] {
    black_box([1, 2, 3, 4, 5, 6, 7, 8])
}

/// A function of the same program.
pub fn image(params: &Params) -> Box<dyn Border> {
    let counted = || [callee::callee_entered(), callee::callee_copied()];
    let [a, b, c, d, e, f, g, h] = eight();
    match params.mechanism.as_str() {
        "down" => repeated(|| callee::callee_down(), counted),
        "down-8" => {
            let call = move || {
                black_box(callee::callee_down_eight(a, b, c, d, e, f, g, h));
            };
            repeated(call, counted)
        }
        "down-text" => {
            let text = text(|text| callee::callee_hand(text));
            // SAFETY: the text is as long as it says.
            let call = move || unsafe {
                black_box(callee::callee_down_text(text.as_ptr(), text.len()));
            };
            repeated(call, counted)
        }
        other => fail(&format!("unknown mechanism: {other}")),
    }
}

/// A function of a shared library that is opened when the program runs, called through its pointer.
pub fn shared(params: &Params) -> Box<dyn Border> {
    use std::mem::transmute;
    type Counter = extern "C" fn() -> u64;
    // SAFETY: the library is that of the same build, and these are the types of its functions.
    let (entered, copied, hand, down, down_eight, down_text, back) = unsafe {
        let library = libc::dlopen(c"./libcallee.so".as_ptr(), libc::RTLD_NOW);
        if library.is_null() {
            fail("libcallee.so cannot be opened");
        }
        let symbol = |name: &CStr| {
            let found = libc::dlsym(library, name.as_ptr());
            if found.is_null() { fail(&format!("libcallee.so has no {name:?}")) } else { found }
        };
        (
            transmute::<*mut c_void, Counter>(symbol(c"callee_entered")),
            transmute::<*mut c_void, Counter>(symbol(c"callee_copied")),
            transmute::<*mut c_void, extern "C" fn(*mut u8)>(symbol(c"callee_hand")),
            transmute::<*mut c_void, Down>(symbol(c"callee_down")),
            transmute::<*mut c_void, Eight>(symbol(c"callee_down_eight")),
            transmute::<*mut c_void, Text>(symbol(c"callee_down_text")),
            transmute::<*mut c_void, Back>(symbol(c"callee_back")),
        )
    };
    let counted = move || [entered(), copied()];
    let [a, b, c, d, e, f, g, h] = eight();
    match params.mechanism.as_str() {
        "down" => repeated(move || down(), counted),
        "down-8" => {
            let call = move || {
                black_box(down_eight(a, b, c, d, e, f, g, h));
            };
            repeated(call, counted)
        }
        "down-text" => {
            let text = text(|text| hand(text));
            // SAFETY: the text is as long as it says.
            let call = move || unsafe {
                black_box(down_text(text.as_ptr(), text.len()));
            };
            repeated(call, counted)
        }
        "back" => repeated(move || back(called), counted),
        other => fail(&format!("unknown mechanism: {other}")),
    }
}

/// What a trait object does.
trait Callee {
    fn down(&self);
    fn down_eight(&self, numbers: [i64; 8]) -> i64;
    fn down_text(&self, text: &str) -> usize;
}

/// Counts like the functions.
#[derive(Default)]
struct Counting {
    entered: Cell<u64>,
    copied: Cell<u64>,
    handed: Cell<usize>,
}

impl Callee for Counting {
    fn down(&self) {
        self.entered.set(self.entered.get() + 1);
    }

    fn down_eight(&self, numbers: [i64; 8]) -> i64 {
        let sum = numbers.iter().sum();
        self.entered.set(self.entered.get() + u64::from(sum == 36));
        sum
    }

    fn down_text(&self, text: &str) -> usize {
        let is_right = text.len() == 100 && text.ends_with('x');
        self.entered.set(self.entered.get() + u64::from(is_right));
        self.copied.set(self.copied.get() + u64::from(text.as_ptr().addr() != self.handed.get()));
        text.len()
    }
}

/// A method of a trait object, of a type that the compiler does not know.
pub fn trait_object(params: &Params) -> Box<dyn Border> {
    let counting: &'static Counting = Box::leak(Box::default());
    let counted = || [counting.entered.get(), counting.copied.get()];
    let callee: &'static dyn Callee = black_box(counting);
    let numbers = eight();
    match params.mechanism.as_str() {
        "down" => repeated(|| callee.down(), counted),
        "down-8" => {
            let call = move || {
                black_box(callee.down_eight(numbers));
            };
            repeated(call, counted)
        }
        "down-text" => {
            let text = text(|text| counting.handed.set(text.addr()));
            let call = move || {
                black_box(callee.down_text(text));
            };
            repeated(call, counted)
        }
        other => fail(&format!("unknown mechanism: {other}")),
    }
}
