//! `tollgate riscv exec` inside of Linux: what it says to bad input, and how it ends programs that do not end well. The kernel is at
//! `TOLLGATE_LINUX` (Debian's linux-image for riscv64). What needs no kernel is in e2e/guests.rs.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::{env, fs};

use tempfile::TempDir;
use tollgate_testkit::{program, skip};

const COMPILER: &str = "riscv64-linux-gnu-gcc";

/// A program that does what its first word says.
const PROGRAM: &str = r#"
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
int main(int count, char **words) {
    struct sockaddr_in to = {AF_INET, htons(80), {htonl(0x08080808)}};
    puts("begun");
    fflush(stdout);
    switch (count > 1 ? words[1][0] : 0) {
    case 'n': if (connect(socket(AF_INET, SOCK_STREAM, 0), (void *)&to, sizeof to)) perror("connect"); return 3;
    case 'w': { int ends[2]; return pipe(ends) + read(ends[0], words, 1); }
    case 'd': if (open("/dev/sda", O_RDONLY) < 0) perror("/dev/sda"); return 4;
    case 'm': for (;;) memset(malloc(1 << 20), 1, 1 << 20);
    case 'f': for (;;) fork();
    case 'e': for (;;) if (words[1][1]) puts("much"), fflush(stdout);
    case 'c': *(volatile int *)8 = 1;
    }
    return 0;
}
"#;

fn exec(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command.args(["riscv", "exec", "--no-save"]).args(arguments).stdin(Stdio::null());
    command.output().expect("tollgate starts")
}

fn compiled(dir: &Path, name: &str, options: &[&str]) -> String {
    let out = dir.join(name);
    let mut command = Command::new(COMPILER);
    command.current_dir(dir).args(["-O1", "-w", "program.c", "-o"]).arg(&out).args(options);
    let done = command.output().expect("a compiler");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    out.to_string_lossy().into_owned()
}

