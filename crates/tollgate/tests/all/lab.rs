//! `tollgate lab` from end to end: what a student sees, what course systems read, and what the server refuses.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;
use tollgate_lab::exercise::{Exercise, seed_of};
use tollgate_testkit::{program, skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_tollgate");

fn lab(folder: &TempDir, arguments: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.arg("lab").args(arguments).current_dir(folder.path()).env("HOME", folder.path());
    command.output().expect("tollgate starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn folder() -> TempDir {
    TempDir::new().expect("a temporary folder")
}

/// The reference solution of `count` for a seed, without a header.
fn solution(seed: u64) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lab/tests/exercises/count/reference.s");
    Exercise::find("count").unwrap().fill(seed, &fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn a_student_starts_fails_and_passes() {
    let folder = folder();
    let started = lab(&folder, &["start", "count", "--student", "Ada@example.org"]);
    assert!(started.status.success(), "{}", text(&started.stderr));
    let seed = seed_of("ada@example.org");
    assert!(text(&started.stderr).contains(&format!("(seed {seed})")), "{}", text(&started.stderr));
    let again = lab(&folder, &["start", "count"]);
    assert_eq!(again.status.code(), Some(2), "a source that is there is kept");
    assert!(text(&again.stderr).contains("--out FILE"));

    let failed = lab(&folder, &["check", "count.s"]);
    let shown = text(&failed.stdout);
    assert_eq!(failed.status.code(), Some(1), "{shown}");
    assert!(shown.contains("FAILED the count is the kernel's") && shown.contains("hint "), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80 && !line.ends_with(' ')), "{shown}");

    fs::write(folder.path().join("mine.s"), solution(seed)).unwrap();
    let arguments =
        ["check", "mine.s", "--exercise", "count", "--student", " ada@EXAMPLE.org", "--format", "json"];
    let passed = lab(&folder, &arguments);
    assert!(passed.status.success(), "{}", text(&passed.stdout));
    let verdict: Value = serde_json::from_slice(&passed.stdout).unwrap();
    assert_eq!((&verdict["passed"], &verdict["seed"]), (&Value::Bool(true), &Value::from(seed)));
}

/// The seed of the command line holds, whatever the source says of itself.
#[test]
fn a_source_of_another_student_fails() {
    let folder = folder();
    fs::write(folder.path().join("bobs.s"), format!("# tollgate lab: count, seed 1\n{}", solution(1)))
        .unwrap();
    assert!(lab(&folder, &["check", "bobs.s"]).status.success());
    let checked = lab(&folder, &["check", "bobs.s", "--seed", "2"]);
    assert_eq!(checked.status.code(), Some(1));
    assert!(text(&checked.stderr).contains("begun with seed 1"), "{}", text(&checked.stderr));
}

#[test]
fn what_is_wrong_with_a_call_is_a_sentence() {
    let folder = folder();
    fs::write(folder.path().join("mine.s"), "nop\n").unwrap();
    fs::write(folder.path().join("bad.toml"), "id = 7\n").unwrap();
    fs::write(folder.path().join("bytes.s"), [0xff, 0xfe]).unwrap();
    for (arguments, said) in [
        (&["check", "mine.s"][..], "--exercise NAME"),
        (&["check", "mine.s", "--exercise", "count"], "--student NAME"),
        (&["check", "mine.s", "--exercise", "cuont", "--seed", "1"], "the nearest is 'count'"),
        (&["check", "none.s"], "none.s"),
        (&["check", "bytes.s"], "not UTF-8"),
        (&["check", "."], "several files there end in .s"),
        (&["start", "bad.toml"], "docs/howto/write-exercise.md"),
        (&["serve", "."], "index.html"),
        (&["scorm", "--page", ".", "--out", "x.zip"], "index.html"),
    ] {
        let output = lab(&folder, arguments);
        let said_too = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said_too}");
        assert!(said_too.contains(said), "{arguments:?}: {said_too}");
    }
    assert!(!folder.path().join("x.zip").exists());
}

#[test]
fn junit_is_xml_with_the_failures() {
    let folder = folder();
    fs::write(folder.path().join("mine.s"), "count: adi a0, a0, '<'\n").unwrap();
    let arguments = ["check", "mine.s", "--exercise", "count", "--seed", "1", "--format", "junit"];
    let output = text(&lab(&folder, &arguments).stdout);
    let checks = output.matches("<testcase ").count();
    assert!(checks >= 4 && output.contains(&format!("tests=\"{checks}\" failures=\"{checks}\"")), "{output}");
    assert_eq!(output.matches("</failure>").count(), checks);
    assert!(output.contains("unknown instruction") && !output.contains("'<'"), "{output}");
}

/// The archive as Gradescope uses it: unpacked, set up, run for a submission.
#[test]
fn the_autograder_grades_a_submission() {
    let Some(unzip) = program("unzip") else {
        return skip!("unzip is missing: apt-get install unzip");
    };
    let folder = folder();
    // The program itself is large; a link in its place keeps the test short.
    fs::write(folder.path().join("stub"), format!("#!/bin/sh\nexec {PROGRAM} \"$@\"\n")).unwrap();
    let made = lab(&folder, &["autograder", "count", "--program", "stub", "--out", "count.zip"]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let root = folder.path().join("autograder");
    fs::create_dir(&root).unwrap();
    let mut unpack = Command::new(unzip);
    unpack.arg("-q").arg(folder.path().join("count.zip")).arg("-d").arg(root.join("source"));
    assert!(unpack.status().unwrap().success());
    fs::create_dir(root.join("submission")).unwrap();
    let metadata = "{\"id\": 1, \"users\": [{\"email\": \"ada@example.org\", \"id\": 2, \"name\": \"Ada\"}]}";
    fs::write(root.join("submission_metadata.json"), metadata).unwrap();
    let script = |name: &str| {
        let mut command = Command::new(root.join("source").join(name));
        command.env("AUTOGRADER", &root).output().unwrap()
    };
    assert!(script("setup.sh").status.success());
    let graded = |source: &str| {
        fs::write(root.join("submission/mine.s"), source).unwrap();
        let output = script("run_autograder");
        assert!(output.status.success(), "{}", text(&output.stderr));
        let results = fs::read(root.join("results/results.json")).unwrap();
        let results: Value = serde_json::from_slice(&results).unwrap();
        let points = |key: &str| {
            let tests = results["tests"].as_array().unwrap().iter();
            tests.map(|test| test[key].as_u64().unwrap()).sum::<u64>()
        };
        (points("score"), points("max_score"))
    };
    let (points, most) = graded(&solution(seed_of("ada@example.org")));
    assert_eq!(points, most);
    let (points, _) = graded(&solution(seed_of("bob@example.org")));
    assert!(points < most);
    // Two sources: the student reads why there are no points.
    fs::write(root.join("submission/other.s"), "nop\n").unwrap();
    assert!(script("run_autograder").status.success());
    let results = fs::read_to_string(root.join("results/results.json")).unwrap();
    assert!(results.contains("hand in one source") && results.contains("\"score\": 0"), "{results}");
}

/// A page with a script, and files that must stay out of reach.
fn page(folder: &TempDir) {
    fs::create_dir_all(folder.path().join("page/assets")).unwrap();
    fs::write(folder.path().join("secret.txt"), "secret").unwrap();
    let file = |name: &str, bytes: &[u8]| fs::write(folder.path().join("page").join(name), bytes).unwrap();
    file("index.html", b"<!DOCTYPE html><html><head></head></html>");
    file("assets/lab.wasm", b"\0asm");
    file("lab.js", b"1;");
    file(".hidden", b"secret");
    std::os::unix::fs::symlink(folder.path().join("secret.txt"), folder.path().join("page/link.txt"))
        .unwrap();
}

struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn new(folder: &TempDir) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(["lab", "serve", "page"]).current_dir(folder.path()).stderr(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().strip_prefix("http://127.0.0.1:").and_then(|it| it.strip_suffix('/'));
        let port = port.unwrap_or_else(|| panic!("{line}")).parse().unwrap();
        Self { child, port }
    }

    /// The answer to these bytes.
    fn ask(&self, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        // It may answer, and close, before it has read everything.
        let _ = stream.write_all(request);
        let _ = stream.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        text(&answer)
    }

    fn get(&self, path: &str) -> String {
        self.ask(format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", self.port).as_bytes())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_server_gives_the_page_and_nothing_else() {
    let folder = folder();
    page(&folder);
    let server = Server::new(&folder);
    for (path, kind, body) in [
        ("/", "text/html; charset=utf-8", "</html>"),
        ("/index.html?exercise=count", "text/html; charset=utf-8", "</html>"),
        ("/assets/lab.wasm", "application/wasm", "\0asm"),
        ("/lab.js", "text/javascript; charset=utf-8", "1;"),
    ] {
        let answer = server.get(path);
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with(body), "{path}: {answer}");
        assert!(
            answer.contains(&format!("Content-Type: {kind}\r\n")) && answer.contains("nosniff"),
            "{answer}"
        );
    }
    for path in [
        "/../secret.txt",
        "/assets/../../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "//etc/passwd",
        "/link.txt",
        "/.hidden",
        "/assets",
        "/assets/",
        "/none",
    ] {
        let answer = server.get(path);
        assert!(answer.starts_with("HTTP/1.1 404 ") && !answer.contains("secret"), "{path}: {answer}");
    }
}

#[test]
fn the_server_refuses_other_hosts_methods_and_sizes() {
    let folder = folder();
    page(&folder);
    let server = Server::new(&folder);
    let port = server.port;
    let status =
        |request: &str| server.ask(request.as_bytes()).split(' ').nth(1).unwrap_or_default().to_owned();
    let own = format!("Host: localhost:{port}\r\n");
    assert_eq!(status(&format!("GET / HTTP/1.1\r\n{own}\r\n")), "200");
    // A name of somebody else that leads here: DNS rebinding.
    assert_eq!(status(&format!("GET / HTTP/1.1\r\nHost: evil.example:{port}\r\n\r\n")), "421");
    assert_eq!(status(&format!("GET / HTTP/1.1\r\n{own}Host: evil.example\r\n\r\n")), "421");
    assert_eq!(status("GET / HTTP/1.1\r\n\r\n"), "421");
    assert_eq!(status("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), "421");
    assert_eq!(status(&format!("POST / HTTP/1.1\r\n{own}\r\n")), "405");
    assert_eq!(status(&format!("GET http://evil.example/ HTTP/1.1\r\n{own}\r\n")), "400");
    assert_eq!(status("\0\0\0\r\n\r\n"), "400");
    let fields = "a: b\r\n".repeat(100);
    assert_eq!(status(&format!("GET / HTTP/1.1\r\n{own}{fields}\r\n")), "431");
    let head = server.ask(format!("HEAD / HTTP/1.1\r\n{own}\r\n").as_bytes());
    assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"), "{head}");
    // A line without end: the answer may be lost with the connection, but the server goes on.
    let long = server.ask(format!("GET /{} HTTP/1.1\r\n", "a".repeat(1 << 20)).as_bytes());
    assert!(long.is_empty() || long.starts_with("HTTP/1.1 431"), "{long}");
    assert_eq!(status(&format!("GET / HTTP/1.1\r\n{own}\r\n")), "200");
}

#[test]
fn ctrl_c_ends_the_server() {
    let folder = folder();
    page(&folder);
    let mut server = Server::new(&folder);
    // SAFETY: a signal to a child that was not waited for yet.
    assert_eq!(unsafe { libc::kill(server.child.id() as i32, libc::SIGINT) }, 0);
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
}

/// The package's script with a course system that notes every call.
#[test]
fn the_package_reports_the_points() {
    let (Some(node), Some(unzip)) = (program("node"), program("unzip")) else {
        return skip!("node or unzip is missing: apt-get install nodejs unzip");
    };
    let folder = folder();
    page(&folder);
    for (version, api, expected) in [
        ("1.2", "API", "LMSInitialize: score.raw=75 lesson_status=incomplete LMSCommit: LMSFinish:"),
        (
            "2004",
            "API_1484_11",
            "Initialize: score.raw=6 score.scaled=0.75 success_status=failed Commit: Terminate:",
        ),
    ] {
        let out = folder.path().join(format!("{version}.zip"));
        let arguments = ["scorm", "--page", "page", "--scorm", version, "--exercise", "count", "--out"];
        let made = lab(&folder, &[&arguments[..], &[out.to_str().unwrap()]].concat());
        assert!(made.status.success(), "{}", text(&made.stderr));
        let member = |name: &str| {
            let mut command = Command::new(&unzip);
            text(&command.arg("-p").arg(&out).arg(name).output().unwrap().stdout)
        };
        let manifest = member("imsmanifest.xml");
        assert!(manifest.contains(&format!("<schemaversion>{version}")), "{manifest}");
        for file in ["index.html", "lab.js", "assets/lab.wasm", "scorm.js"] {
            assert!(manifest.contains(&format!("<file href=\"{file}\"/>")), "{manifest}");
        }
        assert!(!manifest.contains("link.txt"), "{manifest}");
        assert!(member("index.html").contains("<head><script src=\"scorm.js\"></script>"));
        let stub = format!(
            "const said = []; const listeners = {{}};\n\
             const note = new Proxy({{}}, {{ get: (_, name) => (key, value) => {{ said.push(value === undefined ? name + ':' : \
             key.replace(/^cmi\\.(core\\.)?/, '') + '=' + value); return 'true'; }} }});\n\
             const course = {{ {api}: note }}; course.parent = course;\n\
             globalThis.window = {{ parent: course, addEventListener: (name, act) => {{ listeners[name] = act; }} }};\n\
             {}\nlisteners['tollgate-verdict']({{ detail: {{ score: 6, of: 8, passed: false }} }});\n\
             listeners.pagehide(); console.log(said.join(' '));",
            member("scorm.js")
        );
        let output = Command::new(&node).arg("-e").arg(&stub).output().unwrap();
        let said = text(&output.stdout);
        let mut rest = said.as_str();
        for word in expected.split(' ') {
            let found = rest
                .split_once(word)
                .unwrap_or_else(|| panic!("no {word} in {said} {}", text(&output.stderr)));
            rest = found.1;
        }
    }
}
