//! The exports of the WebAssembly module: memory for a request, the answer to it, and the message of a panic.
//!
//! The worker writes a request to [`request`] and calls [`answer`]. The module needs no imports.

use std::cell::RefCell;
use std::panic;

use crate::Session;

/// The state of the module, which has one thread.
#[derive(Default)]
struct Module {
    session: Session,
    request: Vec<u8>,
    answer: String,
}

thread_local! {
    static MODULE: RefCell<Module> = RefCell::default();
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Room for a request of so many bytes. It stays valid until the next call.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn request(length: usize) -> *mut u8 {
    MODULE.with_borrow_mut(|module| {
        module.request.clear();
        module.request.resize(length, 0);
        module.request.as_mut_ptr()
    })
}

/// Answers the request that was written; returns the length of the answer.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn answer() -> usize {
    panic::set_hook(Box::new(|info| PANIC.set(info.to_string())));
    MODULE.with_borrow_mut(|module| {
        let request = std::mem::take(&mut module.request);
        module.answer = module.session.call(&String::from_utf8_lossy(&request));
        module.answer.len()
    })
}

/// Where the answer is.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn answer_text() -> *const u8 {
    MODULE.with_borrow(|module| module.answer.as_ptr())
}

/// Where the message of a panic is, after the module has trapped; it ends with a zero byte.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn panic_text() -> *const u8 {
    PANIC.with_borrow_mut(|text| {
        text.push('\0');
        text.as_ptr()
    })
}
