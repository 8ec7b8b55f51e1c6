//! scratch
#![allow(clippy::print_stdout)]
use tollgate_lab::*;
fn main() {
    let n = std::env::args().nth(1).unwrap_or("all".into());
    let e = std::env::args().nth(2).unwrap_or("embedded".into());
    let engine = find_engine(&e).unwrap();
    let mut bills = vec![]; let mut missing = vec![];
    let mut go = |design: &'static Design, crossing| { let x = Experiment{design, crossing, iterations: 1000}; match engine.measure(&x) { Ok(b)=>bills.push(b), Err(w)=>missing.push((x,w)) } };
    if n == "all" { for d in DESIGNS { go(d, d.crossing.unwrap_or(Crossing::Call(172))) } }
    else { let d = Design::find(&n).unwrap(); match d.crossing { Some(c)=>go(d,c), None=> for c in USUAL { go(d,*c) } } }
    print!("{}", if n=="all" { text::comparison(&bills) } else { text::bills(&bills) });
    print!("{}", text::missing(&missing));
}
