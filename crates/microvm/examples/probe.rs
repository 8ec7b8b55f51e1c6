use std::{path::Path, time::Duration};
use tollgate_microvm as m;
fn main() {
    for which in ["kvm", "tcg", "icount"] {
        let p = m::Params::default();
        let t = std::time::Instant::now();
        let r = match which { "kvm" => m::kvm::run(Path::new(m::kvm::DEVICE), &p, Duration::from_secs(3)),
            w => m::qemu::run(Path::new(m::qemu::PROGRAM), w == "icount", &p, Duration::from_secs(3)) };
        println!("{which} {:?}", t.elapsed());
        match r { Err(e) => println!("{e}"), Ok(v) => { println!("{:?} {:?} fin {} stays {} {}", v.table.features, v.ring_ratio(), v.table.finished, v.stays.port.len(), v.stays.mmio.len());
            for row in &v.table.rows { match row.samples() { Some(s) => { let mut d: Vec<_> = s.iter().map(|x| x.map(|y| y.wrapping_sub(x[0]) as i32)).collect(); d.sort_by_key(|x| x[3]); println!("{:18} {} {:?}", row.meta.name, s.len(), d[d.len()/2]) }, None => println!("{:18} {}", row.meta.name, row.why_not().unwrap()) } } } }
    }
}
