//! The same calls between a program and a component: its types and the canonical ABI are between them.

use super::{Calling, Eight, Host, functions, or_fail};
use crate::border::{Border, Entered, eight};
use crate::protocol::{Params, fail};
use std::hint::black_box;
use wasmtime::component::{Component, ComponentNamedList, Instance, Lift, Linker, Lower, TypedFunc};
use wasmtime::{Engine, Store, StoreContextMut};

const COMPONENT: &str = concat!(
    r#"
(component
  (import "callee" (func $callee))
  (core func $lowered (canon lower (func $callee)))
  (core module $module
  (import "host" "callee" (func $callee))"#,
    functions!(),
    r#"
  (func (export "entered") (result i64) (i64.load (i32.const 1024)))
  (func (export "copied") (result i64) (i64.load (i32.const 1032)))
  ;; The canonical ABI asks where it may copy a text to.
  (func (export "place") (param i32 i32 i32 i32) (result i32)
    (i64.store (i32.const 1032) (i64.add (i64.load (i32.const 1032)) (i64.const 1)))
    (i32.const 256)))
  (core instance $inner (instantiate $module (with "host" (instance (export "callee" (func $lowered))))))
  (func (export "entered") (result u64) (canon lift (core func $inner "entered")))
  (func (export "copied") (result u64) (canon lift (core func $inner "copied")))
  (func (export "down") (canon lift (core func $inner "down")))
  (func (export "down-eight")
    (param "a" s64) (param "b" s64) (param "c" s64) (param "d" s64)
    (param "e" s64) (param "f" s64) (param "g" s64) (param "h" s64) (result s64)
    (canon lift (core func $inner "down_eight")))
  (func (export "down-text") (param "text" string)
    (canon lift (core func $inner "down_text")
      (memory (core memory $inner "memory")) (realloc (core func $inner "place"))))
  (func (export "back") (canon lift (core func $inner "back")))
  (func (export "up") (param "calls" u64) (canon lift (core func $inner "up"))))
"#
);

/// An instance of the component.
struct Guest {
    store: Store<Host>,
    instance: Instance,
    /// What the component counted: calls and texts.
    counted: [TypedFunc<(), (u64,)>; 2],
}

impl Guest {
    fn new() -> wasmtime::Result<Self> {
        let engine = Engine::default();
        let component = Component::new(&engine, COMPONENT)?;
        let mut linker = Linker::new(&engine);
        linker.root().func_wrap("callee", |mut store: StoreContextMut<'_, Host>, (): ()| {
            store.data_mut().entered += 1;
            Ok(())
        })?;
        let mut store = Store::new(&engine, Host::default());
        let instance = linker.instantiate(&mut store, &component)?;
        let counted =
            [instance.get_typed_func(&mut store, "entered")?, instance.get_typed_func(&mut store, "copied")?];
        Ok(Self { store, instance, counted })
    }

    fn function<P, R>(&mut self, name: &str) -> TypedFunc<P, R>
    where
        P: ComponentNamedList + Lower,
        R: ComponentNamedList + Lift,
    {
        or_fail(self.instance.get_typed_func(&mut self.store, name))
    }

    /// Makes so many calls at a time.
    fn calling(self, call: impl FnMut(&mut Self, u64) + 'static) -> Box<dyn Border> {
        Box::new(Calling { guest: self, call })
    }

    /// The host calls the component.
    fn down(self, mut call: impl FnMut(&mut Self) + 'static) -> Box<dyn Border> {
        self.calling(move |guest, calls| (0..calls).for_each(|_| call(guest)))
    }
}

impl<F: FnMut(&mut Guest, u64)> Border for Calling<Guest, F> {
    fn call(&mut self, calls: u64) {
        (self.call)(&mut self.guest, calls);
    }

    fn entered(&mut self) -> Entered {
        let Guest { store, counted, .. } = &mut self.guest;
        let [callee, copies] = counted.each_ref().map(|count| or_fail(count.call(&mut *store, ())).0);
        let host = store.data();
        Entered { callee, caller: host.entered, copies: host.copied + copies }
    }
}

/// Calls into the component, and calls of the component.
pub fn open(params: &Params) -> Box<dyn Border> {
    let call = params.mechanism.as_str();
    let mut guest = or_fail(Guest::new());
    match call {
        "down" | "back" => {
            let function = guest.function::<(), ()>(call);
            guest.down(move |guest| or_fail(function.call(&mut guest.store, ())))
        }
        "down-8" => {
            let function = guest.function::<Eight, (i64,)>("down-eight");
            let numbers: Eight = eight().into();
            guest.down(move |guest| _ = black_box(or_fail(function.call(&mut guest.store, numbers))))
        }
        "down-text" => {
            let text: &'static str = String::leak(black_box("x".repeat(100)));
            let function = guest.function::<(&str,), ()>("down-text");
            guest.down(move |guest| or_fail(function.call(&mut guest.store, (text,))))
        }
        "up" => {
            let again = guest.function::<(u64,), ()>("up");
            guest.calling(move |guest, calls| or_fail(again.call(&mut guest.store, (calls,))))
        }
        other => fail(&format!("unknown mechanism: {other}")),
    }
}
