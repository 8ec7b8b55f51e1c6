//! The calls without arguments of wasmtime's own `benches/call.rs`, typed and without hooks: nanoseconds from the host into
//! WebAssembly, and from WebAssembly to the host. It is built beside the program that tollgate measures, so both have one
//! wasmtime and one profile.

use std::time::{Duration, Instant};
use wasmtime::{Engine, Linker, Module, Store, TypedFunc};

const MODULE: &str = r#"(module
  (import "" "nop" (func $nop))
  (func (export "nop"))
  (func (export "run") (param i64)
    loop
      call $nop
      local.get 0
      i64.const -1
      i64.add
      local.tee 0
      i64.const 0
      i64.ne
      br_if 0
    end))"#;

const SAMPLES: usize = 300;
const CALLS: u64 = 10_000;

fn main() -> wasmtime::Result<()> {
    let engine = Engine::default();
    let mut linker = Linker::new(&engine);
    linker.func_wrap("", "nop", || {})?;
    let mut store = Store::new(&engine, ());
    let instance = linker.instantiate(&mut store, &Module::new(&engine, MODULE)?)?;
    let into: TypedFunc<(), ()> = instance.get_typed_func(&mut store, "nop")?;
    let out: TypedFunc<u64, ()> = instance.get_typed_func(&mut store, "run")?;
    let into = lowest(|| (0..CALLS).try_for_each(|_| into.call(&mut store, ())))?;
    let out = lowest(|| out.call(&mut store, CALLS))?;
    println!("in {into:.3}\nout {out:.3}");
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
