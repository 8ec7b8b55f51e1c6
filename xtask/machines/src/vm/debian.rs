//! Debian's kernels and its static busybox, of any architecture, downloaded once.

use super::arch::Arch;
use crate::build::apt::Apt;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use tollgate_testkit::cache;
use tollgate_testkit::printed;

/// A line of kernels: the beginning of their version.
pub(super) type Line = &'static str;

/// The kernel of Debian 12.
pub(super) const V6_1: Line = "6.1";
/// The kernel of Debian 13, which is also available for Debian 12.
pub(super) const V6_12: Line = "6.12";

/// The packages that depend on the newest kernel of a line; a release has one of them.
fn packages(line: Line, arch: &Arch) -> [String; 2] {
    let arch = arch.debian;
    // The package of a release's default kernel has no number in its name.
    [format!("linux-image-{line}-cloud-{arch}"), format!("linux-image-cloud-{arch}")]
}

/// The modules that cases load, in the order of loading. A module that a kernel does not have is built in.
const MODULES: &[&str] = &["irqbypass", "kvm", "kvm-amd"];

/// A kernel, ready to boot.
#[derive(Clone, Debug)]
pub(super) struct Kernel {
    pub(super) image: PathBuf,
    /// Modules as `NAME.ko`, not compressed.
    pub(super) modules: PathBuf,
}

impl Kernel {
    /// The modules in the order of loading.
    pub(super) fn loadable(&self) -> Vec<(String, PathBuf)> {
        let there = |name: &&str| {
            let file = format!("{name}.ko");
            let path = self.modules.join(&file);
            path.is_file().then_some((file, path))
        };
        MODULES.iter().filter_map(there).collect()
    }
}

/// Debian's packages for guests, downloaded unless they are in the cache.
pub(super) struct Debian {
    cache: PathBuf,
    /// One for each architecture, with its temporary folder.
    apts: BTreeMap<&'static str, (Apt, TempDir)>,
}

impl Debian {
    pub(super) fn new(cache: &Path) -> Self {
        Self { cache: cache.to_owned(), apts: BTreeMap::new() }
    }

    /// The kernel of a line.
    ///
    /// # Errors
    /// When it cannot be downloaded or unpacked.
    pub(super) fn kernel(&mut self, line: Line, arch: &'static Arch) -> Result<Kernel> {
        let (cache, name) = (self.cache.clone(), format!("linux-{line}-{}", arch.debian));
        let folder = cache::obtain(&cache, &name, |folder| {
            let apt = self.apt(arch)?;
            let package = newest(apt, line, arch)?;
            let unpacked = tempfile::tempdir_in(&cache)?;
            unpack(&download(apt, &package)?, unpacked.path())?;
            let images = found(&unpacked.path().join("boot"), "vmlinuz-*")?;
            ensure!(images.len() == 1, "{package} has {} images of a kernel", images.len());
            fs::rename(&images[0], folder.join("vmlinuz"))?;
            let modules = folder.join("modules");
            fs::create_dir(&modules)?;
            for name in MODULES {
                if let Some(file) = found(unpacked.path(), &format!("{name}.ko*"))?.first() {
                    plain(file, &modules.join(format!("{name}.ko")))?;
                }
            }
            Ok(())
        })?;
        Ok(Kernel { image: folder.join("vmlinuz"), modules: folder.join("modules") })
    }

    /// The static busybox of an architecture.
    ///
    /// # Errors
    /// As [`Debian::kernel`].
    pub(super) fn busybox(&mut self, arch: &'static Arch) -> Result<PathBuf> {
        let cache = self.cache.clone();
        let folder = cache::obtain(&cache, &format!("busybox-{}", arch.debian), |folder| {
            let unpacked = tempfile::tempdir_in(&cache)?;
            unpack(&download(self.apt(arch)?, "busybox-static")?, unpacked.path())?;
            // The folder depends on the release; other folders contain files of the same name that are not the program.
            let programs = ["bin", "usr/bin"].map(|folder| unpacked.path().join(folder).join("busybox"));
            let program =
                programs.iter().find(|path| path.is_file()).context("the package contains no busybox")?;
            Ok(fs::rename(program, folder.join("busybox"))?)
        })?;
        Ok(folder.join("busybox"))
    }

    /// apt with the lists of an architecture.
    fn apt(&mut self, arch: &'static Arch) -> Result<&Apt> {
        match self.apts.entry(arch.debian) {
            Entry::Occupied(known) => Ok(&known.into_mut().0),
            Entry::Vacant(new) => {
                println!("  downloading Debian's lists, kernels and busybox for {}", arch.debian);
                let folder = tempfile::tempdir_in(&self.cache)?;
                let apt = Apt::new(folder.path(), arch.debian, &[], None)?;
                // A package source that fails must not stop the others; the download reports what is missing.
                let _ = apt.update();
                Ok(&new.insert((apt, folder)).0)
            }
        }
    }
}

