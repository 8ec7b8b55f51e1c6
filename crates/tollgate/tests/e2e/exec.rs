//! `tollgate exec` has the manners of `env`, `timeout` and `perf stat`.

mod ends;
mod runs;
mod signals;

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;
use tollgate_testkit::{skip, skip_case};

/// Sources that every place has, and what is best here.
const SOURCES: [&str; 4] = ["none", "ptrace", "perf", "auto"];

fn exec(source: &str, options: &[&str], dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command.args(["exec", "--count", source, "--price", "none", "--out"]).arg(dir.join("bill"));
    command.arg("--store").arg(dir.join("store")).args(options).env("LANG", "C.UTF-8").env_remove("LC_ALL");
    // Tests that run in the background of a shell inherit an ignored SIGINT, which no script can trap (POSIX, `trap`).
    // SAFETY: the child makes one system call.
    unsafe {
        std::os::unix::process::CommandExt::pre_exec(&mut command, || {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            Ok(())
        });
    }
    command
}

fn output(source: &str, options: &[&str], words: &[&str]) -> (Output, String) {
    let dir = TempDir::new().unwrap();
    let output = exec(source, options, dir.path()).arg("--").args(words).output().unwrap();
    (output, fs::read_to_string(dir.path().join("bill")).unwrap_or_default())
}

/// Options, the command, the exit status, and what the bill must contain.
const MANNERS: &[(&[&str], &[&str], i32, &str)] = &[
    (&[], &["true"], 0, "exit status 0"),
    (&[], &["sh", "-c", "exit 7"], 7, "exit status 7"),
    (&[], &["/no/such/program"], 127, ""),
    (&[], &["no-such-program"], 127, ""),
    (&[], &["/etc/passwd"], 126, ""),
    (&[], &["/etc/passwd/x"], 126, ""),
    (&[], &["/"], 126, ""),
    (&[], &["sh", "-c", "kill -9 $$"], 137, "killed by signal 9"),
    (&[], &["sh", "-c", "kill -TERM $$"], 143, "killed by signal 15"),
    (&["--for", "200ms"], &["sleep", "100"], 124, "its time was up"),
    (&["--for", "200ms"], &["sh", "-c", "trap '' TERM; while :; do :; done"], 124, "its time was up"),
    (&[], &["sh", "-c", "exec sh -c 'exec true'"], 0, "exit status 0"),
];

#[test]
fn the_end_of_the_command_is_the_end_of_tollgate() {
    for source in SOURCES {
        for (options, words, status, bill) in MANNERS {
            let (output, text) = output(source, options, words);
            let errors = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(*status), "{source}: {words:?}: {errors}");
            assert!(text.contains(bill), "{source}: {words:?}: {text}");
            assert_eq!(errors.contains("cannot run"), *status == 126 || *status == 127, "{errors}");
        }
    }
}

#[test]
fn a_wrong_command_line_is_125() {
    for words in
        [&["--bogus", "--", "true"][..], &["--for", "10", "--", "true"], &["--count", "x", "--", "true"], &[]]
    {
        let output = Command::new(env!("CARGO_BIN_EXE_tollgate")).arg("exec").args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(125), "{words:?}");
    }
}

#[test]
fn the_two_dashes_before_the_command_may_be_left_out() {
    let dir = TempDir::new().unwrap();
    // Options after the command are its own, also those that tollgate has.
    for words in
        [&["sh", "-c", "exit 7", "--for"][..], &["--for", "1h", "sh", "-c", "exit 7", "--", "--json"]]
    {
        let output = exec("none", &[], dir.path()).args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(7), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(fs::read_to_string(dir.path().join("bill")).unwrap().contains("exit status 7"));
    }
}

