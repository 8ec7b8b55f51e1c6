//! Notes the commit that the binary is built from, for the record.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=../../.git/HEAD");
    println!("cargo:rerun-if-changed=../../.git/logs/HEAD");
    println!("cargo:rerun-if-env-changed=TOLLGATE_COMMIT");
    let output = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output();
    let commit = output
        .ok()
        .filter(|output| output.status.success())
        .and_then(|output| String::from_utf8(output.stdout).ok());
    // A package of sources is not a clone: the builder names the commit.
    let commit = std::env::var("TOLLGATE_COMMIT").ok().or(commit);
    println!("cargo:rustc-env=TOLLGATE_COMMIT={}", commit.as_deref().map_or("unknown", str::trim));
}
