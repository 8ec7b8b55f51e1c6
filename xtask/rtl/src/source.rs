//! Where the RTL of each core comes from, and how a simulator is built of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::command::output;

/// A core's RTL. Its harness is `harness/CORE.cpp`, and `harness/CORE.f` has Verilator's options.
pub(crate) struct Source {
    pub(crate) core: &'static str,
    /// The Python package.
    package: &'static str,
    version: &'static str,
    sha256: &'static str,
    /// The folder in it that `CORE.f` calls `${RTL}`.
    folder: &'static str,
    /// What is chosen where the RTL has parameters.
    configuration: &'static str,
}

pub(crate) static SOURCES: &[Source] = &[
    Source {
        core: "ibex",
        package: "pythondata-cpu-ibex",
        version: "0.0.post2937",
        sha256: "bcb32ffccc75097248a11b3e52031eca92d21c6c6161a29151c8c79d6157e1c9",
        folder: "pythondata_cpu_ibex/system_verilog",
        configuration: "small: RV32IMC, fast multiplier, no write-back stage, no cache, no branch predictor",
    },
    Source {
        core: "picorv32",
        package: "pythondata-cpu-picorv32",
        version: "1.0.post218",
        sha256: "c6d3e405a50c54f86a436a49cc24ea2f0c00d9cc07c96e7ee12e65736d75eabd",
        folder: "pythondata_cpu_picorv32/verilog",
        configuration: "RV32IM: ENABLE_MUL and ENABLE_DIV, the rest as by default",
    },
    Source {
        core: "vexriscv",
        package: "pythondata-cpu-vexriscv",
        version: "1.0.1.post407",
        sha256: "8fbdd9ee58ab2300343846e12a70e8f8f882eced13456c359a6b65a442ce0fbc",
        folder: "pythondata_cpu_vexriscv/verilog",
        configuration: "VexRiscv_Linux: RV32IMA with MMU, caches of 4 KiB, static prediction",
    },
    Source {
        core: "cv32e40x",
        package: "pythondata-cpu-cv32e40x",
        version: "0.6.0.post161",
        sha256: "e0156beeaf31eabe4fce152d84f65d2b6b2c966145a319c32d41d435ebf5170e",
        folder: "pythondata_cpu_cv32e40x/system_verilog",
        configuration: "as by default: RV32IMC, interrupts without CLIC",
    },
    Source {
        core: "cv32e40x-clic",
        package: "pythondata-cpu-cv32e40x",
        version: "0.6.0.post161",
        sha256: "e0156beeaf31eabe4fce152d84f65d2b6b2c966145a319c32d41d435ebf5170e",
        folder: "pythondata_cpu_cv32e40x/system_verilog",
        configuration: "RV32IMC with SMCLIC, 32 sources",
    },
    Source {
        core: "rocket",
        package: "pythondata-cpu-rocket",
        version: "0.0.post7146",
        sha256: "5954f2bde8e63e43fe4cbc64649687623b64f849d37b4b0d26b07228127bd592",
        folder: "pythondata_cpu_rocket/verilog",
        configuration: "LitexFullConfig: RV64GC, caches 64:4:64, translation buffers of 32 entries",
    },
    Source {
        core: "cva6",
        package: "pythondata-cpu-cva6",
        version: "4.2.0.post435",
        sha256: "7cb13e1c2f9d30641bc583ca88a2f39f7bb37167d0ef5ca495338a031c88a3bb",
        folder: "pythondata_cpu_cva6/system_verilog",
        configuration: "cv64a6_imafdc_sv39 of November 2022, write-through data cache, no floating-point divider",
    },
];

impl Source {
    /// What the golden file says about it.
    pub(crate) fn text(&self) -> String {
        let Self { core, package, version, configuration, .. } = self;
        format!("core {core}\npackage {package} {version}\nconfiguration {configuration}")
    }

    /// Builds the simulator, unless it is there already and newer than the harness.
    pub(crate) fn build(&self, root: &Path, work: &Path) -> Result<PathBuf> {
        let harness = root.join("xtask/rtl/harness");
        let place = work.join(self.core);
        let simulator = place.join("Vcore");
        let changed = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
        let built = changed(&simulator);
        let mut newest = None;
        for entry in fs::read_dir(&harness)? {
            let path = entry?.path();
            let stem = path.file_stem().unwrap_or_default();
            let shared = stem == "sim" || stem == "axi" || stem == "ports";
            if shared || stem.to_str().is_some_and(|stem| self.core.starts_with(stem)) {
                newest = newest.max(changed(&path));
            }
        }
        if built.is_some() && newest < built {
            return Ok(simulator);
        }
        let rtl = self.obtain(work)?;
        println!("{}: verilating and compiling", self.core);
        let mut verilator = Command::new("verilator");
        verilator
            .env("RTL", rtl)
            .env("HARNESS", &harness)
            .args([
                "--cc",
                "--exe",
                "--build",
                "-j",
                "2",
                "--prefix",
                "Vcore",
                "-O3",
                "-Wno-fatal",
                "-Wno-lint",
            ])
            .args(["-Wno-style", "-MAKEFLAGS", "OPT_FAST=-O2", "-CFLAGS"])
            .arg(format!("-I{}", harness.display()))
            .arg("-Mdir")
            .arg(&place)
            .arg("-f")
            .arg(harness.join(format!("{}.f", self.core)))
            .arg(harness.join("sim.cpp"))
            .arg(harness.join(format!("{}.cpp", self.core)));
        output(&mut verilator).context("Verilator is Debian's package verilator")?;
        Ok(simulator)
    }

    /// The unpacked package, whose hash pip checks.
    fn obtain(&self, work: &Path) -> Result<PathBuf> {
        let place = work.join("packages").join(format!("{}-{}", self.package, self.version));
        let rtl = place.join(self.folder);
        if !rtl.exists() {
            println!("{}: {} {}", self.core, self.package, self.version);
            let list = work.join(format!("{}.txt", self.core));
            fs::write(&list, format!("{}=={} --hash=sha256:{}\n", self.package, self.version, self.sha256))?;
            let mut pip = Command::new("pip3");
            pip.args(["install", "--quiet", "--no-deps", "--no-compile", "--only-binary=:all:"])
                .args(["--require-hashes", "--target"])
                .arg(&place)
                .arg("--requirement")
                .arg(&list);
            output(&mut pip)?;
        }
        Ok(rtl)
    }
}
