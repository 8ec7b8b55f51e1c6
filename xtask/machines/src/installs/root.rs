//! Empty roots of Debian, and a container without an engine.

use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tollgate_testkit::{Missing, cache, need, printed};

/// The release of Debian.
const SUITE: &str = "bookworm";

/// A root that is removed with it.
pub(super) struct Root {
    scratch: tempfile::TempDir,
}

impl Root {
    /// Debian's smallest root.
    ///
    /// # Errors
    /// [`Missing`] without privilege, mmdebstrap or a package source.
    pub(super) fn empty(store: &Path) -> Result<Self> {
        Self::new(store, "minimal", &[])
    }

    /// The same with Python and pip.
    ///
    /// # Errors
    /// As [`Root::empty`].
    pub(super) fn with_python(store: &Path) -> Result<Self> {
        Self::new(store, "python", &["--include=python3-pip"])
    }

    /// Unpacks an archive of such a root, which is made once.
    fn new(store: &Path, name: &str, options: &[&str]) -> Result<Self> {
        need("mmdebstrap", "apt-get install mmdebstrap")?;
        if printed(Command::new("id").arg("-u"))?.trim() != "0" {
            bail!(Missing("a root is entered with chroot: run this as root".to_owned()));
        }
        let made = cache::obtain(store, &format!("{SUITE}-{name}"), |folder| {
            println!("  mmdebstrap {SUITE} {name}");
            let mut make = Command::new("mmdebstrap");
            make.args(["--quiet", "--variant=minbase"]).args(options).arg(SUITE).arg(folder.join("root.tar"));
            printed(&mut make).map(drop)
        })?;
        let scratch = tempfile::tempdir_in(store)?;
        let mut unpack = Command::new("tar");
        printed(
            unpack
                .arg("--extract")
                .arg("--file")
                .arg(made.join("root.tar"))
                .arg("--directory")
                .arg(scratch.path()),
        )?;
        Ok(Self { scratch })
    }

    pub(super) fn folder(&self) -> &Path {
        self.scratch.path()
    }

    /// Copies a file into the root.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub(super) fn copy(&self, file: &Path, to: &str) -> Result<()> {
        fs::copy(file, self.folder().join(to)).with_context(|| file.display().to_string())?;
        Ok(())
    }

    /// Calls a program in the root, which has its own /proc, and returns what it prints.
    ///
    /// # Errors
    /// When it fails.
    pub(super) fn call(&self, words: &[&str]) -> Result<String> {
        // The mount is in a namespace of its own and ends with the program.
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "--propagation=private", "sh", "-c"])
            .arg(
                "mount -t proc proc \"$0/proc\" && mount --bind /dev \"$0/dev\" && exec chroot \"$0\" \"$@\"",
            )
            .arg(self.folder())
            .args(words)
            .env_clear()
            .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
            .env("HOME", "/root");
        printed(&mut command)
    }

    /// Every file, without what the system itself writes when packages change.
    ///
    /// # Errors
    /// When a folder cannot be read.
    pub(super) fn files(&self) -> Result<Vec<String>> {
        let mut find = Command::new("find");
        // Folders that packages share are the system's.
        let counted = ["(", "-not", "-type", "d", "-or", "-path", "*tollgate*", ")"];
        let found = printed(find.arg(self.folder()).arg("-xdev").args(counted).args(["-printf", "%P\\n"]))?;
        let own = [
            "var/lib/dpkg",
            "var/log",
            "var/cache",
            "var/lib/rpm",
            "usr/lib/sysimage",
            "root/.rpmdb",
            "proc",
            "dev",
        ];
        let files = found.lines().filter(|path| !own.iter().any(|own| path.starts_with(own)));
        Ok(files.map(str::to_owned).collect())
    }
}

/// The capabilities that a measurement can use.
const PRIVILEGES: [&str; 6] =
    ["CAP_BPF", "CAP_IPC_LOCK", "CAP_PERFMON", "CAP_SYS_ADMIN", "CAP_SYS_NICE", "CAP_SYS_PTRACE"];

/// Runs the program of an OCI image in a container: with the usual capabilities and masks, or with all privileges and the host's
/// devices. The container is of runc, so no engine is needed.
///
/// # Errors
/// When a tool is missing or the program fails.
pub(super) fn run_image(archive: &Path, store: &Path, privileged: bool, args: &[&str]) -> Result<String> {
    need("umoci", "apt-get install umoci")?;
    need("runc", "apt-get install runc")?;
    fs::create_dir_all(store)?;
    let scratch = tempfile::tempdir_in(store)?;
    let mut unpack = Command::new("tar");
    printed(unpack.arg("-xzf").arg(archive).arg("--directory").arg(scratch.path()))?;
    let layout: PathBuf = fs::read_dir(scratch.path())?.next().context("the image is empty")??.path();
    let bundle = scratch.path().join("bundle");
    let image = format!("{}:{}", layout.display(), env!("CARGO_PKG_VERSION"));
    printed(Command::new("umoci").args(["unpack", "--image", &image]).arg(&bundle))?;
    let path = bundle.join("config.json");
    let mut config: serde_json::Value = serde_json::from_slice(&fs::read(&path)?)?;
    let process = config["process"].as_object_mut().context("the image has no process")?;
    let words = process.get("args").and_then(|it| it.as_array()).context("the image has no entry point")?;
    let words: Vec<_> = words.iter().cloned().chain(args.iter().map(|&it| it.into())).collect();
    process.insert("args".to_owned(), words.into());
    process.insert("terminal".to_owned(), false.into());
    if privileged {
        let sets = ["bounding", "effective", "permitted"].map(|set| (set.to_owned(), PRIVILEGES.into()));
        process.insert("capabilities".to_owned(), serde_json::Map::from_iter(sets).into());
        let system = config["linux"].as_object_mut().context("the image is not for Linux")?;
        for mask in ["maskedPaths", "readonlyPaths", "seccomp"] {
            system.remove(mask);
        }
    }
    fs::write(&path, config.to_string())?;
    let name = format!("tollgate-{}-{privileged}", std::process::id());
    let mut runc = Command::new("runc");
    printed(runc.args(["run", "--bundle"]).arg(&bundle).arg(name))
}
