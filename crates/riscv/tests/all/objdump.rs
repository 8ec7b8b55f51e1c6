//! Our disassembly against GNU objdump's, when it is installed.
#![allow(clippy::print_stderr)]

use std::process::Command;

use crate::common::Rng;
use tollgate_riscv::{Class, Extension, Format, INSTRUCTIONS, Insn, Isa, Operands, disassemble};

/// The fields of a line that say what the instruction is: mnemonic and operands.
fn instructions(listing: &str) -> Vec<String> {
    let line = |l: &str| -> Option<String> {
        let mut fields = l.split('\t');
        fields.next()?.trim().strip_suffix(':')?;
        fields.next()?;
        let mnemonic = fields.next()?.trim();
        let operands = fields.next().unwrap_or("").split(['#', '<']).next()?.trim();
        Some(format!("{mnemonic} {operands}").trim().to_string())
    };
    listing.lines().filter_map(line).collect()
}

#[test]
fn objdump_says_the_same() {
    let objdump = ["riscv64-unknown-elf-objdump", "riscv64-linux-gnu-objdump"]
        .into_iter()
        .find(|o| Command::new(o).arg("--version").output().is_ok_and(|o| o.status.success()));
    let Some(objdump) = objdump else {
        eprintln!("skipped: no riscv64 objdump; install binutils-riscv64-unknown-elf");
        return;
    };
    let mut rng = Rng(5);
    for (name, machine) in [("rv64gc", "riscv:rv64"), ("rv32gc", "riscv:rv32")] {
        let isa: Isa = name.parse().unwrap();
        let mut words = Vec::new();
        for row in INSTRUCTIONS.iter().filter(|r| r.in_isa(&isa) && r.extension != Extension::XTollBank) {
            // Fences have bits that mean nothing, and jumps print addresses there and distances here.
            // Exact conversions have a rounding mode that objdump 2.40 wants to be zero.
            let exact = ["fcvt.d.s", "fcvt.d.w", "fcvt.d.wu"].contains(&row.mnemonic);
            let address = matches!(row.class, Class::Branch | Class::Jump | Class::Nop);
            let skip = exact || address || row.format == Format::FenceI;
            if skip {
                continue;
            }
            for _ in 0..20 {
                let r = |rng: &mut Rng| rng.below(32) as u8;
                let csr = matches!(row.format, Format::Csr | Format::CsrImm);
                let imm = if csr {
                    rng.pick(&[0x300, 0x341, 0xc00, 0x180, 0x3a0, 0x3b3, 3])
                } else {
                    rng.next() as i32 as i64
                };
                let rm = rng.pick(&[0, 1, 2, 3, 4, 7]);
                let o = Operands {
                    rd: r(&mut rng),
                    rs1: r(&mut rng),
                    rs2: r(&mut rng),
                    rs3: r(&mut rng),
                    rm,
                    imm,
                };
                words.push(Insn::encode(row.op, o));
            }
        }
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let path = std::env::temp_dir().join(format!("tollgate-objdump-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        let output = Command::new(objdump)
            .args(["-D", "-b", "binary", "-M", "no-aliases", "-m", machine])
            .arg(&path)
            .output()
            .unwrap();
        std::fs::remove_file(&path).unwrap();
        let theirs = instructions(&String::from_utf8_lossy(&output.stdout));
        assert_eq!(theirs.len(), words.len(), "{}", String::from_utf8_lossy(&output.stderr));
        for (w, theirs) in words.iter().zip(&theirs) {
            assert_eq!(&disassemble(*w, isa), theirs, "{w:#010x} on {name}");
        }
    }
}
