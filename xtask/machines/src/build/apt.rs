//! `apt-get` with its own lists, status and cache: downloads packages of any architecture from the package sources of
//! this system, without privilege and without changing the system's state.

use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tollgate_testkit::printed;

/// Libraries that are not downloaded: the C and C++ run-time libraries must be those of this system, which everything
/// else here uses.
const SYSTEM: &[&str] = &["libc6", "libgcc-s1", "libstdc++6", "libcrypt1", "gcc-12-base"];

/// An `apt-get` with its own state.
pub(crate) struct Apt {
    folder: PathBuf,
}

impl Apt {
    /// With its state in `folder`, for this machine's architecture and others; from the package sources of this system,
    /// or from those in a file.
    pub(crate) fn new(
        folder: &Path,
        architecture: &str,
        others: &[&str],
        sources: Option<&Path>,
    ) -> Result<Self> {
        let folder = folder.join("apt");
        for part in ["lists/partial", "cache/archives/partial", "packages"] {
            fs::create_dir_all(folder.join(part)).with_context(|| folder.display().to_string())?;
        }
        fs::write(folder.join("status"), "")?;
        let state = folder.display();
        let all = [&[architecture], others].concat().join("\"; \"");
        let mut options = format!(
            r#"
            APT::Architecture "{architecture}";
            APT::Architectures {{ "{all}"; }};
            Dir::State::Lists "{state}/lists";
            Dir::State::status "{state}/status";
            Dir::Cache "{state}/cache";
            Acquire::Languages "none";
            Acquire::Retries "2";
            Acquire::http::Timeout "30";
            // As root, apt-get would download as another user, who may not write here.
            APT::Sandbox::User "root";
            "#
        );
        if let Some(sources) = sources {
            options += &format!("Dir::Etc::SourceList {:?}; Dir::Etc::SourceParts \"/dev/null\";\n", sources);
        }
        fs::write(folder.join("options"), options)?;
        Ok(Self { folder })
    }

    fn command(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        // After the options of the system, so that these decide.
        command
            .arg("-c")
            .arg(self.folder.join("options"))
            .args(args)
            .current_dir(self.folder.join("packages"));
        command
    }

    /// Fetches the lists of packages.
    pub(crate) fn update(&self) -> Result<()> {
        printed(&mut self.command("apt-get", &["-q", "update"])).map(drop)
    }

    /// The direct dependencies of a package.
    ///
    /// # Errors
    /// When the package sources do not have it.
    pub(crate) fn dependencies(&self, package: &str) -> Result<Vec<String>> {
        let list = printed(&mut self.command("apt-cache", &["depends", "--important", package]))
            .with_context(|| format!("this system's package sources have no {package}"))?;
        Ok(dependencies(&list))
    }

    /// A package and all packages that it depends on, without [`SYSTEM`].
    pub(super) fn libraries(&self, package: &str) -> Result<Vec<String>> {
        let args = ["depends", "--recurse", "--important", package];
        Ok(libraries(&printed(&mut self.command("apt-cache", &args))?))
    }

    /// Downloads packages and returns their files.
    pub(crate) fn download(&self, packages: &[String]) -> Result<Vec<PathBuf>> {
        let packages: Vec<&str> = packages.iter().map(String::as_str).collect();
        printed(self.command("apt-get", &["-q", "download"]).args(&packages))?;
        let mut files: Vec<PathBuf> = fs::read_dir(self.folder.join("packages"))?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()?;
        files.sort();
        ensure!(
            files.len() == packages.len(),
            "apt-get downloaded {} packages instead of {}",
            files.len(),
            packages.len()
        );
        Ok(files)
    }
}

/// The lines `  Depends: NAME` of `apt-cache depends`.
fn dependencies(list: &str) -> Vec<String> {
    list.lines().filter_map(|line| line.trim().strip_prefix("Depends: ")).map(str::to_owned).collect()
}

/// The packages of `apt-cache depends --recurse`, each at the start of a line. Those of other architectures contain a
/// colon, and virtual packages are in angle brackets.
fn libraries(list: &str) -> Vec<String> {
    list.lines()
        .filter(|line| !line.is_empty() && !line.starts_with([' ', '<']) && !line.contains(':'))
        .filter(|name| !SYSTEM.contains(name))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{dependencies, libraries};

    #[test]
    fn dependencies_are_read() {
        let list = "rustc-web\n  Depends: libc6\n  Depends: libstd-rust-web-dev\n  Depends: <libc-dev>\n";
        assert_eq!(dependencies(list), ["libc6", "libstd-rust-web-dev", "<libc-dev>"]);
    }

    #[test]
    fn libraries_of_the_system_and_of_other_architectures_are_left_out() {
        let list =
            "libllvm22\n  Depends: libc6\n  Depends: libedit2\nlibc6\nlibedit2\nlibc6:arm64\n<libc-dev>\n";
        assert_eq!(libraries(list), ["libllvm22", "libedit2"]);
    }
}