/// Options, the program with its arguments, the exit status, what standard error says, and standard output.
type Case<'a> = (&'a [&'a str], &'a [&'a str], i32, &'a [&'a str], &'a str);

#[test]
fn each_bad_input_ends_with_a_sentence() {
    let Some(kernel) = env::var_os("TOLLGATE_LINUX") else {
        return skip!("TOLLGATE_LINUX does not name a riscv64 kernel");
    };
    if program(COMPILER).is_none() {
        return skip!("{COMPILER} is missing: apt-get install gcc-riscv64-linux-gnu");
    }
    let kernel = kernel.to_string_lossy().into_owned();
    let scratch = TempDir::new().expect("a temporary folder");
    let dir = scratch.path();
    let file = |name: &str, bytes: &[u8]| {
        let path = dir.join(name);
        fs::write(&path, bytes).expect("a file");
        path.to_string_lossy().into_owned()
    };
    file("program.c", PROGRAM.as_bytes());
    let fixed = compiled(dir, "fixed", &["-static"]);
    let musl = compiled(dir, "musl", &["-Wl,--dynamic-linker=/lib/ld-musl-riscv64.so.1"]);
    compiled(dir, "libabsent.so", &["-shared", "-fPIC", "-Dmain=absent"]);
    let absent = compiled(dir, "absent", &["-Wl,--no-as-needed", "-L.", "-labsent"]);
    let host = env::current_exe().expect("this program").to_string_lossy().into_owned();

    let image = fs::read(&kernel).expect("the kernel");
    // A kernel that does not look for an initial RAM disk in the device tree behaves like one without support for it.
    let name = b"linux,initrd-start";
    let places: Vec<usize> =
        image.windows(name.len()).enumerate().filter(|(_, it)| it == name).map(|(at, _)| at).collect();
    assert!(!places.is_empty());
    let mut deaf = image.clone();
    places.iter().for_each(|at| deaf[*at] = b'x');
    let deaf = file("deaf", &deaf);
    let half = file("half", &image[..image.len() / 2]);
    let mut holed = image.clone();
    holed[0x1000..0x10_0000].fill(0);
    let holed = file("holed", &holed);
    let text = file("text", b"no kernel\n");

    let ready = dir.join("ready.snap").to_string_lossy().into_owned();
    let saved = exec(&["--kernel", &kernel, "--save", &ready, "--", &fixed]);
    assert_eq!(saved.status.code(), Some(0), "{}", String::from_utf8_lossy(&saved.stderr));
    let snapshot = fs::read(&ready).expect("the snapshot");
    let cut = file("cut.snap", &snapshot[..snapshot.len() / 2]);
    let mut flipped = snapshot.clone();
    flipped[snapshot.len() / 2] ^= 1;
    let flipped = file("flipped.snap", &flipped);

    let few = ["--from", ready.as_str(), "--max-instructions", "50000000"];
    #[rustfmt::skip]
    let cases: &[Case<'_>] = &[
        // The kernel.
        (&["--kernel", &deaf], &[&fixed], 125, &["deaf", "initial RAM disk", "last lines", "Unable to mount root fs"], ""),
        (&["--kernel", &half], &[&fixed], 125, &["half", "no symbols in the image"], ""),
        (&["--kernel", &holed], &[&fixed], 125, &["holed", "it printed nothing"], ""),
        (&["--kernel", &text], &[&fixed], 125, &["text", "neither an ELF file nor a RISC-V Linux image"], ""),
        (&["--from", &cut], &[&fixed], 125, &["cut.snap", "cut off"], ""),
        (&["--from", &flipped], &[&fixed], 125, &["flipped.snap", "damaged"], ""),
        (&["--from", &kernel], &[&fixed], 125, &["not a snapshot"], ""),
        // The program's file.
        (&few, &[&host], 126, &["a program for"], ""),
        (&few, &[&musl], 126, &["/lib/ld-musl-riscv64.so.1 is missing", "--root"], ""),
        (&few, &[&absent], 126, &["the library libabsent.so is missing", "--root"], ""),
        // What it does.
        (&few, &[&fixed, "n"], 3, &["connect: Network is unreachable", "the guest has no network"], "begun\n"),
        (&few[..2], &[&fixed, "w"], 125, &["waits for something that cannot come"], "begun\n"),
        (&few, &[&fixed, "d"], 4, &["/dev/sda: No such file"], "begun\n"),
        (&["--kernel", &kernel, "--memory", "96"], &[&fixed, "m"], 137, &["signal 9 (SIGKILL)", "Out of memory", "--memory"], "begun\n"),
        (&few, &[&fixed, "f"], 124, &["has not ended", "--max-instructions"], "begun\n"),
        (&["--kernel", &kernel, "--memory", "128"], &[&fixed, "f"], 124, &["processes and threads, more than", "--memory"], "begun\n"),
        (&few, &[&fixed, "e"], 124, &["has not ended", "--max-instructions"], "begun\n"),
        (&few, &[&fixed, "e1"], 124, &["has not ended", "--max-instructions"], "begun\nmuch\n"),
        (&few, &[&fixed, "c"], 139, &["signal 11 (SIGSEGV)"], "begun\n"),
    ];
    for (options, words, status, says, prints) in cases {
        let arguments = [options, &["--"][..], words].concat();
        let output = exec(&arguments);
        let [said, printed] =
            [&output.stderr, &output.stdout].map(|it| String::from_utf8_lossy(it).into_owned());
        assert_eq!(output.status.code(), Some(*status), "{arguments:?}: {said}");
        let squeezed = said.split_whitespace().collect::<Vec<_>>().join(" ");
        for word in *says {
            assert!(squeezed.contains(*word), "{arguments:?} does not say {word:?}: {said}");
        }
        assert!(!said.contains("panicked at"), "{arguments:?}: {said}");
        assert!(
            printed.starts_with(*prints) && printed.is_empty() == prints.is_empty(),
            "{arguments:?}: {printed}"
        );
    }
}
