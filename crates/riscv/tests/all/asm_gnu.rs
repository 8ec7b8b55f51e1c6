//! The assembler against GNU `as` and `ld --no-relax`, where they are installed: the same bytes.
#![allow(clippy::print_stderr)]

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::Rng;
use tollgate_riscv::asm::{Image, Options, Sources, assemble};
use tollgate_riscv::{Class, Extension, Format, INSTRUCTIONS, Insn, Isa, Operands, X_NAMES, disassemble};

const TOOLS: &str = "riscv64-unknown-elf-";

fn installed() -> bool {
    let found =
        Command::new(format!("{TOOLS}gcc")).arg("--version").output().is_ok_and(|o| o.status.success());
    if !found {
        eprintln!("skipped: no {TOOLS}gcc; install gcc-riscv64-unknown-elf");
    }
    found
}

fn run(command: &mut Command) -> Vec<u8> {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// What GNU makes of the files in the folder: the bytes from `.text` on.
fn gnu(folder: &Path, files: &[PathBuf], isa: &str, flags: &[&str]) -> Vec<u8> {
    let rv64 = isa.starts_with("rv64");
    let mut objects = Vec::new();
    for (index, file) in files.iter().enumerate() {
        let object = folder.join(format!("{index}.o"));
        let mut command = Command::new(format!("{TOOLS}gcc"));
        command.arg(format!("-march={isa}")).arg(if rv64 { "-mabi=lp64" } else { "-mabi=ilp32" });
        run(command.args(flags).arg("-c").arg(file).arg("-o").arg(&object));
        objects.push(object);
    }
    let (linked, flat) = (folder.join("linked"), folder.join("flat"));
    let mut command = Command::new(format!("{TOOLS}ld"));
    command.args(["-m", if rv64 { "elf64lriscv" } else { "elf32lriscv" }, "--no-relax", "-Ttext=0x80000000"]);
    run(command.args(["-e", "0", "--no-warn-rwx-segments", "-o"]).arg(&linked).args(objects));
    run(Command::new(format!("{TOOLS}objcopy")).args(["-O", "binary"]).arg(&linked).arg(&flat));
    std::fs::read(flat).unwrap()
}

/// The bytes of an image from its first segment on.
fn flat(image: &Image) -> Vec<u8> {
    let segments = &image.program.segments;
    let mut out = Vec::new();
    for segment in segments.iter().filter(|s| !s.data.is_empty()) {
        out.resize((segment.address - segments[0].address) as usize, 0);
        out.extend(&segment.data);
    }
    out
}

fn ours(sources: &Sources, isa: &str, defines: &[(String, String)]) -> Result<Vec<u8>, String> {
    let isa: Isa = isa.parse().unwrap();
    let options = Options { isa, defines: defines.to_vec(), ..Options::default() };
    match assemble(sources, &options) {
        Ok(image) => Ok(flat(&image)),
        Err(errors) => Err(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")),
    }
}

fn first_difference(a: &[u8], b: &[u8]) -> Option<String> {
    let at = a.iter().zip(b).position(|(a, b)| a != b);
    let at = at.or((a.len() != b.len()).then_some(a.len().min(b.len())))?;
    let window = |v: &[u8]| format!("{:02x?}", &v[(at & !3).min(v.len())..(at + 12).min(v.len())]);
    Some(format!("at {at:#x} of {:#x} and {:#x}: {} and {}", a.len(), b.len(), window(a), window(b)))
}

/// Each assembly file of the guests with the options of its first image; names that it does not define are stubs.
#[test]
fn the_guests_are_equal() {
    if !installed() {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guests/riscv");
    let mut files = Vec::new();
    for folder in ["bench", "kernel", "kernels", "libc", "programs", "rtl", "user", "include"] {
        let entries = std::fs::read_dir(root.join(folder)).unwrap();
        let names = entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned());
        files.extend(
            names.filter(|n| n.ends_with(".S") || n.ends_with(".h")).map(|n| format!("{folder}/{n}")),
        );
    }
    files.sort();
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
    let work = std::env::temp_dir().join(format!("tollgate-asm-{}", std::process::id()));
    std::fs::create_dir_all(&work).unwrap();
    let mut compared = 0;
    let mut wrong = Vec::new();
    // The files in rtl/ are included by programs/rtl_kernels.S.
    for name in files.iter().filter(|n| n.ends_with(".S") && !n.starts_with("rtl/")) {
        let text = read(name);
        let mut builds: Vec<Vec<&str>> = text
            .lines()
            .map_while(|line| line.strip_prefix("// image: "))
            .map(|line| line.split_whitespace().filter(|w| w.starts_with('-')).collect())
            .collect();
        if builds.is_empty() {
            builds = vec![vec![], vec!["-DKERNEL_M"]];
        }
        for build in builds {
            let isa = build.iter().find_map(|f| f.strip_prefix("-march=")).unwrap_or("rv64gc");
            let defines: Vec<(String, String)> = build
                .iter()
                .filter_map(|f| f.strip_prefix("-D"))
                .map(|d| d.split_once('=').unwrap_or((d, "1")))
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect();
            let flags: Vec<String> =
                build.iter().filter(|f| f.starts_with("-D")).map(|f| (*f).to_owned()).collect();
            let mut flags: Vec<&str> = flags.iter().map(String::as_str).collect();
            let include = format!("-I{}", root.join("include").display());
            let user = format!("-I{}", root.join("user").display());
            flags.extend([include.as_str(), user.as_str()]);
            // Names that C defines.
            let object = work.join("first.o");
            let mut command = Command::new(format!("{TOOLS}gcc"));
            let abi = if isa.starts_with("rv64") { "-mabi=lp64" } else { "-mabi=ilp32" };
            command.arg(format!("-march={isa}")).arg(abi).args(&flags).arg("-c").arg(root.join(name));
            run(command.arg("-o").arg(&object));
            let undefined = run(Command::new(format!("{TOOLS}nm")).arg("-u").arg(&object));
            let undefined = String::from_utf8(undefined).unwrap();
            let stub: String = undefined
                .split_whitespace()
                .filter(|w| *w != "U" && *w != "__global_pointer$")
                .map(|n| format!("\t.globl {n}\n{n}:\tret\n"))
                .collect();
            std::fs::write(work.join("stub.s"), &stub).unwrap();
            let theirs = gnu(&work, &[root.join(name), work.join("stub.s")], isa, &flags);
            let mut sources = Sources::new(name, &text).unit("stub.s", &stub);
            for other in &files {
                let short = other.strip_prefix("include/").unwrap_or(other);
                sources = sources.file(other, &read(other)).file(short, &read(other));
            }
            compared += 1;
            let difference = match ours(&sources, isa, &defines) {
                Ok(ours) => first_difference(&ours, &theirs),
                Err(errors) => Some(errors),
            };
            if let Some(difference) = difference {
                wrong.push(format!("{name} {build:?}: {difference}"));
            }
        }
    }
    std::fs::remove_dir_all(&work).unwrap();
    assert!(wrong.is_empty(), "{} of {compared}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared >= 20, "{compared}");
}

/// Of the programs whose digests are recorded.
const RECORDED: u64 = 1000;

/// Tools find sections, symbols and instructions in the file that the assembler makes, and the same in a copy.
#[test]
fn the_file_is_read_by_gnu_tools() {
    if !installed() {
        return tollgate_testkit::skip!("{TOOLS}gcc is missing: apt-get install gcc-riscv64-unknown-elf");
    }
    let text = "_start: addi a0, a0, 1\n ret\n.section .text.more,\"ax\"\nmore: ebreak\n.data\nvalue: .word 7\n.bss\n.space 40\n";
    for isa in ["rv64gc", "rv32im"] {
        let options = Options { isa: isa.parse().unwrap(), ..Options::default() };
        let image = assemble(&Sources::new("a.s", text), &options).unwrap();
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let (file, copy) = (folder.join(format!("{isa}.elf")), folder.join(format!("{isa}-copy.elf")));
        std::fs::write(&file, image.elf()).unwrap();
        run(Command::new(format!("{TOOLS}objcopy")).arg(&file).arg(&copy));
        for file in [&file, &copy] {
            let tool = |name: &str, option: &str| {
                let output = run(Command::new(format!("{TOOLS}{name}")).arg(option).arg(file));
                String::from_utf8(output).unwrap()
            };
            let code = tool("objdump", "-d");
            assert!(code.contains("<_start>:") && code.contains("<more>:"), "{code}");
            assert!(code.contains("ret") && code.contains("ebreak"), "{code}");
            let sections = tool("readelf", "-SW");
            for row in [" .text ", " .data ", " .bss              NOBITS", " AX ", " WA "] {
                assert!(sections.contains(row), "{row}: {sections}");
            }
            let symbols = tool("nm", "-n");
            let kinds: Vec<&str> =
                symbols.lines().filter_map(|line| line.split_once(' ').map(|it| it.1)).collect();
            assert_eq!(kinds, ["T _start", "T more", "D value"], "{symbols}");
        }
    }
}

/// Constructs of course material, of which random programs have none.
const ODD: &[(&str, &str)] = &[
    (
        "rv64gc",
        "#define CASE(n, code...) li gp, n; code\nCASE(1, add a0, a0, a1; nop)\nCASE(2,\n lw a1, 4(sp); /* two\n */ nop)\n",
    ),
    ("rv64gc", "#define M(a, ...) .byte a, ## __VA_ARGS__\n.data\nM(1)\nM(2, 3)\n"),
    (
        "rv64gc",
        "#define L(a) li a0, a + 1\n#define S L\nS(1)\n#if (2 > 1) == 1 && 4 - 2 << 1 == 4\nnop\n#endif\n",
    ),
    (
        "rv64gc",
        ".altmacro\n.macro save i, b=sp\n sd x\\i, (\\i * 8)(\\b)\n.endm\n.set n, 8\n.rept 20\n save %n\n.set n, n + 1\n.endr\n",
    ),
    (
        "rv64gc",
        ".data\n.altmacro\n.macro two a, b\n LOCAL x\nx: .byte a, pre&b, x - x\n.endm\npre1 = 7\n two <1, 2>, 1\n two %3*3, 1\n",
    ),
    ("rv64gc", ".data\na: .byte 1\n. = . + 2\n.byte 2\n.org a + 6, 9\n.byte 3\n"),
    ("rv64gc", ".data\n.float nan, -nan, 1.5, inf\n.double nan, -inf, 1e-46\n"),
    (
        "rv64gc",
        ".macro m\n li a0, \\@\n.endm\n m\n m\n nop\n.byte 5\n.p2align 2\n nop\n.byte 1\n.p2align 3\n nop\n.byte 1, 2, 3\n.p2align 4\n nop\n",
    ),
    (
        "rv64gc",
        ".ifnc(x1, x0)\n nop\n.endif\n.ifc a b,a b\n c.nop 3\n.endif\n.ifc (a), (a)\n frsr a0\n fssr a1, a0\n.endif\n",
    ),
    (
        "rv64gc",
        ".MACRO Two A\n ADDI a0, a0, \\A\n Mv a1, a0\n.EndM\n two 1\n TWO 2\n.IF 0\n.Else\n MRET\n.ENDIF\n.Rept 2\n C.NOP\n.ENDR\n lui a0, %HI(5)\n",
    ),
    (
        "rv64gcv",
        ".extern f\n.eqv N, 5\n vmslt.vi v1, v2, N\n vmsltu.vi v1, v2, 0, v0.t\n vmsgeu.vi v1, v2, 0\n vmsge.vi v1, v2, 4\n vmandnot.mm v1, v2, v3\n vpopc.m a0, v1\n vle1.v v1, (a0)\n c.unimp\n",
    ),
    ("rv64gc_zfh", " fneg.h fa0, fa1\n fgt.h a0, fa0, fa1\n"),
    ("rv64imafd", " nop\n.byte 5\n.p2align 3\n nop\n"),
    (
        "rv32gc",
        " li a1, 0xffffffff\n li a1, 0xfffff800\n li a1, 0x80000000\n li a1, -1\n li zero, 0xffffffff\n",
    ),
];

#[test]
fn odd_constructs_are_equal() {
    if !installed() {
        return tollgate_testkit::skip!("{TOOLS}gcc is missing: apt-get install gcc-riscv64-unknown-elf");
    }
    let work = std::env::temp_dir().join(format!("tollgate-asm-odd-{}", std::process::id()));
    std::fs::create_dir_all(&work).unwrap();
    for (isa, text) in ODD {
        let file = work.join("odd.S");
        std::fs::write(&file, text).unwrap();
        let theirs = gnu(&work, &[file], isa, &[]);
        let ours = ours(&Sources::new("odd.S", text), isa, &[]).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(first_difference(&ours, &theirs), None, "{isa}: {text}");
    }
    std::fs::remove_dir_all(&work).unwrap();
}

/// FNV-1a.
fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3))
}

