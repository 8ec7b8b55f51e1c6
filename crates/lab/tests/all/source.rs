//! Programs from sources: what is included, where execution begins, what belongs to a line, and what is refused.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use tollgate_lab::program::{Ending, Job, Watch, run};
use tollgate_lab::source::{Executable, Library, Recipe, SourceError, load};
use tollgate_riscv::{Elf, Isa};

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn recipe() -> Recipe<'static> {
    Recipe::new("rv64gc", Isa::default())
}

fn built(files: &[(&str, &str)]) -> Result<Executable, SourceError> {
    load(&folder(files).path().join(files[0].0), &recipe())
}

/// How it ends, and what it prints.
fn ending(program: Executable, isa: Isa) -> (Ending, String) {
    let job = Job { isa, ram_bytes: 8 << 20, program, max_instructions: 1_000_000, ..Job::default() };
    let (mut console, mut trace) = (Vec::new(), Vec::new());
    let outcome =
        run(&job, Watch::Nothing, &mut std::io::empty(), &mut console, &mut trace, &|| false).unwrap();
    (outcome.ending, String::from_utf8(console).unwrap())
}

#[test]
fn files_are_included_from_beside_the_one_that_includes_them() {
    let program = built(&[
        ("main.S", "#include \"parts/a.h\"\n.include \"parts/b.s\"\n"),
        ("parts/a.h", "# include <c.h>\n"),
        ("parts/c.h", "#define STATUS 6\n"),
        ("parts/b.s", "_start: li a0, STATUS\n li a7, 93\n ecall\n"),
    ]);
    // `.include` reads its file without macros, as GNU `as` does.
    let error = program.unwrap_err().to_string();
    assert!(error.contains("parts/b.s:1:16: `STATUS` is not known at this line"), "{error}");
    let program = built(&[
        ("main.S", "#include \"parts/a.h\"\n#include \"parts/b.s\"\n"),
        ("parts/a.h", "# include <c.h>\n"),
        ("parts/c.h", "#define STATUS 6\n"),
        ("parts/b.s", "_start: li a0, STATUS\n li a7, 93\n ecall\n"),
    ]);
    assert_eq!(ending(program.unwrap(), Isa::default()).0, Ending::Exited(6));
}

