//! The runtimes in Rust, with the protocol of `runtimes/PROTOCOL.md`.

mod bare_async;
mod border;
mod clock;
mod coro;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
mod own;
mod park;
mod protocol;
mod tokio_tasks;

use protocol::{Params, skip};

fn main() {
    // Tasks of some runtimes must live until the process exits.
    let each: &'static [Params] = Params::each().leak();
    let params = &each[0];
    match (params.runtime.as_str(), params.mechanism.as_str()) {
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
        ("own", _) => own::run(params),
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
        ("own", _) => skip("the switch is not written for this architecture"),
        ("corosensei", "yield") => coro::run(params),
        ("rust-async", "poll") => bare_async::run(params),
        ("tokio", "yield") => tokio_tasks::run_yield(params),
        ("tokio", "channel") => tokio_tasks::run_channel(params),
        ("rust-thread", "park") => park::run(params),
        ("image", _) => border::run(each, "Rust", border::image),
        ("shared-library", _) => border::run(each, "Rust", border::shared),
        ("trait-object", _) => border::run(each, "Rust", border::trait_object),
        #[cfg(feature = "wasmtime")]
        ("wasmtime", _) => border::run(each, "wasmtime 48", border::wasm::open),
        #[cfg(feature = "wasmtime")]
        ("component", _) => border::run(each, "wasmtime 48", border::wasm::component::open),
        (runtime, mechanism) => skip(&format!("{runtime} has no mechanism {mechanism}")),
    }
}
