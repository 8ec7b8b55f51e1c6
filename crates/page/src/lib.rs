//! The lab for a page: one [`Session`], whose [`call`](Session::call) takes a request as JSON and answers with JSON, as
//! `web/src/protocol.ts` describes them.
//!
//! The page runs it as WebAssembly in a worker, by the exports of `exports`; tests and the equality check call the same
//! function natively. A session reads no file and no clock, and prints nothing.
//!
//! ```
//! let mut session = tollgate_page::Session::default();
//! let answer = session.call(r#"{"op": "assemble", "files": [{"name": "main.s", "text": "  adi a0, a0, 1"}]}"#);
//! assert!(answer.contains("did you mean `addi`?"), "{answer}");
//! ```

mod assemble;
mod caches;
mod csrs;
#[cfg(target_arch = "wasm32")]
mod exports;
mod failure;
mod lists;
mod pipeline;
mod program;
mod request;
mod running;
mod session;
mod sheets;
mod state;
mod trap_walk;
mod walk;
mod words;

pub use session::Session;
