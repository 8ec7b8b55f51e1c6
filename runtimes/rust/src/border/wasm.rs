//! Calls between a program and WebAssembly in it: wasmtime.

pub mod component;

use super::{Border, Entered, eight};
use crate::protocol::{Params, fail};
use std::hint::black_box;
use wasmtime::{Caller, Engine, Instance, Linker, Memory, Module, Store, TypedFunc, WasmParams, WasmResults};

/// What a module and a component have: both sides count calls with the right arguments, the guest in its memory at
/// [`COUNTER`], the program in [`Host`].
macro_rules! functions {
    () => {
        r#"
  (memory (export "memory") 1)
  (func $count (i64.store (i32.const 1024) (i64.add (i64.load (i32.const 1024)) (i64.const 1))))
  (func (export "down") (call $count))
  (func (export "down_eight") (param i64 i64 i64 i64 i64 i64 i64 i64) (result i64)
    (local $sum i64)
    (local.set $sum
      (i64.add (i64.add (i64.add (local.get 0) (local.get 1)) (i64.add (local.get 2) (local.get 3)))
               (i64.add (i64.add (local.get 4) (local.get 5)) (i64.add (local.get 6) (local.get 7)))))
    (if (i64.eq (local.get $sum) (i64.const 36)) (then (call $count)))
    (local.get $sum))
  (func (export "down_text") (param $at i32) (param $length i32)
    (if (i32.and (i32.eq (local.get $length) (i32.const 100))
                 (i32.eq (i32.load8_u offset=99 (local.get $at)) (i32.const 120)))
      (then (call $count))))
  (func (export "back") (call $count) (call $callee))
  (func (export "up") (param $calls i64)
    (loop $again
      (call $callee)
      (br_if $again (i64.ne (i64.const 0)
        (local.tee $calls (i64.sub (local.get $calls) (i64.const 1)))))))
"#
    };
}
use functions;

const MODULE: &str = concat!(
    r#"
(module
  (import "host" "callee" (func $callee))
  (import "host" "eight" (func $eight (param i64 i64 i64 i64 i64 i64 i64 i64) (result i64)))
  (import "host" "text" (func $text (param i32 i32)))"#,
    functions!(),
    r#"
  (func (export "up_eight") (param $calls i64)
    (loop $again
      (drop (call $eight (i64.const 1) (i64.const 2) (i64.const 3) (i64.const 4)
                         (i64.const 5) (i64.const 6) (i64.const 7) (i64.const 8)))
      (br_if $again (i64.ne (i64.const 0)
        (local.tee $calls (i64.sub (local.get $calls) (i64.const 1)))))))
  (func (export "up_text") (param $calls i64)
    (loop $again
      (call $text (i32.const 0) (i32.const 100))
      (br_if $again (i64.ne (i64.const 0)
        (local.tee $calls (i64.sub (local.get $calls) (i64.const 1)))))))
)
"#
);

const COUNTER: usize = 1024;

/// What the host counts, and what it needs for a text.
#[derive(Default)]
struct Host {
    entered: u64,
    copied: u64,
    memory: Option<Memory>,
}

type Eight = (i64, i64, i64, i64, i64, i64, i64, i64);

fn linker(engine: &Engine) -> wasmtime::Result<Linker<Host>> {
    let mut linker = Linker::new(engine);
    linker.func_wrap("host", "callee", |mut host: Caller<'_, Host>| host.data_mut().entered += 1)?;
    linker.func_wrap(
        "host",
        "eight",
        |mut host: Caller<'_, Host>, a: i64, b: i64, c: i64, d: i64, e: i64, f: i64, g: i64, h: i64| {
            let sum = a + b + c + d + e + f + g + h;
            host.data_mut().entered += u64::from(sum == 36);
            sum
        },
    )?;
    // The usual way of a host: bytes of the memory become a text of its own.
    linker.func_wrap("host", "text", |mut host: Caller<'_, Host>, at: u32, length: u32| {
        let Some(memory) = host.data().memory else { return };
        let (bytes, host) = memory.data_and_store_mut(&mut host);
        let range = at as usize..at as usize + length as usize;
        let text = bytes.get(range).and_then(|bytes| std::str::from_utf8(bytes).ok());
        let text = black_box(text.map(str::to_owned)).unwrap_or_default();
        host.copied += 1;
        host.entered += u64::from(text.len() == 100 && text.ends_with('x'));
    })?;
    Ok(linker)
}

