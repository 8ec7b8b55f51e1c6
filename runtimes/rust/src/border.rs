//! The yardsticks of the borders between languages: calls from Rust to Rust in one image, through a shared library and
//! through a trait object.

mod callee;
#[cfg(feature = "wasmtime")]
pub mod wasm;

use crate::protocol::{Counts, Course, Params, fail, resident};
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

/// The calls of one mechanism.
struct Calls<'p, C> {
    params: &'p Params,
    before: u64,
    text: String,
    /// Calls and copies that the callee counted.
    counted: C,
}

impl<'p, C: Fn() -> [u64; 2]> Calls<'p, C> {
    /// `hand` tells the callee where the caller's text is.
    fn new(params: &'p Params, hand: impl FnOnce(*mut u8), counted: C) -> Self {
        let mut text = "x".repeat(100);
        hand(text.as_mut_ptr());
        Self { params, before: resident(), text, counted }
    }

    fn counts(&self) -> Counts {
        let [entered, copies] = (self.counted)();
        let called = CALLED.load(Relaxed);
        if self.params.mechanism == "back" && called != entered {
            fail(&format!("the callee counted {entered} calls and the caller {called}"));
        }
        Counts { resumes: entered, copies: Some(copies), ..Counts::default() }
    }

    #[inline(always)]
    fn run(mut self, mut call: impl FnMut(&str)) -> ! {
        let text = std::mem::take(&mut self.text);
        let course = Course::new(self.params, self.before).run(&mut (), |()| self.counts(), |()| call(&text));
        course.finish("Rust", &[], &[], false)
    }
}

/// Numbers that the compiler does not know.
fn eight() -> [i64; 8] {
    black_box([1, 2, 3, 4, 5, 6, 7, 8])
}

/// A function of the same program.
pub fn run_image(params: &Params) -> ! {
    let counted = || [callee::callee_entered(), callee::callee_copied()];
    let calls = Calls::new(params, |text| callee::callee_hand(text), counted);
    let [a, b, c, d, e, f, g, h] = eight();
    match params.mechanism.as_str() {
        "down" => calls.run(|_| callee::callee_down()),
        "down-8" => calls.run(|_| {
            black_box(callee::callee_down_eight(a, b, c, d, e, f, g, h));
        }),
        // SAFETY: the text is as long as it says.
        "down-text" => calls.run(|text| unsafe {
            black_box(callee::callee_down_text(text.as_ptr(), text.len()));
        }),
        other => fail(&format!("unknown mechanism: {other}")),
    }
}

/// A function of a shared library that is opened when the program runs, called through its pointer.
pub fn run_shared(params: &Params) -> ! {
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
    let calls = Calls::new(params, |text| hand(text), || [entered(), copied()]);
    let [a, b, c, d, e, f, g, h] = eight();
    match params.mechanism.as_str() {
        "down" => calls.run(|_| down()),
        "down-8" => calls.run(|_| {
            black_box(down_eight(a, b, c, d, e, f, g, h));
        }),
        // SAFETY: the text is as long as it says.
        "down-text" => calls.run(|text| unsafe {
            black_box(down_text(text.as_ptr(), text.len()));
        }),
        "back" => calls.run(|_| back(called)),
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
pub fn run_trait(params: &Params) -> ! {
    let counting = Counting::default();
    let counted = || [counting.entered.get(), counting.copied.get()];
    let calls = Calls::new(params, |text| counting.handed.set(text.addr()), counted);
    let callee: &dyn Callee = black_box(&counting);
    let numbers = eight();
    match params.mechanism.as_str() {
        "down" => calls.run(|_| callee.down()),
        "down-8" => calls.run(|_| {
            black_box(callee.down_eight(numbers));
        }),
        "down-text" => calls.run(|text| {
            black_box(callee.down_text(text));
        }),
        other => fail(&format!("unknown mechanism: {other}")),
    }
}
