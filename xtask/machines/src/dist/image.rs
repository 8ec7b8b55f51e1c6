//! The OCI image: the program and nothing else, made by umoci without a daemon and without privilege.

use super::archive;
use super::tree::{Tree, stem};
use crate::build::target::Target;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tollgate_testkit::{need, printed};

/// Makes the image of an architecture, as an archive of an OCI layout.
///
/// # Errors
/// When umoci fails or is missing.
pub(super) fn make(tree: &Tree, target: &Target, folder: &Path) -> Result<PathBuf> {
    need("umoci", "apt-get install umoci")?;
    let scratch = tree.beside("image")?;
    let name = format!("{}-oci", stem(target));
    let files = scratch.join("files");
    fs::create_dir_all(&files)?;
    for file in ["tollgate", "LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.md"] {
        let to = files.join(file);
        fs::copy(tree.folder().join(file), &to).with_context(|| file.to_owned())?;
        printed(Command::new("touch").args(["--date", &format!("@{}", tree.time)]).arg(to))?;
    }
    let layout = scratch.join(&name);
    let image = format!("{}:{}", layout.display(), env!("CARGO_PKG_VERSION"));
    let umoci = |args: &[&str]| printed(Command::new("umoci").args(args)).map(drop);
    let layout = layout.display().to_string();
    umoci(&["init", "--layout", &layout])?;
    umoci(&["new", "--image", &image])?;
    let time =
        printed(Command::new("date").args(["--utc", "--date", &format!("@{}", tree.time), "+%FT%TZ"]))?;
    let created = format!("--history.created={}", time.trim());
    for (file, place) in [
        ("tollgate", "/usr/bin/tollgate"),
        ("LICENSE-MIT", "/usr/share/doc/tollgate/LICENSE-MIT"),
        ("LICENSE-APACHE", "/usr/share/doc/tollgate/LICENSE-APACHE"),
        ("THIRD-PARTY.md", "/usr/share/doc/tollgate/THIRD-PARTY.md"),
    ] {
        let from = files.join(file).display().to_string();
        umoci(&["insert", "--rootless", &created, "--image", &image, &from, place])?;
    }
    let architecture = match target.arch {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    umoci(&[
        "config",
        "--no-history",
        "--created",
        time.trim(),
        "--architecture",
        architecture,
        "--os",
        "linux",
        "--config.entrypoint",
        "/usr/bin/tollgate",
        "--config.env",
        "PATH=/usr/bin",
        "--config.label",
        "org.opencontainers.image.title=tollgate",
        "--config.label",
        &format!("org.opencontainers.image.version={}", env!("CARGO_PKG_VERSION")),
        "--config.label",
        "org.opencontainers.image.licenses=MIT OR Apache-2.0",
        "--image",
        &image,
    ])?;
    umoci(&["gc", "--layout", &layout])?;
    archive::write(&scratch, &name, folder, tree.time)
}