/// An instance of the module.
struct Guest {
    store: Store<Host>,
    instance: Instance,
    memory: Memory,
}

impl Guest {
    fn new() -> wasmtime::Result<Self> {
        let engine = Engine::default();
        let module = Module::new(&engine, MODULE)?;
        let mut store = Store::new(&engine, Host::default());
        let instance = linker(&engine)?.instantiate(&mut store, &module)?;
        let Some(memory) = instance.get_memory(&mut store, "memory") else {
            fail("the module has no memory")
        };
        memory.write(&mut store, 0, &[b'x'; 100])?;
        store.data_mut().memory = Some(memory);
        Ok(Self { store, instance, memory })
    }

    fn function<P: WasmParams, R: WasmResults>(&mut self, name: &str) -> TypedFunc<P, R> {
        or_fail(self.instance.get_typed_func(&mut self.store, name))
    }

    /// The host calls the module.
    fn down(self, mut call: impl FnMut(&mut Self) + 'static) -> Box<dyn Border> {
        let call = move |guest: &mut Self, calls| (0..calls).for_each(|_| call(guest));
        Box::new(Calling { guest: self, call })
    }

    /// A loop of the module calls the host.
    fn up(mut self, name: &str) -> Box<dyn Border> {
        let again = self.function::<u64, ()>(name);
        let call = move |guest: &mut Self, calls| or_fail(again.call(&mut guest.store, calls));
        Box::new(Calling { guest: self, call })
    }
}

/// A guest, and what makes so many calls at a time.
struct Calling<G, F> {
    guest: G,
    call: F,
}

impl<F: FnMut(&mut Guest, u64)> Border for Calling<Guest, F> {
    fn call(&mut self, calls: u64) {
        (self.call)(&mut self.guest, calls);
    }

    fn entered(&mut self) -> Entered {
        let mut eight = [0; 8];
        eight.copy_from_slice(&self.guest.memory.data(&self.guest.store)[COUNTER..COUNTER + 8]);
        let host = self.guest.store.data();
        Entered { callee: u64::from_le_bytes(eight), caller: host.entered, copies: host.copied }
    }
}

fn or_fail<T>(result: wasmtime::Result<T>) -> T {
    result.unwrap_or_else(|error| fail(&format!("wasmtime: {error:#}")))
}

/// Calls into the module, and calls of the module.
pub fn open(params: &Params) -> Box<dyn Border> {
    let mut guest = or_fail(Guest::new());
    match params.mechanism.as_str() {
        name @ ("down" | "back") => {
            let function = guest.function::<(), ()>(name);
            guest.down(move |guest| or_fail(function.call(&mut guest.store, ())))
        }
        "down-8" => {
            let function = guest.function::<Eight, i64>("down_eight");
            let numbers: Eight = eight().into();
            guest.down(move |guest| _ = black_box(or_fail(function.call(&mut guest.store, numbers))))
        }
        "down-text" => {
            let function = guest.function::<(u32, u32), ()>("down_text");
            let text = black_box("x".repeat(100));
            guest.down(move |guest| {
                // Outside of what the module calls the host with.
                const AT: u32 = 256;
                if guest.memory.write(&mut guest.store, AT as usize, text.as_bytes()).is_err() {
                    fail("the text does not fit into the module's memory");
                }
                guest.store.data_mut().copied += 1;
                or_fail(function.call(&mut guest.store, (AT, text.len() as u32)))
            })
        }
        "up" => guest.up("up"),
        "up-8" => guest.up("up_eight"),
        "up-text" => guest.up("up_text"),
        other => fail(&format!("unknown mechanism: {other}")),
    }
}
