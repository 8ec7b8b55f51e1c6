//! The calls without arguments of wasmtime's own `benches/call.rs`, typed and without hooks: nanoseconds from the host into
//! WebAssembly, and from WebAssembly to the host; and the same with callees that count, as tollgate's do. It is built beside
//! the program that tollgate measures, so both have one wasmtime and one profile.

use std::time::{Duration, Instant};
use wasmtime::{Caller, Engine, Linker, Module, Store, TypedFunc};

/// What each callee does in WebAssembly.
const CALLEES: [(&str, &str); 2] = [
    ("nop", ""),
    ("count", "(i64.store (i32.const 1024) (i64.add (i64.load (i32.const 1024)) (i64.const 1)))"),
];

/// A callee for the host, and a loop that calls the host's.
fn module(callee: &str, body: &str) -> String {
    format!(
        r#"(module
  (import "" "{callee}" (func $out))
  (memory 1)
  (func (export "into") {body})
  (func (export "out-of") (param i64)
    loop
      call $out
      local.get 0
      i64.const -1
      i64.add
      local.tee 0
      i64.const 0
      i64.ne
      br_if 0
    end))"#
    )
}

const SAMPLES: usize = 300;
const CALLS: u64 = 10_000;

fn main() -> wasmtime::Result<()> {
    let engine = Engine::default();
    let mut linker = Linker::new(&engine);
    linker.func_wrap("", "nop", || {})?;
    linker.func_wrap("", "count", |mut host: Caller<'_, u64>| *host.data_mut() += 1)?;
    let mut store = Store::new(&engine, 0_u64);
    for (callee, body) in CALLEES {
        let instance = linker.instantiate(&mut store, &Module::new(&engine, module(callee, body))?)?;
        let into: TypedFunc<(), ()> = instance.get_typed_func(&mut store, "into")?;
        let out: TypedFunc<u64, ()> = instance.get_typed_func(&mut store, "out-of")?;
        println!("into-{callee} {:.3}", lowest(|| (0..CALLS).try_for_each(|_| into.call(&mut store, ())))?);
        println!("out-of-{callee} {:.3}", lowest(|| out.call(&mut store, CALLS))?);
    }
    Ok(())
}

/// Nanoseconds for each call in the lowest tenth of the samples, which is what tollgate reports of its batches.
fn lowest(mut calls: impl FnMut() -> wasmtime::Result<()>) -> wasmtime::Result<f64> {
    let mut sample = || {
        let start = Instant::now();
        calls()?;
        Ok::<Duration, wasmtime::Error>(start.elapsed())
    };
    for _ in 0..SAMPLES {
        sample()?;
    }
    let mut times = (0..SAMPLES).map(|_| sample()).collect::<Result<Vec<_>, _>>()?;
    times.sort();
    Ok(times[SAMPLES / 10].as_nanos() as f64 / CALLS as f64)
}
