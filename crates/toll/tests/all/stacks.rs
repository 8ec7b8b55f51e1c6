//! `--stacks` names the places of a program with known call sites.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use tollgate_record::family::CallSite;
use tollgate_testkit::{program, skip, skip_case};
use tollgate_toll::{Counted, Extras, Limits, Source, Wanted, bill, run};

/// Two functions read, one of them from two lines; the first writes to new pages, too. The program removes its own file if
/// it is called with a word.
const PROGRAM: &str = r#"
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
__attribute__((noinline)) long one_read(int from) {
    char byte;
    long got = read(from, &byte, 1);
    __asm__ volatile("" ::: "memory");
    return got;
}
__attribute__((noinline)) long many(int from, int times) {
    long sum = 0;
    for (int i = 0; i < times; i++)
        sum += one_read(from);
    return sum;
}
__attribute__((noinline)) long few(int from) {
    long sum = one_read(from);
    sum += one_read(from);
    return sum;
}
__attribute__((noinline)) void touch(volatile char *at, int pages) {
    for (int i = 0; i < pages; i++)
        at[4096L * i] = 1;
}
int main(int argc, char **argv) {
    int ends[2];
    char zeroes[6000] = {0};
    pipe(ends);
    write(ends[1], zeroes, sizeof zeroes);
    char *at = mmap(0, 4096 * 500, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(at, 4096 * 500, MADV_NOHUGEPAGE);
    many(ends[0], 5000);
    few(ends[0]);
    touch(at, 500);
    if (argc > 1)
        unlink(argv[0]);
    return 0;
}
"#;

/// The program, compiled with frame pointers; `None` without a compiler.
fn compiled(dir: &Path) -> Option<PathBuf> {
    let (source, built) = (dir.join("sites.c"), dir.join("sites"));
    std::fs::write(&source, PROGRAM).unwrap();
    let mut cc = Command::new(program("cc")?);
    cc.args(["-O1", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-w", "-o"]);
    assert!(cc.arg(&built).arg(&source).status().unwrap().success());
    Some(built)
}

fn counted(source: Source, words: &[OsString]) -> Option<Counted> {
    let extras = Extras { stacks: true, ..Extras::default() };
    let counted = run(words, Wanted::Only(source), Limits::default(), extras).unwrap();
    (counted.source == source).then_some(counted)
}

fn sites(counted: &Counted) -> Vec<CallSite> {
    let rows = bill::rows(&bill::Input { command: Vec::new(), attached: false, counted, prices: None });
    rows[0].found.exec().unwrap().sites.clone()
}

/// The names of the functions of a site, the innermost first.
fn functions(site: &CallSite) -> Vec<&str> {
    site.frames.iter().map(|frame| frame.function.as_deref().unwrap_or("")).collect()
}

fn position(site: &CallSite, function: &str) -> Option<usize> {
    functions(site).iter().position(|name| *name == function)
}

/// Crossings of a boundary that this function led to.
fn from(sites: &[CallSite], name: &str, function: &str) -> u64 {
    let of = sites.iter().filter(|site| site.name == name && position(site, function).is_some());
    of.map(|site| site.crossings).sum()
}

#[test]
fn the_sites_that_cross_most_have_their_counts_and_callers() {
    let dir = TempDir::new().unwrap();
    let Some(program) = compiled(dir.path()) else {
        return skip!("cc is missing: apt-get install gcc");
    };
    for source in [Source::Bpf, Source::Perf, Source::Ptrace] {
        let Some(counted) = counted(source, &[program.clone().into()]) else {
            skip_case!(source.name(), "it is refused here");
            continue;
        };
        let sites = sites(&counted);
        assert!(sites.len() <= 10, "{sites:#?}");
        if cfg!(not(target_arch = "x86_64")) {
            skip_case!(source.name(), "the place that enters the C library is known on x86-64 only");
            continue;
        }
        let many = sites.iter().find(|site| site.name == "read" && position(site, "many").is_some());
        let many = many.unwrap_or_else(|| panic!("{source:?}: {sites:#?}"));
        assert_eq!(many.crossings, 5000, "{source:?}");
        // The function of the C library has no frame pointer, and its caller is there nevertheless.
        let at = position(many, "one_read").unwrap_or_else(|| panic!("{source:?}: {many:#?}"));
        assert_eq!(functions(many)[at..at + 3], ["one_read", "many", "main"], "{source:?}");
        assert!(many.complete, "{source:?}: {many:#?}");
        let source_of = many.frames[at].source.as_deref();
        assert_eq!(source_of, Some("sites.c:7"), "{source:?}");
        if source == Source::Bpf {
            assert!(from(&sites, "anonymous", "touch") >= 500, "{sites:#?}");
            // The kernel's time of the faults of new pages is the most of this program.
            let touched = sites.iter().find(|site| position(site, "touch").is_some()).unwrap();
            assert!(touched.ns.is_some_and(|[ns, ..]| ns > 0.0), "{touched:#?}");
        }
    }
}

#[test]
fn a_program_whose_file_is_gone_is_named_by_its_file_alone() {
    let dir = TempDir::new().unwrap();
    let Some(program) = compiled(dir.path()) else {
        return skip!("cc is missing: apt-get install gcc");
    };
    for source in [Source::Bpf, Source::Perf] {
        let copy = dir.path().join(source.name());
        std::fs::copy(&program, &copy).unwrap();
        let Some(counted) = counted(source, &[copy.clone().into(), "gone".into()]) else {
            skip_case!(source.name(), "it is refused here");
            continue;
        };
        assert!(!copy.exists());
        let sites = sites(&counted);
        let many = sites.iter().find(|site| site.name == "read" && site.crossings == 5000);
        let many = many.unwrap_or_else(|| panic!("{source:?}: {sites:#?}"));
        let of_program = many.frames.iter().filter(|frame| Path::new(&frame.file) == copy);
        assert!(of_program.clone().count() >= 2, "{source:?}: {many:#?}");
        assert!(of_program.clone().all(|frame| frame.function.is_none()), "{source:?}: {many:#?}");
        assert!(!many.complete, "{source:?}");
    }
}

#[test]
fn without_the_option_there_are_no_sites() {
    let counted = run(&["true".into()], Wanted::Auto, Limits::default(), Extras::default()).unwrap();
    assert!(counted.sites.is_none() && sites(&counted).is_empty());
}