/// The ISA and the text of a random program.
fn random_program(seed: u64) -> (&'static str, String) {
    let mut rng = Rng(seed);
    let isa = rng.pick(&[
        "rv64gc",
        "rv64gc",
        "rv64imafd_zicsr_zifencei",
        "rv32gc",
        "rv32imac_zicsr_zifencei",
        "rv64gc_zba_zbb_zbs",
    ]);
    let text = random_text(&mut rng, isa);
    (isa, text)
}

#[test]
fn random_programs_are_as_recorded() {
    let recorded = include_str!("../asm_random.txt");
    let mut lines = recorded.lines();
    let mut wrong = Vec::new();
    for seed in 0..RECORDED {
        let (isa, text) = random_program(seed);
        let found = match ours(&Sources::new("random.s", &text), isa, &[]) {
            Ok(bytes) => format!("{:016x}", digest(&bytes)),
            Err(errors) => errors.lines().next().unwrap_or_default().to_owned(),
        };
        if lines.next() != Some(found.as_str()) {
            wrong.push(format!("{seed}: {found}"));
        }
    }
    assert!(wrong.is_empty(), "{} programs:\n{}", wrong.len(), wrong[..wrong.len().min(5)].join("\n"));
    assert_eq!(lines.next(), None);
}

/// The programs against GNU, and whether its digests are the recorded ones. `TOLLGATE_RANDOM` sets how many; with
/// `TOLLGATE_BLESS` the digests are written.
#[test]
fn random_programs_are_equal() {
    if !tollgate_testkit::all() && std::env::var_os("TOLLGATE_RANDOM").is_none() {
        return tollgate_testkit::skip!("it takes ten minutes: cargo xtask test --all");
    }
    if !installed() {
        return tollgate_testkit::skip!("{TOOLS}gcc is missing: apt-get install gcc-riscv64-unknown-elf");
    }
    let count = std::env::var("TOLLGATE_RANDOM").ok().and_then(|n| n.parse().ok()).unwrap_or(10_000);
    let work = std::env::temp_dir().join(format!("tollgate-asm-random-{}", std::process::id()));
    std::fs::create_dir_all(&work).unwrap();
    let (mut wrong, mut digests) = (Vec::new(), String::new());
    for seed in 0..count {
        let (isa, text) = random_program(seed);
        let file = work.join("random.s");
        std::fs::write(&file, &text).unwrap();
        let theirs = gnu(&work, &[file], isa, &[]);
        let difference = match ours(&Sources::new("random.s", &text), isa, &[]) {
            Ok(ours) => first_difference(&ours, &theirs),
            Err(errors) => Some(errors),
        };
        if let Some(difference) = difference {
            wrong.push(format!("{seed} {isa}: {difference}"));
        }
        if seed < RECORDED {
            digests.push_str(&format!("{:016x}\n", digest(&theirs)));
        }
    }
    std::fs::remove_dir_all(&work).unwrap();
    let shown = wrong.len().min(20);
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong[..shown].join("\n"));
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/asm_random.txt");
    if std::env::var_os("TOLLGATE_BLESS").is_some() {
        std::fs::write(place, digests).unwrap();
    } else if count >= RECORDED {
        assert_eq!(digests, std::fs::read_to_string(place).unwrap());
    }
}

