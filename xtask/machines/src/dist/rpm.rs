//! The package of RPM, made by rpmbuild of a root with the files in their places.

use super::package::{
    CHANGES, DESCRIPTION, LICENSE, RELEASE, SUMMARY, date, files, homepage, maintainer, mode, moved,
};
use super::tree::Tree;
use crate::build::target::Target;
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tollgate_testkit::{need, printed};

/// Settings of rpmbuild: nothing depends on the builder, and no file is changed.
const MACROS: &[&str] = &[
    "_binary_payload w9.xzdio",
    "_build_id_links none",
    "_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm",
    "_buildhost localhost",
    "__os_install_post %{nil}",
    "clamp_mtime_to_source_date_epoch 1",
    "debug_package %{nil}",
    "use_source_date_epoch_as_buildtime 1",
];

/// Makes the package.
///
/// # Errors
/// When rpmbuild fails or is missing.
pub(super) fn make(tree: &Tree, target: &Target, folder: &Path) -> Result<PathBuf> {
    need("rpmbuild", "apt-get install rpm")?;
    let scratch = tree.beside("rpm")?;
    let mut files = files(tree, &scratch)?;
    for (_, to) in &mut files {
        *to = to.replace("/zsh/vendor-completions/", "/zsh/site-functions/");
    }
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        files.push((tree.root.join(name), format!("/usr/share/licenses/tollgate/{name}")));
    }
    let root = scratch.join("root");
    for (from, to) in &files {
        let place = root.join(to.trim_start_matches('/'));
        fs::create_dir_all(place.parent().unwrap_or(&root))?;
        fs::copy(from, &place).with_context(|| from.display().to_string())?;
    }
    let spec = scratch.join("tollgate.spec");
    let (maintainer, day) = (maintainer(&tree.root)?, date(tree, "+%a %b %d %Y")?);
    let places: Vec<&str> = files.iter().map(|(_, to)| to.as_str()).collect();
    fs::write(&spec, spec_of(&homepage(&tree.root)?, &maintainer, &day, &places))?;
    let made = scratch.join("made");
    let mut build = Command::new("rpmbuild");
    build.args(["-bb", "--quiet", "--target", &format!("{}-linux", target.arch), "--buildroot"]);
    build.arg(scratch.join("buildroot")).env("SOURCE_DATE_EPOCH", tree.time.to_string());
    for (name, folder) in [("tree", &root), ("_topdir", &scratch.join("top")), ("_rpmdir", &made)] {
        build.args(["--define", &format!("{name} {}", folder.display())]);
    }
    MACROS.iter().for_each(|setting| {
        build.args(["--define", setting]);
    });
    printed(build.arg(&spec))?;
    moved(&made, folder)
}

/// What rpmbuild reads.
fn spec_of(homepage: &str, maintainer: &str, day: &str, places: &[&str]) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let summary = format!("{}{}", SUMMARY[..1].to_uppercase(), &SUMMARY[1..]);
    let files = places.iter().map(|&place| {
        let kind = match place {
            _ if place.starts_with("/usr/share/licenses/") => "%license ",
            _ if place.starts_with("/usr/share/doc/") || place.starts_with("/usr/share/man/") => "%doc ",
            _ => "",
        };
        format!("%attr(0{:o},root,root) {kind}\"{place}\"\n", mode(place))
    });
    let folders = own_folders(places).into_iter().map(|it| format!("%dir \"{}\"\n", it.display()));
    format!(
        "Name: tollgate\nVersion: {version}\nRelease: {RELEASE}\nSummary: {summary}\nLicense: {LICENSE}\nURL: {homepage}\n\
         Group: Development/Tools\nPackager: {maintainer}\nAutoReqProv: no\n\n%description\n{DESCRIPTION}\n\n\
         %install\nmkdir -p %{{buildroot}}\ncp -a %{{tree}}/. %{{buildroot}}\n\n%files\n{}\n\
         %changelog\n* {day} {maintainer} - {version}-{RELEASE}\n- {CHANGES}\n",
        files.chain(folders).collect::<String>()
    )
}

/// The folders that are the package's own. RPM removes no others with it.
fn own_folders<'a>(places: &[&'a str]) -> BTreeSet<&'a Path> {
    let folders = places.iter().flat_map(|&place| Path::new(place).ancestors().skip(1));
    folders.filter(|it| it.iter().any(|name| name == "tollgate")).collect()
}

#[cfg(test)]
mod tests {
    use super::{own_folders, spec_of};

    #[test]
    fn folders_of_the_system_are_not_the_packages() {
        let own = own_folders(&["/usr/bin/tollgate", "/usr/share/doc/tollgate/book/a.md"]);
        let names: Vec<_> = own.iter().map(|it| it.to_str().unwrap()).collect();
        assert_eq!(names, ["/usr/share/doc/tollgate", "/usr/share/doc/tollgate/book"]);
    }

    #[test]
    fn documentation_and_licenses_are_marked() {
        let places =
            ["/usr/bin/tollgate", "/usr/share/licenses/tollgate/LICENSE-MIT", "/usr/share/man/man1/a.1.gz"];
        let spec = spec_of("https://a.example", "B <b@a.example>", "Sun Nov 29 2026", &places);
        for line in [
            "%attr(0755,root,root) \"/usr/bin/tollgate\"",
            "%attr(0644,root,root) %license \"/usr/share/licenses/tollgate/LICENSE-MIT\"",
            "%attr(0644,root,root) %doc \"/usr/share/man/man1/a.1.gz\"",
            "%dir \"/usr/share/licenses/tollgate\"",
            "URL: https://a.example",
        ] {
            assert!(spec.lines().any(|it| it == line), "{line} is not in\n{spec}");
        }
    }
}
