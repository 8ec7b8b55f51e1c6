//! The same calls between a program and a component: its types and the canonical ABI are between them.

use super::{Eight, Host, functions, or_fail};
use crate::border::eight;
use crate::protocol::{Counts, Course, Params, fail, resident};
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
struct Guest<'p> {
    params: &'p Params,
    is_back: bool,
    before: u64,
    store: Store<Host>,
    instance: Instance,
    /// What the component counted: calls and texts.
    counted: [TypedFunc<(), (u64,)>; 2],
}

impl<'p> Guest<'p> {
    fn new(params: &'p Params, is_back: bool) -> wasmtime::Result<Self> {
        let before = resident();
        let engine = Engine::default();
        let component = Component::new(&engine, COMPONENT)?;
        let mut linker = Linker::new(&engine);
        linker.root().func_wrap("callee", |mut store: StoreContextMut<'_, Host>, (): ()| {
            store.data_mut().entered += 1;
            Ok(())
        })?;
        let mut store = Store::new(&engine, Host::default());
        let instance = linker.instantiate(&mut store, &component)?;
        let counted = [
            instance.get_typed_func(&mut store, "entered")?,
            instance.get_typed_func(&mut store, "copied")?,
        ];
        Ok(Self { params, is_back, before, store, instance, counted })
    }

    fn function<P, R>(&mut self, name: &str) -> TypedFunc<P, R>
    where
        P: ComponentNamedList + Lower,
        R: ComponentNamedList + Lift,
    {
        or_fail(self.instance.get_typed_func(&mut self.store, name))
    }

    fn counts(&mut self) -> Counts {
        let [entered, copied] = self.counted.each_ref().map(|count| or_fail(count.call(&mut self.store, ())).0);
        self.store.data().counts(self.is_back, entered, copied)
    }

    /// Makes so many calls at a time.
    #[inline(always)]
    fn run(mut self, mut calls: impl FnMut(&mut Self, u64)) -> ! {
        let mut course = Course::new(self.params, self.before);
        while let Some(rounds) = course.begin(|| self.counts()) {
            calls(&mut self, rounds);
            course.end();
        }
        course.finish("wasmtime 48", &[], &[], false)
    }

    /// The host calls the component.
    #[inline(always)]
    fn down(self, mut call: impl FnMut(&mut Self)) -> ! {
        self.run(|guest, rounds| (0..rounds).for_each(|_| call(guest)))
    }
}

/// Calls into the component, and calls of the component.
pub fn run(params: &Params) -> ! {
    let call = params.mechanism.as_str();
    let mut guest = or_fail(Guest::new(params, call == "back"));
    match call {
        "down" | "back" => {
            let function = guest.function::<(), ()>(call);
            guest.down(|guest| or_fail(function.call(&mut guest.store, ())))
        }
        "down-8" => {
            let function = guest.function::<Eight, (i64,)>("down-eight");
            let numbers: Eight = eight().into();
            guest.down(|guest| _ = black_box(or_fail(function.call(&mut guest.store, numbers))))
        }
        "down-text" => {
            let text: &'static str = String::leak(black_box("x".repeat(100)));
            let function = guest.function::<(&str,), ()>("down-text");
            guest.down(|guest| or_fail(function.call(&mut guest.store, (text,))))
        }
        "up" => {
            let again = guest.function::<(u64,), ()>("up");
            guest.run(|guest, rounds| or_fail(again.call(&mut guest.store, (rounds,))))
        }
        other => fail(&format!("unknown mechanism: {other}")),
    }
}
