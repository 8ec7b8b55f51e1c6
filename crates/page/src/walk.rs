//! Address translation, level by level: the algorithm of the privileged specification (4.3.2) in the words of its steps.

use serde_json::{Value, json};
use tollgate_riscv::{Machine, Privilege};

use crate::assemble::hex;
use crate::failure::Answer;
use crate::request::Access;

const SATP: u16 = 0x180;
const MSTATUS: u16 = 0x300;
const PAGE: u64 = 4096;
const FLAGS: [char; 8] = ['V', 'R', 'W', 'X', 'U', 'G', 'A', 'D'];
const V: u64 = 1;
const R: u64 = 2;
const W: u64 = 4;
const X: u64 = 8;
const U: u64 = 16;
const A: u64 = 64;
const D: u64 = 128;
const MOST_TABLES: usize = 4096;

struct Scheme {
    name: &'static str,
    levels: u32,
    index_bits: u32,
    entry_bytes: u64,
    root: u64,
}

fn scheme(machine: &Machine) -> Option<Scheme> {
    let satp = machine.csr(SATP)?;
    if !machine.config().isa.is_rv64() {
        let root = (satp & 0x3f_ffff) * PAGE;
        return (satp >> 31 & 1 != 0).then_some(Scheme {
            name: "Sv32",
            levels: 2,
            index_bits: 10,
            entry_bytes: 4,
            root,
        });
    }
    let (name, levels) = match satp >> 60 {
        8 => ("Sv39", 3),
        9 => ("Sv48", 4),
        _ => return None,
    };
    Some(Scheme { name, levels, index_bits: 9, entry_bytes: 8, root: (satp & ((1 << 44) - 1)) * PAGE })
}

/// The mode in which an access is done, with MPRV (3.1.6.3).
fn mode_of(machine: &Machine, access: Access) -> Privilege {
    let status = machine.csr(MSTATUS).unwrap_or_default();
    let lent = access != Access::Fetch && machine.privilege() == Privilege::Machine && status >> 17 & 1 != 0;
    match (lent, status >> 11 & 3) {
        (false, _) => machine.privilege(),
        (true, 0) => Privilege::User,
        (true, 1) => Privilege::Supervisor,
        (true, _) => Privilege::Machine,
    }
}

fn entry(machine: &Machine, at: u64, bytes: u64) -> Option<u64> {
    let bytes = machine.read_memory(at, bytes).ok()?;
    Some(bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte)))
}

fn flags(entry: u64) -> String {
    let set = FLAGS.iter().enumerate().filter(|(bit, _)| entry >> bit & 1 != 0);
    set.map(|(_, flag)| flag.to_string()).collect::<Vec<_>>().join(" ")
}

fn target(entry: u64, scheme: &Scheme) -> u64 {
    let bits = if scheme.entry_bytes == 4 { 22 } else { 44 };
    (entry >> 10 & ((1 << bits) - 1)) * PAGE
}

/// The physical address of a virtual one whatever the permissions are, as a debugger looks it up.
pub(crate) fn physical(machine: &Machine, va: u64) -> Option<u64> {
    let translates = mode_of(machine, Access::Fetch) != Privilege::Machine;
    let Some(scheme) = scheme(machine).filter(|_| translates) else { return Some(va) };
    let mut table = scheme.root;
    for level in (0..scheme.levels).rev() {
        let shift = 12 + scheme.index_bits * level;
        let index = va >> shift & ((1 << scheme.index_bits) - 1);
        let pte = entry(machine, table + index * scheme.entry_bytes, scheme.entry_bytes)?;
        if pte & V == 0 {
            return None;
        }
        let to = target(pte, &scheme);
        if pte & (R | W | X) != 0 {
            let mask = (1 << shift) - 1;
            return Some(to & !mask | va & mask);
        }
        table = to;
    }
    None
}

/// Why a leaf does not permit an access; `None` if it does.
fn refusal(machine: &Machine, pte: u64, access: Access, mode: Privilege) -> Option<&'static str> {
    let status = machine.csr(MSTATUS).unwrap_or_default();
    let [sum, mxr] = [18, 19].map(|bit| status >> bit & 1 != 0);
    if mode == Privilege::User && pte & U == 0 {
        return Some("U is 0: the page is not of U-mode");
    }
    if mode == Privilege::Supervisor && pte & U != 0 && (access == Access::Fetch || !sum) {
        return Some("U is 1, and S-mode may access pages of U-mode only with SUM, and never execute them");
    }
    let permits = match access {
        Access::Fetch => pte & X != 0,
        Access::Load => pte & R != 0 || mxr && pte & X != 0,
        Access::Store => pte & W != 0,
    };
    if !permits {
        return Some(match access {
            Access::Fetch => "X is 0: it may not be executed",
            Access::Load => "R is 0: it may not be read",
            Access::Store => "W is 0: it may not be written",
        });
    }
    if pte & A == 0 {
        return Some("A is 0: the page was not accessed before, and software has to set it");
    }
    if access == Access::Store && pte & D == 0 {
        return Some("D is 0: the page was not written before, and software has to set it");
    }
    None
}