#[test]
fn files_that_include_each_other_or_too_much_are_refused() {
    let error = built(&[("a.S", "#include \"b.S\"\n"), ("b.S", "#include \"a.S\"\n")]).unwrap_err();
    assert!(error.to_string().contains("more than 100 files include each other"), "{error}");
    let files: Vec<(String, String)> =
        (0..1002).map(|n| (format!("{n}.S"), format!("#include \"{}.S\"\n", n + 1))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let error = built(&files).unwrap_err().to_string();
    assert!(error.contains("a program has at most 1000 files of 64 MiB together"), "{error}");
    let error = built(&[("a.S", "#include \"/dev/zero\"\n")]).unwrap_err().to_string();
    assert!(error.starts_with("cannot include '/dev/zero': is a device or a pipe"), "{error}");
}

#[test]
fn execution_begins_at_start_then_at_main_then_with_the_first_instruction() {
    let entry = |text: &str| Elf::parse(&built(&[("a.s", text)]).unwrap().elf).unwrap().entry;
    assert_eq!(entry(".option norvc\n nop\nmain: nop\n_start: nop\n"), 0x8000_0008);
    assert_eq!(entry(".option norvc\n nop\nmain: nop\n"), 0x8000_0004);
    assert_eq!(entry(".option norvc\n nop\nother: nop\n"), 0x8000_0000);
}

#[test]
fn an_instruction_has_a_line() {
    let program = built(&[("a.s", "nop\n.option norvc\n  li a0, 5 # five\n")]).unwrap();
    let place = program.line(0x8000_0002).unwrap();
    assert_eq!((place.line, place.text.as_str()), (3, "li a0, 5 # five"));
    assert!(place.file.ends_with("/a.s"));
    assert_eq!(program.line(0x9000_0000), None);
    assert_eq!(Executable::from(program.elf).line(0x8000_0000), None);
}

/// The same program on both widths, which calls our library.
#[test]
fn assembly_may_call_the_library() {
    let text = ".data\nformat: .asciz \"%d %s\\n\"\nname: .asciz \"name\"\n.text\nmain:\n la a0, format\n li a1, -3\n la a2, name\n \
                call printf\n li a0, 9\n call exit\n";
    for isa in ["rv64gc", "rv64i", "rv32im", "rv32i"] {
        let folder = folder(&[("a.s", text)]);
        let parsed = isa.parse().unwrap();
        let program = load(&folder.path().join("a.s"), &Recipe::new(isa, parsed)).unwrap();
        assert_eq!(ending(program, parsed), (Ending::Exited(9), "-3 name\n".into()), "{isa}");
    }
    // What the library does not have is an error still, and a recipe may do without.
    let error = built(&[("a.s", "main: call prinft\n")]).unwrap_err().to_string();
    assert!(error.contains("`prinft` is not defined: did you mean `printf`?"), "{error}");
    let recipe = Recipe { library: Library::None, ..recipe() };
    let folder = folder(&[("a.s", text)]);
    let error = load(&folder.path().join("a.s"), &recipe).unwrap_err().to_string();
    assert!(error.contains("`printf` is not defined"), "{error}");
}

/// What prints in RARS and Ripes, and Linux's `write`, with its errors.
#[test]
fn calls_without_a_handler_print() {
    let call = |number: u32, before: &str| {
        let text = format!(
            ".data\nt: .asciz \"text\"\n.text\n{before}\n li a7, {number}\n ecall\n mv s0, a0\n li a7, 93\n ecall\n"
        );
        ending(built(&[("a.s", &text)]).unwrap(), Isa::default())
    };
    let printed = |number, before| call(number, before).1;
    assert_eq!(printed(1, "li a0, -12"), "-12");
    assert_eq!(printed(36, "li a0, -1"), u64::MAX.to_string());
    assert_eq!(printed(34, "li a0, 42"), "0x0000002a");
    assert_eq!(printed(35, "li a0, 5"), format!("0b{:032b}", 5));
    assert_eq!(printed(11, "li a0, 'x'"), "x");
    assert_eq!(printed(4, "la a0, t"), "text");
    assert_eq!(call(64, "li a0, 2\nla a1, t\nli a2, 3"), (Ending::Exited(3), "tex".into()));
    assert_eq!(call(64, "li a0, 3\nla a1, t\nli a2, 3"), (Ending::Exited(-9), String::new()));
    assert_eq!(call(64, "li a0, 1\nli a1, 8\nli a2, 3"), (Ending::Exited(-14), String::new()));
    // A handler takes them all.
    assert!(
        matches!(call(11, "la t0, t\n csrw mtvec, t0\nli a0, 'x'"), (Ending::Stuck(_), text) if text.is_empty())
    );
}

#[test]
fn a_file_that_is_no_program_is_refused() {
    let refused = |name: &str, text: &[u8]| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        load(&path, &recipe()).unwrap_err()
    };
    assert!(matches!(refused("a.txt", b"nop"), SourceError::Unknown));
    assert!(matches!(refused("a.s", b"# nothing\n"), SourceError::NoCode));
    assert!(matches!(refused("a.s", b"\xff"), SourceError::NotText { line: 1 }));
    assert!(refused("a b.rs", b"").to_string().contains("a b.rs' is Rust source"));
    assert!(matches!(load(Path::new("/nowhere.s"), &recipe()).unwrap_err(), SourceError::Read(_)));
    // An editor's mark at the start, and lines of Windows.
    assert!(built(&[("a.s", "\u{feff}main:\r\n nop\r\n")]).is_ok());
}

/// A compiled program's lines are in its debug information, under the name that the user gave.
#[test]
fn an_instruction_of_c_has_a_line() {
    let text = "int twice(int n) {\n    return n + n;\n}\nint main(void) { return twice(4); }\n";
    let program = match built(&[("a.c", text)]) {
        Err(error @ SourceError::NoCompiler) => return tollgate_testkit::skip!("{error}"),
        program => program.unwrap(),
    };
    let elf = Elf::parse(&program.elf).unwrap();
    let place = program.line(elf.symbol("twice").unwrap()).unwrap();
    assert!(place.file.ends_with("/a.c") && (1..=2).contains(&place.line), "{place:?}");
    assert_eq!(program.main, elf.symbol("main"));
    // Damaged debug information has no lines, and nothing panics.
    for at in (0..program.elf.len()).step_by(7) {
        let mut bytes = program.elf.clone();
        bytes[at] ^= 0xff;
        Executable::from(bytes).line(elf.entry);
    }
    assert_eq!(ending(program, Isa::default()).0, Ending::Exited(8));
}

/// For the proxy kernel a program is where Linux has it, and C has the C library of the compiler.
#[test]
fn a_program_for_linux_is_a_static_one() {
    let linux = |files: &[(&str, &str)]| {
        let program = load(&folder(files).path().join(files[0].0), &recipe().for_linux())?;
        Ok::<_, SourceError>(Elf::parse(&program.elf).unwrap())
    };
    let elf = linux(&[("a.s", "_start: li a7, 93\n ecall\n")]).unwrap();
    assert_eq!(elf.entry, 0x1_0000);
    // Its own library does not belong there.
    let error = linux(&[("a.s", "_start: call puts\n")]).unwrap_err().to_string();
    assert!(error.contains("`puts` is not defined"), "{error}");
    match linux(&[("a.c", "#include <stdio.h>\nint main(void) { puts(\"hello\"); return 0; }\n")]) {
        Err(error @ SourceError::NoLinuxCompiler) => tollgate_testkit::skip!("{error}"),
        elf => assert!(elf.unwrap().symbol("__libc_start_main").is_some()),
    }
}

