//! Spike and QEMU: a program on PATH runs an image, and the guest prints its own counts.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::{NamedTempFile, tempfile};
use tollgate_record::trust;

use crate::bill::{Engine, Experiment, TrapBill};
use crate::call::Crossing;
use crate::design::GC;
use crate::error::LabError;
use crate::guest::{self, Report};
use crate::image;

/// A limit for guests that never end, far above what any experiment takes.
const PATIENCE: Duration = Duration::from_secs(300);

/// An engine that is a program of its own.
pub struct External {
    engine: &'static str,
    /// Its name on PATH.
    executable: &'static str,
    arguments: &'static [&'static str],
    /// The option for the kernel's ISA; without one the machine is RV64GC.
    isa: Option<&'static str>,
    /// The remedy if it is missing.
    install: &'static str,
    /// Why an interrupt does not come at the instruction that raises it, where that is so.
    late_interrupts: Option<&'static str>,
}

/// Spike, the reference simulator.
pub static SPIKE: External = External {
    engine: "spike",
    executable: "spike",
    arguments: &[],
    isa: Some("--isa="),
    install: "build riscv-isa-sim from source (no distribution packages it) and put spike on PATH",
    late_interrupts: Some("it looks for interrupts once in 5,000 instructions"),
};

/// QEMU's full-system emulator, with its instruction counter as the clock.
pub static QEMU: External = External {
    engine: "qemu",
    executable: "qemu-system-riscv64",
    // Without -icount its counters are the host's time.
    arguments: &[
        "-M", "virt", "-bios", "none", "-display", "none", "-monitor", "none", "-serial", "stdio", "-icount",
        "shift=0", "-kernel",
    ],
    isa: None,
    install: "apt-get install qemu-system-misc",
    late_interrupts: None,
};

impl Engine for External {
    fn name(&self) -> &'static str {
        self.engine
    }

    fn measure<'d>(&self, experiment: &Experiment<'d>) -> Result<TrapBill<'d>, LabError> {
        if let Some(reason) = self.why_not(experiment) {
            return Err(LabError::NotHere { engine: self.engine, reason });
        }
        let mut file = trust::temporary().and_then(NamedTempFile::new_in).map_err(LabError::Scratch)?;
        file.write_all(&image::prepare(experiment)?).map_err(LabError::Scratch)?;
        let text = self.run(experiment.design.isa, &file)?;
        let report = Report::find(&text).ok_or_else(|| self.failed(&text))?;
        // Two reads of the counter with nothing between them differ by one: the first read itself.
        let spread = report.spread.less(1).ok_or_else(|| self.failed(&text))?;
        Ok(TrapBill {
            experiment: *experiment,
            engine: self.engine,
            result: report.result,
            asid_bits: guest::asid_bits(&text),
            spread,
            phases: None,
        })
    }
}

impl External {
    /// Why this engine cannot run an experiment.
    fn why_not(&self, experiment: &Experiment) -> Option<&'static str> {
        match experiment.crossing {
            _ if experiment.design.is_custom() => Some("the kernel uses an extension that only tollgate has"),
            _ if self.isa.is_none() && experiment.design.isa != GC => {
                Some("this engine is started as rv64gc, and the kernel needs more")
            }
            _ if experiment.design.own => Some("a kernel of a file runs on the embedded machine"),
            Crossing::Timer => {
                Some("no program can read a counter at the moment when the timer interrupts it")
            }
            Crossing::SoftInterrupt => self.late_interrupts,
            _ => None,
        }
    }

    fn run(&self, isa: &str, image: &NamedTempFile) -> Result<String, LabError> {
        // The counters are an extension of their own there.
        let isa = self.isa.map(|option| format!("{option}{isa}_zicntr"));
        // A file, because a pipe would have to be read while the program runs.
        let mut output = tempfile().map_err(LabError::Scratch)?;
        let stdio = |file: &File| file.try_clone().map(Stdio::from).map_err(LabError::Scratch);
        let mut child = Command::new(self.executable)
            .args(isa)
            .args(self.arguments)
            .arg(image.path())
            .stdin(Stdio::null())
            .stdout(stdio(&output)?)
            .stderr(stdio(&output)?)
            .spawn()
            .map_err(|error| match error.kind() {
                ErrorKind::NotFound => LabError::EngineMissing { engine: self.engine, install: self.install },
                _ => self.failed(&format!("it could not be started: {error}")),
            })?;
        let start = Instant::now();
        while child.try_wait().map_err(LabError::Scratch)?.is_none() {
            if start.elapsed() > PATIENCE {
                // It may have ended by itself just now.
                let _ = child.kill();
                let _ = child.wait();
                return Err(self.failed("it did not end within five minutes"));
            }
            thread::sleep(Duration::from_millis(2));
        }
        let mut bytes = Vec::new();
        output.seek(SeekFrom::Start(0)).map_err(LabError::Scratch)?;
        output.read_to_end(&mut bytes).map_err(LabError::Scratch)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn failed(&self, text: &str) -> LabError {
        let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it printed nothing");
        LabError::EngineFailed { engine: self.engine, said: last.trim().to_owned() }
    }
}
