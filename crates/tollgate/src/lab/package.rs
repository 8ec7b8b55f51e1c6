//! Archives for course systems: `tollgate lab autograder` and `tollgate lab scorm`.

use std::fs;
use std::io::{Cursor, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::choice::find;
use super::pages::{INDEX, Pages};
use crate::args::{Usage, one_of};
use crate::output::{Sink, say};

const SETUP: &str = include_str!("autograder/setup.sh");
/// What tells the course system about a verdict; the page that is not in a course does without it.
const BRIDGE: (&str, &str) = ("scorm.js", include_str!("scorm.js"));
const RUN: &str = include_str!("autograder/run_autograder");
/// Where the name of the exercise goes in the script.
const EXERCISE: &str = "@EXERCISE@";

/// `tollgate lab autograder`.
#[derive(Args)]
#[command(
    after_help = "The archive contains setup.sh, run_autograder and this program. Upload it in Gradescope under Configure \
                        Autograder; a submission is one file that ends in .s. The seed of each student follows from the mail \
                        address in Gradescope, as with: tollgate lab start NAME --student ADDRESS.\n\nExamples:\n  \
                        tollgate lab autograder count --out count.zip\n  \
                        tollgate lab autograder my-exercise.toml --out mine.zip --program tollgate-static"
)]
pub(super) struct AutograderArgs {
    /// The exercise: a name of `lab list`, or the file of your own that ends in .toml
    #[arg(value_name = "EXERCISE")]
    exercise: String,
    /// The archive
    #[arg(long, short, alias = "output", value_name = "FILE")]
    out: PathBuf,
    /// The program to put in, which runs on Gradescope's Ubuntu [default: this one]
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

pub(super) fn autograder(args: &AutograderArgs) -> Result<ExitCode> {
    let sink = Sink::text(Some(args.out.clone()), "autograder.zip")?;
    let id = find(&args.exercise)?.listing().id;
    let program = match &args.program {
        Some(program) => program.clone(),
        None => {
            std::env::current_exe().context("this program's file cannot be found; give --program FILE")?
        }
    };
    let program = fs::read(&program).map_err(|error| Usage::file(&program, error))?;
    let is_own = args.exercise != id;
    let named = if is_own { "exercise.toml" } else { &id };
    let run = RUN.replace(EXERCISE, named);
    let mut archive = Archive::new();
    archive.add("setup.sh", SETUP.as_bytes(), 0o755)?;
    archive.add("run_autograder", run.as_bytes(), 0o755)?;
    archive.add("tollgate", &program, 0o755)?;
    if is_own {
        let path = PathBuf::from(&args.exercise);
        archive.add("exercise.toml", &fs::read(&path).map_err(|error| Usage::file(&path, error))?, 0o644)?;
    }
    sink.deliver(archive.finish()?)?;
    say(format!("{} checks '{id}': upload it in Gradescope under Configure Autograder", args.out.display()));
    Ok(ExitCode::SUCCESS)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scorm {
    V1_2,
    V2004,
}

const VERSIONS: [(&str, Scorm, &str); 2] =
    [("1.2", Scorm::V1_2, "Moodle and most others"), ("2004", Scorm::V2004, "SCORM 2004, 4th edition")];

/// `tollgate lab scorm`.
#[derive(Args)]
#[command(
    after_help = "The package is the page, and reports the points of an exercise to the course system. Those points are for \
                        the student's overview: a student can change them. To grade, let students hand in their source, and \
                        check it with tollgate lab check.\n\nExamples:\n  tollgate lab scorm --page page --out lab.zip\n  \
                        tollgate lab scorm --page page --exercise count --scorm 2004 --out count-scorm.zip"
)]
pub(super) struct ScormArgs {
    /// The package
    #[arg(long, short, alias = "output", value_name = "FILE")]
    out: PathBuf,
    /// The version of SCORM
    #[arg(long, value_name = "V", default_value = "1.2", value_parser = one_of(VERSIONS))]
    scorm: Scorm,
    /// The exercise with which the page begins [default: the page's own first view]
    #[arg(long, value_name = "EXERCISE")]
    exercise: Option<String>,
    /// The folder of the page [default: the page in this program, else the folder page beside it]
    #[arg(long, value_name = "DIR")]
    page: Option<PathBuf>,
}

