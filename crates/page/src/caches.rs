//! What caches and translation buffers hold.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::assemble::hex;
use crate::failure::{Answer, Failure};
use crate::running::Running;

/// The lines and pages that were answered before.
#[derive(Default)]
pub(crate) struct Shown(BTreeSet<(&'static str, u64, u64)>);

/// Contents and counts. What is not among those `shown` before is fresh.
pub(crate) fn caches(running: &Running, shown: &mut Shown) -> Answer {
    let core =
        running.core().ok_or_else(|| Failure::machine("there are no caches without a core: choose one"))?;
    let machine = running.machine();
    let sp = machine.x(2);
    let mut now = BTreeSet::new();
    let place = |address: u64| match running.loaded.places.name(address) {
        name if !name.is_empty() => name,
        _ if address.abs_diff(sp) < 1024 => "stack".to_owned(),
        _ => String::new(),
    };
    let caches: Value = core
        .caches()
        .into_iter()
        .map(|(name, cache)| {
            let (geometry, counts) = (cache.geometry(), cache.counts());
            let mut lines: Vec<_> = cache.content_lines().collect();
            let set = |address: u64| (address >> geometry.line_shift()) % u64::from(geometry.sets());
            lines.sort_by_key(|line| (set(line.address), line.address));
            let lines = lines.iter().map(|line| {
                let fresh = !shown.0.contains(&(name, line.address, 0));
                now.insert((name, line.address, 0));
                json!({
                    "set": set(line.address), "address": hex(line.address), "dirty": line.dirty,
                    "place": place(line.address), "fresh": fresh,
                })
            });
            json!({
                "name": name, "sets": geometry.sets(), "ways": geometry.ways(), "lineBytes": geometry.line(),
                "policy": cache.policy().to_string(), "reads": counts.reads, "writes": counts.writes,
                "hits": counts.hits(), "misses": counts.misses(), "evictions": counts.evictions,
                "writebacks": counts.writebacks, "hitRate": counts.hit_rate(), "lines": lines.collect::<Value>(),
            })
        })
        .collect();
    let counts = core.counts();
    let tlbs: Value = core
        .translation_buffers()
        .into_iter()
        .map(|buffer| {
            let misses = if buffer.name == "ITLB" { counts.memory.itlb_misses } else { counts.memory.dtlb_misses };
            let pages = buffer.translations.iter().map(|it| {
                let fresh = !shown.0.contains(&(buffer.name, it.page, it.space));
                now.insert((buffer.name, it.page, it.space));
                json!({ "page": hex(it.page), "bytes": 1u64 << it.shift, "space": hex(it.space), "fresh": fresh })
            });
            json!({
                "name": buffer.name, "entries": buffer.capacity, "misses": misses, "pages": pages.collect::<Value>(),
            })
        })
        .collect();
    shown.0 = now;
    Ok(json!({ "core": core.core().name, "caches": caches, "tlbs": tlbs, "mispredicts": counts.mispredicts }))
}