fn random_text(rng: &mut Rng, isa: &str) -> String {
    let rv64 = isa.starts_with("rv64");
    let decoded: Isa = isa.parse().unwrap();
    let rows: Vec<_> = INSTRUCTIONS
        .iter()
        .filter(|r| r.in_isa(&decoded) && !matches!(r.class, Class::Branch | Class::Jump | Class::Nop))
        .filter(|r| !matches!(r.format, Format::FenceI | Format::Cbo) && r.extension != Extension::Svinval)
        .collect();
    let labels = 3 + rng.below(20);
    let mut out = String::from("\t.globl _start\n_start:\n\t.equ K, 24\n");
    out.push_str(
        "\t.macro TWICE op a b=K\n\t\\op \\a, \\a, \\b\n\t\\op \\a, \\a, \\b\nin.\\@:\tj in.\\@\n\t.endm\n",
    );
    let mut defined = 0;
    let count = 20 + rng.below(300);
    let x = |rng: &mut Rng| X_NAMES[rng.below(32) as usize];
    let c = |rng: &mut Rng| X_NAMES[8 + rng.below(8) as usize];
    let either = |rng: &mut Rng| if rng.below(2) == 0 { x(rng) } else { c(rng) };
    for index in 0..count {
        if defined < labels && rng.below(count) < labels {
            out.push_str(&format!("l{defined}:\n"));
            defined += 1;
        }
        let label = format!("l{}", rng.below(labels));
        let line = match rng.below(40) {
            0..=9 => {
                let row = rng.pick(&rows);
                let small = rng.below(3) > 0;
                let mut r = || if small { 8 + rng.below(8) } else { rng.below(32) } as u8;
                let (rd, rs1, rs2, rs3) = (r(), r(), r(), r());
                let rd = if rng.below(3) == 0 { rs1 } else { rd };
                let csr = matches!(row.format, Format::Csr | Format::CsrImm);
                let imm = match csr {
                    true => rng.pick(&[0x300, 0x341, 0xc00, 0x180, 0x340, 0x003]),
                    false => rng.next() as i32 as i64 >> rng.below(32),
                };
                // GNU has no rounding mode for conversions that are exact.
                let exact = ["fcvt.d.s", "fcvt.d.w", "fcvt.d.wu"].contains(&row.mnemonic);
                let rm = if exact { 0 } else { rng.pick(&[0, 1, 2, 3, 4, 7]) };
                let o = Operands { rd, rs1, rs2, rs3, rm, imm };
                disassemble(Insn::encode(row.op, o), decoded)
            }
            10..=13 => {
                let op = rng.pick(&["add", "sub", "and", "or", "xor", "addi", "andi"]);
                let (a, b) = (either(rng), either(rng));
                match op {
                    "sub" => format!("{op} {a}, {a}, {b}"),
                    "addi" | "andi" => format!(
                        "{op} {a}, {}, {}",
                        rng.pick(&[a, a, b, "sp"]),
                        rng.below(64) as i64 * 4 - 128
                    ),
                    _ => format!("{op} {a}, {}, {}", rng.pick(&[a, b]), rng.pick(&[a, b, "zero"])),
                }
            }
            14 | 15 => {
                let value = rng.value() as i64 >> rng.below(64);
                format!("li {}, {}", x(rng), if rv64 { value } else { i64::from(value as i32) })
            }
            16..=20 => {
                let op = rng.pick(&["beqz", "bnez", "blez", "bgez", "bltz", "bgtz"]);
                format!("{op} {}, {label}", either(rng))
            }
            21 | 22 => {
                let op =
                    rng.pick(&["beq", "bne", "blt", "bge", "bltu", "bgeu", "bgt", "ble", "bgtu", "bleu"]);
                let second = rng.pick(&["zero", "a0", "s1"]);
                format!("{op} {}, {second}, {label}", either(rng))
            }
            23..=25 => format!("{} {label}", rng.pick(&["j", "j", "jal", "call", "tail"])),
            26 => format!("la {}, {}", x(rng), rng.pick(&["data", "_start", "zeros", label.as_str()])),
            27 => {
                let op = rng.pick(&["lw", "lb", "lhu", "sw", "sb"]);
                let (a, b) = (either(rng), rng.pick(&["sp", "s0", "a0", "t3"]));
                format!("{op} {a}, {}({b})", rng.below(64) * 4)
            }
            28 => format!("1:\t{} {}, 1{}", rng.pick(&["beqz", "bnez"]), either(rng), rng.pick(&["b", "f"])),
            29 => rng
                .pick(&[
                    "ret",
                    "nop",
                    "ecall",
                    "ebreak",
                    "fence",
                    "fence r,rw",
                    "jr a0",
                    "jalr t1",
                    "unimp",
                    "jr 4(a5)",
                ])
                .into(),
            30 => {
                let op = rng.pick(&[
                    "mv", "not", "neg", "seqz", "snez", "sltz", "sgtz", "zext.b", "sext.h", "zext.h",
                ]);
                format!("{op} {}, {}", either(rng), either(rng))
            }
            31 => format!(".balign {}", 1 << rng.below(7)),
            32 => format!(".p2align {}", rng.below(5)),
            33 => {
                let sizes = rng.pick(&[8, 100, 250, 600, 2000, 5000]);
                format!(".zero {}", rng.below(sizes) & !3)
            }
            34 => format!(".word {label} - _start, {}, {label} + 4", rng.below(1 << 31)),
            35 => format!("TWICE {}, {}", rng.pick(&["addi", "ori"]), c(rng)),
            36 => format!(".rept {}\n\taddi {}, sp, 4 * K\n\t.endr", rng.below(5), c(rng)),
            37 => {
                // The linker cannot align in words what is not aligned to them.
                let (push, pop) = (".balign 4\n\t.option push\n\t.option ", "\n\t.option pop");
                let option = rng.pick(&["norvc", "norelax", "relax"]);
                format!("{push}{option}\n\tadd a0, a0, a1\n\t.balign 16\n\tbnez a0, {label}{pop}")
            }
            38 => format!("lui {0}, %hi(small)\n\taddi {0}, {0}, %lo(small)", c(rng)),
            _ => {
                let (a, b) = (rng.below(1000), 1 + rng.below(1000));
                format!(
                    ".if {a} {} {b} & 0x1f0 || K == {}\n\tli a0, {a} * 3 - {b} << 2\n\t.else\n\taddi a0, a0, ({a} | {b}) % 512\n\t.endif",
                    rng.pick(&["<", ">", "==", "!=", "<=", ">="]),
                    rng.pick(&[24, 25])
                )
            }
        };
        out.push_str(&format!("\t{line}\n"));
        if index == count / 2 && rng.below(2) == 0 {
            out.push_str("\t.section .text.second,\"ax\"\nsecond:\n");
        }
    }
    while defined < labels {
        out.push_str(&format!("l{defined}:\n"));
        defined += 1;
    }
    out.push_str("1:\tret\n\t.set small, 0x12345\n\t.data\n");
    out.push_str(&format!("\t.balign {}\ndata:\n", 1 << rng.below(5)));
    for _ in 0..rng.below(10) {
        let line = match rng.below(7) {
            0 => format!(".byte {}, -1", rng.below(256)),
            1 => format!(".half {}", rng.below(65536)),
            2 => ".asciz \"a\\n\\tb\\\"\\101\", \"\"".to_owned(),
            3 => format!(".dword {}", rng.next() as i64),
            4 => format!(".fill {}, {}, {}", rng.below(5), 1 + rng.below(8), rng.below(256)),
            5 => format!(".align {}, 0x5a", rng.below(4)),
            _ => ".word data, second_or_start - data".to_owned().replace("second_or_start", "_start"),
        };
        out.push_str(&format!("\t{line}\n"));
    }
    out.push_str("\t.section .rodata\n\t.byte 1, 2, 3\n\t.bss\nzeros:\t.zero 40\n");
    out
}