/// Headers and sources in memory belong to the program, in both languages, and the code can be moved.
#[test]
fn a_recipe_adds_headers_and_sources() {
    let recipe = Recipe {
        headers: &[("status.h", "#define STATUS (3 + MORE)\n")],
        units: &[("tail.S", ".globl tail_of_all\ntail_of_all: li a7, 93\n ecall\n")],
        defines: &[("MORE", "1")],
        skipped: 8,
        ..recipe()
    };
    let files = [
        ("a.S", "#include <status.h>\n_start: li a0, STATUS\n j tail_of_all\n"),
        ("a.c", "#include <status.h>\nvoid tail_of_all(int);\nvoid _start(void) { tail_of_all(STATUS); }\n"),
    ];
    for (name, text) in files {
        let folder = folder(&[(name, text)]);
        let program = match load(&folder.path().join(name), &recipe) {
            Err(error @ SourceError::NoCompiler) => return tollgate_testkit::skip!("{error}"),
            program => program.unwrap_or_else(|error| panic!("{name}: {error}")),
        };
        let entry = Elf::parse(&program.elf).unwrap().entry;
        assert!(entry >= 0x8000_0008, "{name}: {entry:#x}");
        assert_eq!(ending(program, Isa::default()).0, Ending::Exited(4), "{name}");
    }
}

/// Clang makes vectors of these loops; their results are those of the same loops in Rust.
#[test]
fn a_program_that_clang_vectorizes_prints_the_right_thing() {
    let runs = |name: &str| {
        std::process::Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
    };
    let pairs = [("clang", "ld.lld"), ("clang-22", "ld.lld-22"), ("clang-19", "ld.lld-19")];
    let installed = pairs.iter().any(|(compiler, linker)| runs(compiler) && runs(linker));
    if !installed {
        return tollgate_testkit::skip!("no clang with its linker: apt-get install clang-19 lld-19");
    }
    let source = r#"
        #include <stdio.h>
        static int a[1000], b[1000];
        static double x[300];
        static char text[] = "The quick brown fox jumps over the lazy dog";
        int main(void) {
            for (int i = 0; i < 1000; i++) a[i] = i * i, b[i] = i ^ 0x55;
            long sum = 0;
            for (int i = 0; i < 1000; i++) sum += (long)a[i] * b[i] - (a[i] > 5000 ? b[i] : -b[i]);
            for (int i = 0; i < 300; i++) x[i] = i * 0.5 + 1;
            double product = 0;
            for (int i = 0; i < 300; i++) product += x[i] * x[299 - i];
            int spaces = 0;
            for (unsigned i = 0; i < sizeof text; i++) spaces += text[i] == ' ';
            printf("%ld %ld %d\n", sum, (long)product, spaces);
            return 0;
        }
    "#;
    let folder = folder(&[("loops.c", source)]);
    let square = |i: i64| i * i;
    let other = |i: i64| i ^ 0x55;
    let term = |i| square(i) * other(i) - if square(i) > 5000 { other(i) } else { -other(i) };
    let half = |i: i32| f64::from(i) * 0.5 + 1.0;
    let product: f64 = (0..300).map(|i| half(i) * half(299 - i)).sum();
    let expected = format!("{} {} 8\n", (0..1000).map(term).sum::<i64>(), product as i64);
    for march in ["rv64gcv", "rv64gcv_zvl256b", "rva23u64"] {
        let isa: Isa = march.parse().unwrap();
        // (Clang 19 calls the profile experimental.)
        let march = if march == "rva23u64" { "rv64gcv_zba_zbb_zbs_zicond_zfa_zvbb" } else { march };
        let recipe = Recipe { opt: "3", ..Recipe::new(march, isa) };
        let program = load(&folder.path().join("loops.c"), &recipe).unwrap();
        let is_vector = |word: &[u8]| word[0] & 0x7f == 0x57;
        let elf = Elf::parse(&program.elf).unwrap();
        let code = elf.segments.iter().flat_map(|it| it.data.chunks(2)).filter(|it| is_vector(it)).count();
        assert!(code > 10, "{march}: {code} vector instructions");
        assert_eq!(ending(program, isa), (Ending::Exited(0), expected.clone()), "{march}");
    }
}