pub(super) fn scorm(args: &ScormArgs) -> Result<ExitCode> {
    let sink = Sink::text(Some(args.out.clone()), "lab.zip")?;
    let pages = Pages::open(args.page.as_deref())?;
    let exercise = args.exercise.as_deref().map(find).transpose()?.map(|it| it.listing());
    let title = exercise.as_ref().map_or("The RISC-V lab", |it| &it.title);
    let launch = exercise.as_ref().map_or(String::new(), |it| format!("?exercise={}", it.id));
    let names: Vec<&str> = pages.iter().map(|(name, _)| name).chain([BRIDGE.0]).collect();
    let mut archive = Archive::new();
    archive.add("imsmanifest.xml", manifest(args.scorm, title, &launch, &names).as_bytes(), 0o644)?;
    archive.add(BRIDGE.0, BRIDGE.1.as_bytes(), 0o644)?;
    for (name, bytes) in pages.iter() {
        match name == INDEX {
            true => archive.add(name, &with_bridge(bytes), 0o644)?,
            false => archive.add(name, bytes, 0o644)?,
        }
    }
    sink.deliver(archive.finish()?)?;
    say(format!(
        "{} is the package: add it to a course as an activity of the kind SCORM",
        args.out.display()
    ));
    Ok(ExitCode::SUCCESS)
}

/// The page with the bridge loaded first.
fn with_bridge(page: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(page);
    let script = format!("<script src=\"{}\"></script>", BRIDGE.0);
    match text.contains("<head>") {
        true => text.replacen("<head>", &format!("<head>{script}"), 1).into_bytes(),
        false => format!("{text}{script}\n").into_bytes(),
    }
}

/// The manifest: SCORM 1.2 Content Aggregation Model, 2.3; SCORM 2004 4th edition Content Aggregation Model, 3.4.
fn manifest(version: Scorm, title: &str, launch: &str, names: &[&str]) -> String {
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
    let (namespaces, schema, kind) = match version {
        Scorm::V1_2 => (
            "xmlns=\"http://www.imsproject.org/xsd/imscp_rootv1p1p2\" xmlns:adlcp=\"http://www.adlnet.org/xsd/adlcp_rootv1p2\"",
            "1.2",
            "adlcp:scormtype",
        ),
        Scorm::V2004 => (
            "xmlns=\"http://www.imsglobal.org/xsd/imscp_v1p1\" xmlns:adlcp=\"http://www.adlnet.org/xsd/adlcp_v1p3\"",
            "2004 4th Edition",
            "adlcp:scormType",
        ),
    };
    let files: String =
        names.iter().map(|name| format!("      <file href=\"{}\"/>\n", escaped(name))).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <manifest identifier=\"tollgate-lab\" version=\"1\" {namespaces}>\n\
         \x20 <metadata>\n    <schema>ADL SCORM</schema>\n    <schemaversion>{schema}</schemaversion>\n  </metadata>\n\
         \x20 <organizations default=\"lab\">\n    <organization identifier=\"lab\">\n      <title>{title}</title>\n\
         \x20     <item identifier=\"page\" identifierref=\"files\">\n        <title>{title}</title>\n      </item>\n\
         \x20   </organization>\n  </organizations>\n\
         \x20 <resources>\n    <resource identifier=\"files\" type=\"webcontent\" {kind}=\"sco\" href=\"index.html{launch}\">\n\
         {files}    </resource>\n  </resources>\n</manifest>\n",
        title = escaped(title),
        launch = escaped(launch),
    )
}

/// A zip archive in memory. Files have no time, so that two archives of the same files are the same.
struct Archive(ZipWriter<Cursor<Vec<u8>>>);

impl Archive {
    fn new() -> Self {
        Self(ZipWriter::new(Cursor::new(Vec::new())))
    }

    fn add(&mut self, name: &str, bytes: &[u8], mode: u32) -> Result<()> {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .last_modified_time(zip::DateTime::default())
            .unix_permissions(mode);
        self.0.start_file(name, options).with_context(|| format!("{name} cannot be added"))?;
        self.0.write_all(bytes).with_context(|| format!("{name} cannot be added"))
    }

    fn finish(self) -> Result<Vec<u8>> {
        Ok(self.0.finish().context("the archive cannot be finished")?.into_inner())
    }
}