/// Downloads a package; apt checks it against the signed lists.
fn download(apt: &Apt, package: &str) -> Result<PathBuf> {
    Ok(apt.download(&[package.to_owned()])?.remove(0))
}

/// The newest kernel package of a line.
fn newest(apt: &Apt, line: Line, arch: &'static Arch) -> Result<String> {
    let mut why = None;
    for package in packages(line, arch) {
        match apt.dependencies(&package) {
            Ok(dependencies) => {
                if let Some(name) = dependencies.iter().find_map(|name| of_line(name, line)) {
                    return Ok(name);
                }
            }
            Err(error) => why = Some(error),
        }
    }
    let error = why.unwrap_or_else(|| anyhow::anyhow!("no package depends on it"));
    Err(error.context(format!("this system's package sources have no kernel {line}")))
}

/// The package of a kernel, if the kernel is of this line.
fn of_line(package: &str, line: Line) -> Option<String> {
    let name = package.strip_prefix("linux-image-")?;
    let version = name.strip_prefix(line)?;
    // 6.12 is not of the line 6.1.
    (!version.starts_with(|next: char| next.is_ascii_digit())).then(|| format!("linux-image-{name}"))
}

/// Unpacks a package and removes it.
fn unpack(package: &Path, folder: &Path) -> Result<()> {
    let name = package.file_name().unwrap_or_default().display();
    printed(Command::new("dpkg").arg("-x").args([package, folder]))
        .with_context(|| format!("{name} cannot be unpacked"))?;
    Ok(fs::remove_file(package)?)
}

/// The files below a folder whose names match a pattern.
fn found(folder: &Path, pattern: &str) -> Result<Vec<PathBuf>> {
    let list = printed(Command::new("find").arg(folder).args(["-type", "f", "-name", pattern]))?;
    Ok(list.lines().map(PathBuf::from).collect())
}

/// Writes a module without its compression.
fn plain(file: &Path, to: &Path) -> Result<()> {
    if file.extension().is_none_or(|extension| extension != "xz") {
        return Ok(fs::copy(file, to).map(drop)?);
    }
    let status = Command::new("xz")
        .arg("-dc")
        .arg(file)
        .stdout(fs::File::create(to)?)
        .status()
        .context("xz could not be started: apt-get install xz-utils")?;
    ensure!(status.success(), "{} cannot be decompressed", file.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Path, V6_1, V6_12, cache, of_line, unpack};
    use std::fs;
    use std::process::Command;

    #[test]
    fn a_line_takes_its_own_kernels_only() {
        let newest = "linux-image-6.12.117+deb12-cloud-arm64";
        assert_eq!(of_line(newest, V6_12).unwrap(), newest);
        assert_eq!(of_line(newest, V6_1), None);
        assert!(of_line("linux-image-6.1.0-56-cloud-amd64", V6_1).is_some());
        assert_eq!(of_line("linux-headers-6.1.0", V6_1), None);
    }

    #[test]
    fn half_a_package_is_an_error_and_leaves_nothing() {
        if tollgate_testkit::program("dpkg-deb").is_none() {
            return tollgate_testkit::skip!("dpkg-deb is missing: apt-get install dpkg");
        }
        let root = tempfile::tempdir().unwrap();
        let source = root.path().join("source");
        fs::create_dir_all(source.join("DEBIAN")).unwrap();
        let control = "Package: half\nVersion: 1\nArchitecture: all\nMaintainer: nobody\nDescription: half\n";
        fs::write(source.join("DEBIAN/control"), control).unwrap();
        // Bytes that do not compress, so that half of the package is half of the file.
        let noise: Vec<u8> = (0..60_000_u64)
            .map(|n| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8 ^ (n >> 7) as u8)
            .collect();
        fs::write(source.join("noise"), &noise).unwrap();
        let package = root.path().join("half.deb");
        let built = Command::new("dpkg-deb").arg("-b").args([&source, &package]).output().unwrap();
        assert!(built.status.success());
        let bytes = fs::read(&package).unwrap();

        let folder = cache::obtain(root.path(), "made", |folder: &Path| unpack(&package, folder)).unwrap();
        assert_eq!(fs::read(folder.join("noise")).unwrap(), noise);

        fs::write(&package, &bytes[..bytes.len() / 2]).unwrap();
        let error = cache::obtain(root.path(), "half", |folder: &Path| unpack(&package, folder)).unwrap_err();
        assert!(error.to_string().starts_with("half.deb cannot be unpacked"), "{error}");
        assert!(!root.path().join("half").exists());
    }
}