/// The translation of an address, level by level.
pub(crate) fn walk(machine: &Machine, va: u64, access: Access) -> Answer {
    let mode = mode_of(machine, access);
    let satp = machine.csr(SATP).unwrap_or_default();
    let access_name = match access {
        Access::Fetch => "fetch",
        Access::Load => "load",
        Access::Store => "store",
    };
    let mut answer = json!({
        "address": hex(va), "scheme": "Bare", "satp": hex(satp), "root": hex(0), "access": access_name,
        "mode": mode.letter().to_string(), "levels": [], "offset": hex(va & 0xfff), "physical": hex(va), "fault": null,
    });
    let Some(scheme) = scheme(machine).filter(|_| mode != Privilege::Machine) else { return Ok(answer) };
    answer["scheme"] = scheme.name.into();
    answer["root"] = hex(scheme.root).into();
    let mut levels = Vec::new();
    let mut fault = None;
    let mut physical = None;
    let va_bits = 12 + scheme.index_bits * scheme.levels;
    if va_bits < 64 && scheme.entry_bytes == 8 && (va as i64) << (64 - va_bits) >> (64 - va_bits) != va as i64
    {
        fault = Some(format!(
            "bits 63 to {va_bits} do not all equal bit {}: not an address of {}",
            va_bits - 1,
            scheme.name
        ));
    }
    let mut table = scheme.root;
    for level in (0..scheme.levels).rev() {
        if fault.is_some() || physical.is_some() {
            break;
        }
        let shift = 12 + scheme.index_bits * level;
        let index = va >> shift & ((1 << scheme.index_bits) - 1);
        let at = table + index * scheme.entry_bytes;
        let read = entry(machine, at, scheme.entry_bytes);
        let pte = read.unwrap_or_default();
        let to = target(pte, &scheme);
        let mask = (1u64 << shift) - 1;
        let (kind, text) = match read {
            None => ("invalid", "there is no memory where the entry should be: access fault".to_owned()),
            Some(_) if pte & V == 0 => {
                ("invalid", "V is 0: there is no mapping, page fault (step 3)".to_owned())
            }
            Some(_) if pte & (R | W) == W => {
                ("invalid", "W without R is reserved: page fault (step 3)".to_owned())
            }
            Some(_) if pte & (R | W | X) == 0 && level == 0 => {
                ("invalid", "a table at the last level: page fault (step 4)".to_owned())
            }
            Some(_) if pte & (R | W | X) == 0 => {
                ("table", format!("R, W and X are 0: it points to the next table at {to:#x} (step 4)"))
            }
            Some(_) if to & mask != 0 => {
                ("invalid", "a large page that is not aligned: page fault (step 6)".to_owned())
            }
            Some(_) => {
                let size = tollgate_record::number::bytes((mask + 1) as f64);
                ("page", format!("R or X is 1: a page of {size} at {to:#x} (step 5)"))
            }
        };
        match kind {
            "page" => match refusal(machine, pte, access, mode) {
                Some(why) => fault = Some(format!("page fault: {why}")),
                None => physical = Some(to | va & mask),
            },
            "invalid" => fault = Some(text.clone()),
            _ => {}
        }
        if kind == "page" {
            answer["offset"] = hex(va & mask).into();
        }
        levels.push(json!({
            "level": level, "table": hex(table), "index": index, "bits": [shift + scheme.index_bits - 1, shift],
            "entryAddress": hex(at), "entry": hex(pte), "kind": kind, "flags": flags(pte), "target": hex(to), "text": text,
        }));
        table = to;
    }
    answer["levels"] = levels.into();
    answer["physical"] = physical.map_or(Value::Null, |physical| hex(physical).into());
    answer["fault"] = fault.into();
    Ok(answer)
}

/// The ranges of addresses that are mapped, those that continue each other as one.
pub(crate) fn mappings(machine: &Machine, limit: usize) -> Answer {
    let Some(scheme) = scheme(machine) else { return Ok(json!([])) };
    let mut pages: Vec<(u64, u64, u64, u64)> = Vec::new();
    let mut tables = 0;
    let mut waiting = vec![(scheme.root, scheme.levels - 1, 0u64)];
    while let Some((table, level, base)) = waiting.pop() {
        tables += 1;
        if tables > MOST_TABLES {
            break;
        }
        let shift = 12 + scheme.index_bits * level;
        let mut below = Vec::new();
        for index in 0..1u64 << scheme.index_bits {
            let Some(pte) = entry(machine, table + index * scheme.entry_bytes, scheme.entry_bytes) else {
                break;
            };
            let va = base | index << shift;
            match pte {
                _ if pte & V == 0 => {}
                _ if pte & (R | W | X) != 0 => pages.push((va, 1 << shift, target(pte, &scheme), pte & 0xff)),
                _ if level > 0 => below.push((target(pte, &scheme), level - 1, va)),
                _ => {}
            }
        }
        waiting.extend(below.into_iter().rev());
    }
    pages.sort_unstable();
    let mut ranges: Vec<(u64, u64, u64, u64)> = Vec::new();
    for (va, bytes, pa, flags) in pages {
        match ranges.last_mut() {
            Some(last) if last.0 + last.1 == va && last.2 + last.1 == pa && last.3 == flags => {
                last.1 += bytes
            }
            _ => ranges.push((va, bytes, pa, flags)),
        }
    }
    let va_bits = 12 + scheme.index_bits * scheme.levels;
    let canonical = |va: u64| match scheme.entry_bytes {
        8 => ((va as i64) << (64 - va_bits) >> (64 - va_bits)) as u64,
        _ => va,
    };
    Ok(ranges
        .iter()
        .take(limit)
        .map(|&(va, bytes, pa, set)| {
            json!({
                "from": hex(canonical(va)), "to": hex(canonical(va).wrapping_add(bytes)), "physical": hex(pa),
                "bytes": bytes, "flags": flags(set),
            })
        })
        .collect())
}