#[test]
fn a_wrong_command_line_says_what_to_type() {
    for (words, says) in [
        (&[][..], "the command comes last: tollgate exec git status"),
        (&["--"], "the command comes last: tollgate exec git status"),
        (&["-v", "ls"], "options of tollgate come before the command"),
        (&["--counts", "bpf", "--", "ls"], "options of tollgate come before the command"),
        (&["--cout", "bpf", "ls"], "'--count'"),
        (&["--pid", "init"], "as 'pgrep NAME' prints it"),
        (&["--for", "10", "ls"], "10s, 500ms or 2m"),
        (&["--at-most", "3s", "ls"], "--against <COMMAND>"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_tollgate")).arg("exec").args(words).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(125) && errors.contains(says), "{words:?}: {errors}");
    }
}

#[test]
fn output_and_input_are_those_of_the_command() {
    for source in SOURCES {
        let dir = TempDir::new().unwrap();
        let mut command = exec(source, &[], dir.path());
        command.args(["--", "sh", "-c", "cat; echo err >&2"]);
        let input = dir.path().join("input");
        fs::write(&input, "one\ntwo\n").unwrap();
        let output = command.stdin(fs::File::open(input).unwrap()).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "one\ntwo\n", "{source}");
        assert!(output.stderr.starts_with(b"err\n"), "{source}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn what_is_printed_is_what_show_prints() {
    for source in SOURCES {
        let dir = TempDir::new().unwrap();
        let run = exec(source, &[], dir.path()).args(["--", "ls", "/"]).output().unwrap();
        assert!(run.status.success());
        let mut show = Command::new(env!("CARGO_BIN_EXE_tollgate"));
        show.args(["show", "latest", "--store"]).arg(dir.path().join("store"));
        let shown = show.env("LANG", "C.UTF-8").env_remove("LC_ALL").output().unwrap();
        assert_eq!(
            String::from_utf8_lossy(&shown.stdout),
            fs::read_to_string(dir.path().join("bill")).unwrap(),
            "{source}"
        );
    }
}

/// A command that prints a line when it has begun.
fn started(source: &str, script: &str, dir: &Path) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut child =
        exec(source, &[], dir).args(["--", "sh", "-c", script]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert!(!line.is_empty(), "{source}: {script} has printed nothing");
    (child, lines)
}

fn kill(pid: u32, signal: &str) {
    assert!(Command::new("kill").args([&format!("-{signal}"), &pid.to_string()]).status().unwrap().success());
}

#[test]
fn a_signal_reaches_the_command_and_the_bill_is_printed() {
    for source in ["none", "perf", "auto"] {
        for (signal, status) in [("INT", 3), ("TERM", 4)] {
            let dir = TempDir::new().unwrap();
            let script = "trap 'exit 3' INT; trap 'exit 4' TERM; echo ready; while :; do sleep 0.05; done";
            let (mut child, _lines) = started(source, script, dir.path());
            kill(child.id(), signal);
            assert_eq!(child.wait().unwrap().code(), Some(status), "{source}: {signal}");
            let bill = fs::read_to_string(dir.path().join("bill")).unwrap();
            assert!(bill.contains(&format!("exit status {status}")), "{bill}");
        }
    }
}

#[test]
fn a_daemon_goes_on_and_is_mentioned() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("alive");
    let [ready, go] = ["ready", "go"].map(|name| dir.path().join(name));
    assert!(Command::new("mkfifo").args([&ready, &go]).status().unwrap().success());
    // Open here, so that the daemon ends with this test in any case.
    let mut going = fs::File::options().read(true).write(true).open(&go).unwrap();
    // The daemon and its own child are there when the command ends.
    let script = format!(
        "(sh -c 'echo > {}; read -r line < {}'; echo yes > {}) >/dev/null 2>&1 & read -r line < {}; echo done",
        ready.display(),
        go.display(),
        file.display(),
        ready.display()
    );
    let output = exec("auto", &[], dir.path()).args(["--", "sh", "-c", &script]).output().unwrap();
    assert!(output.status.success());
    let bill = fs::read_to_string(dir.path().join("bill")).unwrap();
    let bill = bill.split_whitespace().collect::<Vec<_>>().join(" ");
    if bill.contains("Counted in the kernel") {
        assert!(bill.contains("It left 2 running, not counted further"), "{bill}");
    } else {
        skip_case!("left running", "BPF is refused here");
    }
    going.write_all(b"go on\n").unwrap();
    for _ in 0..6_000 {
        if file.exists() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("the daemon was ended with the command");
}

#[test]
fn ten_thousand_children_are_counted() {
    let script = "i=0; while [ $i -lt 10000 ]; do (:); i=$((i+1)); done";
    let (output, bill) = output("auto", &[], &["dash", "-c", script]);
    if output.status.code() == Some(127) {
        return skip!("dash is missing: apt-get install dash");
    }
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    if !bill.contains("Counted in the kernel") {
        return skip!("BPF is refused here, and a tracer would take too long");
    }
    assert!(bill.lines().any(|line| line.contains("process") && line.contains("10,000")), "{bill}");
}

#[test]
fn a_process_that_runs_already_is_counted() {
    let dir = TempDir::new().unwrap();
    let script = "while :; do read -r line < /proc/self/stat; done";
    let mut other = Command::new("sh").args(["-c", script]).spawn().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command.args(["exec", "--price", "none", "--no-save", "--json", "--stacks", "--for", "1s", "--out"]);
    command.arg(dir.path().join("bill")).args(["--pid", &other.id().to_string()]);
    command.arg("--timeline").arg(dir.path().join("trace"));
    let output = command.output().unwrap();
    let ended = other.try_wait().unwrap();
    other.kill().unwrap();
    other.wait().unwrap();
    if output.status.code() == Some(125) {
        return skip!("{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    assert!(ended.is_none(), "the process goes on");
    let bill = fs::read_to_string(dir.path().join("bill")).unwrap();
    assert!(bill.contains("exec/system-call/openat") && bill.contains("\"attached\": true"), "{bill}");
    // A place in a file, not an address alone.
    assert!(bill.contains("\"sites\"") && bill.contains("\"file\": \"/"), "{bill}");
    let bill = serde_json::from_str(&bill).unwrap();
    let trace: serde_json::Value =
        serde_json::from_slice(&fs::read(dir.path().join("trace")).unwrap()).unwrap();
    let slices = trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X");
    let opened: u64 = slices.filter_map(|event| event["args"]["openat"].as_u64()).sum();
    assert!(opened > 0);
    assert_eq!(opened, crossings(&bill, "system-call/openat"));
}

/// How often a boundary was crossed, by a record.
fn crossings(record: &serde_json::Value, name: &str) -> u64 {
    let rows = record["results"].as_array().unwrap();
    let row = rows.iter().find(|row| row["probe"] == format!("exec/{name}"));
    row.and_then(|row| row["crossings"].as_u64()).unwrap_or(0)
}

#[test]
fn a_process_that_does_not_exist_is_125() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    let output =
        command.args(["exec", "--price", "none", "--no-save", "--pid", "99999999"]).output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert!(!output.stderr.is_empty());
}

#[test]
fn exec_runs_in_exec() {
    for source in SOURCES {
        let dir = TempDir::new().unwrap();
        let mut command = exec(source, &[], dir.path());
        command.args(["--", env!("CARGO_BIN_EXE_tollgate"), "exec", "--no-save", "--price", "none"]);
        let output = command.args(["--", "sh", "-c", "exit 5"]).output().unwrap();
        assert_eq!(output.status.code(), Some(5), "{source}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_program_that_traces_itself_runs_untouched() {
    if tollgate_testkit::program("strace").is_none() {
        return skip!("strace is missing: apt-get install strace");
    }
    for source in ["none", "auto"] {
        let (output, _) = output(source, &[], &["strace", "-c", "-o", "/dev/null", "sh", "-c", "exit 6"]);
        assert_eq!(output.status.code(), Some(6), "{source}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn counts_are_those_of_strace() {
    if tollgate_testkit::program("strace").is_none() {
        return skip!("strace is missing: apt-get install strace");
    }
    let dir = TempDir::new().unwrap();
    let mut file = fs::File::create(dir.path().join("text")).unwrap();
    file.write_all(&vec![b'x'; 300_000]).unwrap();
    let work = dir.path().to_str().unwrap();
    let tar = format!("tar -cf {work}/out.tar -C {work} text");
    let (git, source, gcc) =
        (format!("git -C {work} status"), dir.path().join("x.c"), format!("gcc -c {work}/x.c -o {work}/x.o"));
    fs::write(source, "int main(void) { return 0; }\n").unwrap();
    let quiet = |command: &mut Command| {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // The index is not written anew, and sets have one order.
        command.env("GIT_OPTIONAL_LOCKS", "0").env("PYTHONHASHSEED", "0").env("LC_ALL", "C");
    };
    if tollgate_testkit::program("git").is_some() {
        let mut init = Command::new("git");
        quiet(init.args(["-C", work, "init"]));
        assert!(init.status().unwrap().success());
    }
    for words in [
        "tar --version",
        &tar,
        "sh -c ls\u{a0}/;ls\u{a0}/usr",
        "cat /etc/passwd",
        &git,
        "python3 -I -B -c print(1)",
        &gcc,
        "sqlite3 :memory: create\u{a0}table\u{a0}t(a);insert\u{a0}into\u{a0}t\u{a0}values(1)",
    ] {
        let mut words: Vec<String> = words.split(' ').map(|word| word.replace('\u{a0}', " ")).collect();
        // The system's own: a program that only chooses among versions does not repeat itself.
        let Some(program) = tollgate_testkit::program_in("/usr/bin:/bin".as_ref(), &words[0]) else {
            skip_case!(&words[0], "{} is missing: apt-get install {}", words[0], words[0]);
            continue;
        };
        words[0] = program.to_str().unwrap().to_owned();
        // What it writes exists in each run that is counted.
        let mut first = Command::new(&words[0]);
        quiet(first.args(&words[1..]));
        assert!(first.status().unwrap().success(), "{words:?}");
        let wrong =
            (0..ATTEMPTS).find_map(|_| Some(unlike_strace(&words, dir.path(), &quiet)).filter(Vec::is_empty));
        let wrong = wrong.unwrap_or_else(|| unlike_strace(&words, dir.path(), &quiet));
        assert!(wrong.is_empty(), "{words:?}: {wrong:#?}");
    }
}

/// As many attempts for a program: a child that ends during a call of its parent interrupts it, or does not.
const ATTEMPTS: usize = 4;

/// A command whose addresses are the same in each run: on them depends how often memory is asked for.
fn at_one_place(program: &OsStr) -> Command {
    let fixed = |program| {
        let mut command = Command::new("setarch");
        command.arg("--addr-no-randomize").arg(program);
        command
    };
    // A container may refuse that.
    let is_permitted = fixed("true".as_ref()).status().is_ok_and(|status| status.success());
    if is_permitted { fixed(program) } else { Command::new(program) }
}

/// Counts of a program that differ from those of strace.
fn unlike_strace(words: &[String], dir: &Path, quiet: &dyn Fn(&mut Command)) -> Vec<String> {
    let mut traced = at_one_place("strace".as_ref());
    traced.args(["-c", "-f", "-U", "calls,name", "-o"]).arg(dir.join("strace")).args(words);
    quiet(&mut traced);
    assert!(traced.status().unwrap().success(), "{words:?}");
    let strace = fs::read_to_string(dir.join("strace")).unwrap();
    let strace: Vec<(u64, String)> = strace
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?.parse().ok()?, words.next()?.to_owned()))
        })
        .filter(|(_, name)| name != "total")
        .collect();
    assert!(strace.len() > 5, "{strace:?}");
    let mut wrong = Vec::new();
    for source in ["ptrace", "perf", "auto"] {
        let plain = exec(source, &["--json"], dir);
        let mut run = at_one_place(plain.get_program());
        run.args(plain.get_args()).arg("--").args(words);
        quiet(&mut run);
        assert!(run.status().unwrap().success(), "{words:?}");
        let record = serde_json::from_slice(&fs::read(dir.join("bill")).unwrap()).unwrap();
        if let Some(why) = uncounted(&record, source) {
            skip_case!(&format!("{source} of {}", words[0]), "{why}");
            continue;
        }
        for (count, name) in &strace {
            let ours = crossings(&record, &format!("system-call/{name}"));
            if ours != *count {
                wrong.push(format!("{source}: {ours} of {name}, {count} by strace"));
            }
        }
    }
    wrong
}

/// Why a record has no complete counts of the source that was asked for.
fn uncounted(record: &serde_json::Value, asked: &str) -> Option<String> {
    let used = record["results"][0]["found"]["source"].as_str().unwrap();
    let lost = crossings(record, "system-call/unknown calls");
    if used != asked && (asked, used) != ("auto", "bpf") {
        return Some(format!("only {used} counts here"));
    }
    (lost > 0).then(|| format!("the kernel lost {lost} records here"))
}

/// A program that touches 5,000 pages, each by a read before the write or not.
fn touching(read: &str) -> Vec<String> {
    let pages = "m = mmap.mmap(-1, 5000 * 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)";
    let small = "m.madvise(mmap.MADV_NOHUGEPAGE)";
    let touch = format!("for i in range(0, 5000 * 4096, 4096): {read}m[i] = 1");
    ["python3", "-I", "-c", &format!("import mmap; {pages}; {small}\n{touch}")].map(str::to_owned).into()
}

#[test]
fn one_fault_more_for_each_page_is_found_and_named() {
    let Some(python) = tollgate_testkit::program_in("/usr/bin:/bin".as_ref(), "python3") else {
        return skip!("python3 is missing: apt-get install python3");
    };
    let dir = TempDir::new().unwrap();
    let bill = |name: &str, read| {
        let mut run = exec("auto", &["--json"], dir.path());
        assert!(run.arg("--").arg(&python).args(&touching(read)[1..]).status().unwrap().success());
        let text = fs::read_to_string(dir.path().join("bill")).unwrap();
        fs::write(dir.path().join(name), &text).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let (once, twice): (serde_json::Value, serde_json::Value) =
        (bill("a.json", ""), bill("b.json", "m[i]; "));
    let mut compare = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    compare.args(["compare", "a.json", "b.json", "--json"]).current_dir(dir.path());
    let found: serde_json::Value = serde_json::from_slice(&compare.output().unwrap().stdout).unwrap();
    // The tracer's second run has the kernel's accounts, which do not tell kinds apart.
    let is_bpf = once["results"][0]["found"]["source"] == "bpf";
    let names = if is_bpf { &["fault/zero page", "fault/copy on write"][..] } else { &["fault/minor"] };
    for name in names {
        let (a, b) = (crossings(&once, name), crossings(&twice, name));
        assert!((4_900..5_100).contains(&(b as i64 - a as i64)), "{name}: {a} and {b}");
        let rows = found["rows"].as_array().unwrap();
        let row = rows.iter().find(|row| row["probe"] == format!("exec/{name}"));
        // A kind that one program does not cross at all has no row to compare with.
        if a > 0 {
            assert_eq!(row.expect(name)["verdict"], "worse", "{name}: {found}");
        }
    }
}

#[test]
fn against_finds_and_names_what_one_command_pays_more() {
    let dir = TempDir::new().unwrap();
    let with = |count| format!("dd if=/dev/zero of=/dev/null bs=1 status=none count={count}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command
        .args(["exec", "--price", "now", "--json", "--at-most", "10ms", "--out"])
        .arg(dir.path().join("bill"));
    command.arg("--store").arg(dir.path().join("store"));
    // What was is A, what is is B. One pair is enough for counts that differ by so much.
    command.args(["--against", &with(2_000), "--"]).args(with(4_000).split(' '));
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        errors.contains("1 pair of runs, too few for a verdict on times, which takes 17 or more"),
        "{errors}"
    );
    assert!(output.status.success(), "{errors}");
    let found: serde_json::Value =
        serde_json::from_slice(&fs::read(dir.path().join("bill")).unwrap()).unwrap();
    let row = |name: &str, part: Option<&str>| {
        let rows = found["rows"].as_array().unwrap();
        let is = |row: &&serde_json::Value| {
            row["probe"] == format!("exec/{name}") && row.get("part").and_then(|it| it.as_str()) == part
        };
        rows.iter().find(is).unwrap_or_else(|| panic!("{name} {part:?}: {found}"))
    };
    let is_priced = |name: &str| {
        let rows = found["rows"].as_array().unwrap();
        rows.iter().any(|row| row["part"] == "toll" && row["probe"] == format!("exec/{name}"))
    };
    if !["system-call/read", "system-call/write", "total"].into_iter().all(is_priced) {
        return skip!("the price of a call is contradicted here");
    }
    for name in ["system-call/read", "system-call/write"] {
        let (count, toll) = (row(name, None), row(name, Some("toll")));
        let of = |row: &serde_json::Value, key: &str| row[key].as_f64().unwrap();
        assert_eq!(
            (of(count, "b") - of(count, "a"), count["unit"].as_str()),
            (2_000.0, Some("crossings")),
            "{name}"
        );
        for row in [count, toll] {
            assert_eq!(row["verdict"], "worse", "{name}: {found}");
        }
        assert_eq!(toll["unit"], "ns");
        // One price for both.
        let price = |side: &str| of(toll, side) / of(count, side);
        assert!((price("a") / price("b") - 1.0).abs() < 1e-9 && price("a") > 1.0, "{found}");
    }
    assert_eq!(row("system-call/execve", None)["verdict"], "same");
    assert!(row("total", Some("toll"))["a"].as_f64() > row("system-call/read", Some("toll"))["a"].as_f64());
}

#[test]
fn a_set_uid_program_keeps_its_user() {
    let dir = TempDir::new().unwrap();
    // SAFETY: a call without arguments.
    if unsafe { libc::geteuid() } != 0 {
        return skip!("it takes root to make a set-uid program of another user");
    }
    let program = dir.path().join("id");
    fs::copy(tollgate_testkit::program("id").unwrap(), &program).unwrap();
    std::os::unix::fs::chown(&program, Some(65534), None).unwrap();
    for path in [dir.path(), &program] {
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o4755)).unwrap();
    }
    for source in SOURCES {
        let (output, bill) = output(source, &[], &[program.to_str().unwrap(), "-u"]);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "65534\n", "{source}");
        if bill.contains("Counted by the kernel's events") {
            let bill = bill.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(bill.contains("1 set-uid programs were not counted"), "{bill}");
        }
    }
}

/// Starts a command on a terminal of its own, and returns it with the other end of that.
fn on_terminal(command: &mut Command) -> (Child, fs::File) {
    // SAFETY: room for two descriptors; nothing else owns them. The child makes system calls only.
    unsafe {
        let (mut ours, mut theirs) = (0, 0);
        let none = std::ptr::null_mut();
        assert_eq!(libc::openpty(&mut ours, &mut theirs, none, none.cast(), none.cast()), 0);
        let [ours, theirs]: [fs::File; 2] = [ours, theirs].map(|fd| std::os::fd::FromRawFd::from_raw_fd(fd));
        let stdio = || Stdio::from(theirs.try_clone().unwrap());
        command.stdin(stdio()).stdout(stdio()).stderr(stdio());
        std::os::unix::process::CommandExt::pre_exec(command, || {
            if libc::setsid() < 0 || libc::ioctl(0, libc::TIOCSCTTY, 0) < 0 {
                return Err(std::io::Error::last_os_error());
            }
            Ok(())
        });
        let child = command.spawn().unwrap();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        (child, ours)
    }
}

/// Runs a script under `exec` on a terminal of its own, and returns what it prints and the exit status of tollgate. What is
/// typed is sent when the script has printed `ready`.
fn on_a_terminal(source: &str, script: &str, typed: &[u8]) -> (String, Option<i32>) {
    let dir = TempDir::new().unwrap();
    let mut command = exec(source, &[], dir.path());
    let (mut child, mut ours) = on_terminal(command.args(["--", "sh", "-c", script]));
    let (mut text, mut bytes) = (String::new(), [0; 256]);
    // The terminal ends with an error when its last process has ended.
    while let Ok(count @ 1..) = std::io::Read::read(&mut ours, &mut bytes) {
        let ready = text.contains("ready");
        text.push_str(&String::from_utf8_lossy(&bytes[..count]));
        if !ready && text.contains("ready") {
            ours.write_all(typed).unwrap();
        }
    }
    (text, child.wait().unwrap().code())
}

#[test]
fn a_command_keeps_its_terminal() {
    for source in ["none", "auto"] {
        let script =
            "test -t 0 && test -t 1 && test -t 2 && stty size && echo ready && read line && echo got $line";
        let (text, status) = on_a_terminal(source, script, b"word\n");
        assert!(text.contains("got word"), "{source}: {text}");
        assert_eq!(status, Some(0), "{source}: {text}");
    }
}

#[test]
fn control_c_reaches_the_command_once_and_tollgate_prints_the_bill() {
    for source in ["none", "auto"] {
        // A second signal would find the default action again, and end the shell with 130.
        let script = "trap 'trap - INT; sleep 0.2; exit 3' INT; echo ready; while :; do sleep 0.05; done";
        let (text, status) = on_a_terminal(source, script, &[3]);
        assert_eq!(status, Some(3), "{source}: {text}");
    }
}

#[test]
fn the_timeline_is_a_chrome_trace_or_is_skipped_with_a_reason() {
    for source in SOURCES {
        let dir = TempDir::new().unwrap();
        let file = dir.path().join("trace.json");
        let options = ["--timeline", file.to_str().unwrap()];
        let output = exec(source, &options, dir.path()).args(["--", "sleep", "0.1"]).output().unwrap();
        assert!(output.status.success(), "{source}: {}", String::from_utf8_lossy(&output.stderr));
        let bill = fs::read_to_string(dir.path().join("bill")).unwrap();
        if !bill.contains("Counted in the kernel") {
            assert!(bill.contains("the timeline is skipped") && !file.exists(), "{source}: {bill}");
            continue;
        }
        let trace: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        let slices = events.iter().filter(|event| event["ph"] == "X");
        let sleeps: u64 = slices.filter_map(|event| event["args"]["clock_nanosleep"].as_u64()).sum();
        assert_eq!(sleeps, 1, "{trace}");
    }
}

#[test]
fn the_call_sites_are_in_the_bill_and_what_show_prints() {
    for source in SOURCES {
        let dir = TempDir::new().unwrap();
        let run = exec(source, &["--stacks"], dir.path()).args(["--", "ls", "/"]).output().unwrap();
        assert!(run.status.success(), "{source}: {}", String::from_utf8_lossy(&run.stderr));
        let bill = fs::read_to_string(dir.path().join("bill")).unwrap();
        let counted =
            ["Counted in the kernel", "Counted by the kernel's events", "Counted while it ran (ptrace)"];
        let is_counted = counted.iter().any(|text| bill.contains(text));
        assert_eq!(bill.contains("The call sites that pay most"), is_counted, "{source}: {bill}");
        let mut show = Command::new(env!("CARGO_BIN_EXE_tollgate"));
        show.args(["show", "latest", "--store"]).arg(dir.path().join("store"));
        let shown = show.env("LANG", "C.UTF-8").env_remove("LC_ALL").output().unwrap();
        assert_eq!(String::from_utf8_lossy(&shown.stdout), bill, "{source}");
    }
}
