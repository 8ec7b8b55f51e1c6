//! `cargo xtask page`: the page of the lab, as a folder for a web server and as one file.

pub(crate) mod cases;

use anyhow::{Context, Result, ensure};
use machines::build::wasm;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tollgate_testkit::{Browser, need, workspace};

/// The package of the module.
const PACKAGE: &str = "tollgate-page";
/// The sources of the page.
const WEB: &str = "crates/page/web";

/// Build the page of the lab: a folder for a web server, and one file that needs nothing else
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder to write
    #[arg(long, value_name = "DIR", default_value = "target/page/site")]
    out: PathBuf,
    /// Also run the page's tests, and compare the module's answers with the native program's, in Node and in Chromium
    #[arg(long)]
    check: bool,
    /// Random programs to compare
    #[arg(long, value_name = "N", default_value_t = 1000)]
    programs: u64,
    /// Use this module instead of building it
    #[arg(long, value_name = "FILE")]
    module: Option<PathBuf>,
}

impl Args {
    pub(crate) fn run(&self) -> Result<()> {
        let root = workspace::root()?;
        let out = root.join(&self.out);
        let module = built(&root, &out, self.module.as_deref())?;
        if self.check {
            tests(&root, &out)?;
            check(&root, &module, self.programs)?;
        }
        Ok(())
    }
}

/// Builds the page into a folder, and prints its sizes. Returns the module.
///
/// # Errors
/// When a part does not build, or [`Missing`](tollgate_testkit::Missing).
pub(crate) fn built(root: &Path, out: &Path, module: Option<&Path>) -> Result<PathBuf> {
    let node = need("node", "apt-get install nodejs")?;
    let npm = need("npm", "apt-get install npm")?;
    let module = module.map_or_else(|| wasm::module(root, PACKAGE), |module| Ok(root.join(module)))?;
    let web = root.join(WEB);
    // What was installed by this lock file is not installed again.
    let (lock, installed) = (web.join("package-lock.json"), web.join("node_modules/.package-lock.json"));
    let is_new =
        fs::metadata(&installed).and_then(|it| it.modified()).ok() >= fs::metadata(&lock)?.modified().ok();
    if !is_new {
        let npm = Command::new(npm)
            .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
            .current_dir(&web)
            .status();
        ensure!(npm.context("npm")?.success(), "the page's packages could not be installed by npm");
    }
    let bundled = Command::new(&node).arg("build.mjs").args([out, &module]).current_dir(&web).status();
    ensure!(bundled.context("node")?.success(), "the page could not be bundled");
    let mut files: Vec<PathBuf> = fs::read_dir(out)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.sort();
    let (single, folder): (Vec<_>, Vec<_>) =
        files.into_iter().filter(|path| path.is_file()).partition(|path| path.ends_with("tollgate-lab.html"));
    for files in [folder, single] {
        let shown = Command::new(&node).arg(web.join("tools/sizes.mjs")).args(&files).status();
        ensure!(shown.context("node")?.success(), "the sizes could not be printed");
    }
    println!("{}", out.display());
    Ok(module)
}

/// Runs the page's tests: of its parts in Node, of the whole in Chromium as a person uses it.
///
/// # Errors
/// When a test fails, or [`Missing`](tollgate_testkit::Missing).
pub(crate) fn tests(root: &Path, out: &Path) -> Result<()> {
    let node = need("node", "apt-get install nodejs")?;
    let parts = Command::new(node).arg("test.mjs").current_dir(root.join(WEB)).status().context("node")?;
    ensure!(parts.success(), "a unit test of the page fails: node test.mjs in {WEB}");
    let script = "crates/page/tests/browser/lab.mjs";
    let whole = Browser::find()?.run(&root.join(script)).arg(out).status().context("node")?;
    ensure!(whole.success(), "a test of the page in Chromium fails: {script}");
    Ok(())
}

/// Compares the answers of a module with those of this program.
pub(crate) fn check(root: &Path, module: &Path, programs: u64) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let file = scratch.path().join("cases");
    fs::write(&file, cases::text(programs))?;
    let script = root.join(WEB).join("tools/equal.mjs");
    let node = need("node", "apt-get install nodejs")?;
    let in_node = Command::new(node).arg(&script).args([module, &file]).status().context("node")?;
    let in_browser = Browser::find()?.run(&script).args([module, &file]).arg("browser").status()?;
    ensure!(
        in_node.success() && in_browser.success(),
        "the module's answers differ from the native program's"
    );
    Ok(())
}
