//! Sources in assembly, with the files that they include.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use tollgate_record::file;
use tollgate_riscv::asm::{AsmError, Options, Sources, assemble, beside};

use super::error::SourceError;
use super::executable::Executable;
use super::library;
use super::lines::Lines;
use super::recipe::{Library, Recipe};

/// The most bytes of all files of a program, and the most files.
const LONGEST: usize = 64 << 20;
const MOST_FILES: usize = 1000;

/// Assembles and links a file.
pub(super) fn assemble_file(
    path: &Path,
    bytes: Vec<u8>,
    recipe: &Recipe<'_>,
) -> Result<Executable, SourceError> {
    let name = path.to_string_lossy().into_owned();
    let mut files = BTreeMap::new();
    read_included(&name, text(bytes)?, recipe, &mut files)?;
    assemble_files(&name, files, recipe)
}

/// Assembles and links the file of that name among files that are all there.
pub(super) fn assemble_files(
    name: &str,
    files: BTreeMap<String, String>,
    recipe: &Recipe<'_>,
) -> Result<Executable, SourceError> {
    let mut sources = Sources::default();
    if recipe.skipped > 0 {
        sources = sources.unit("(skipped)", &format!(".skip {}\n", recipe.skipped));
    }
    sources = sources.unit(name, files.get(name).ok_or(SourceError::Empty)?);
    for (name, text) in files.iter().filter(|(other, _)| *other != name) {
        sources = sources.file(name, text);
    }
    for (name, text) in recipe.headers {
        sources = sources.file(name, text);
    }
    for (name, text) in recipe.units {
        sources = sources.unit(name, text);
    }
    let defines = recipe.defines.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let options = Options { isa: recipe.isa, text: recipe.base, defines: defines.collect() };
    let mut image = match assemble(&sources, &options) {
        // Our library may have what is missing.
        Err(errors)
            if !matches!(recipe.library, Library::None | Library::Linux)
                && errors.iter().any(AsmError::is_undefined) =>
        {
            for (name, text) in library::for_assembly(recipe.isa) {
                sources = sources.unit(name, text);
            }
            assemble(&sources, &options)
        }
        result => result,
    }
    .map_err(SourceError::Assembly)?;
    if image.program.segments.is_empty() {
        return Err(SourceError::NoCode);
    }
    let entry = recipe.entries.iter().find_map(|name| image.program.symbol(name));
    image.program.entry = entry.unwrap_or(recipe.base + recipe.skipped);
    let elf = image.elf();
    let lines = Lines::of_assembly(image, files);
    Ok(Executable { elf, lines, needs_stack: true, ..Executable::default() })
}

/// Reads what a text includes, and what that includes. A file that is missing is an error of its line: the assembler
/// reports it, unless a condition leaves the line out.
fn read_included(
    name: &str,
    text: String,
    recipe: &Recipe<'_>,
    files: &mut BTreeMap<String, String>,
) -> Result<(), SourceError> {
    let mut waiting = vec![(name.to_owned(), text)];
    let mut bytes = 0;
    while let Some((name, text)) = waiting.pop() {
        bytes += text.len();
        if bytes > LONGEST || files.len() >= MOST_FILES {
            let why = format!("a program has at most {MOST_FILES} files of {} MiB together", LONGEST >> 20);
            return Err(SourceError::Include { name, why });
        }
        for included in text.lines().filter_map(included) {
            let path = beside(&name, included);
            let known =
                files.contains_key(&path) || path == name || waiting.iter().any(|(it, _)| *it == path);
            if known || recipe.headers.iter().any(|(header, _)| *header == included) {
                continue;
            }
            match file::read(Path::new(&path), LONGEST as u64) {
                Ok(read) => {
                    let why = |error: SourceError| SourceError::Include {
                        name: path.clone(),
                        why: error.to_string(),
                    };
                    let read = self::text(read).map_err(why)?;
                    waiting.push((path, read));
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(SourceError::Include { name: path, why: error.to_string() }),
            }
        }
        files.insert(name, text);
    }
    Ok(())
}

/// The name in a line `.include "NAME"`, `#include "NAME"` or `#include <NAME>`.
fn included(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let rest = match line.strip_prefix('#') {
        Some(rest) => rest.trim_start(),
        None => line.strip_prefix('.')?,
    };
    let rest = rest.strip_prefix("include")?.trim_start();
    let end = match rest.as_bytes().first()? {
        b'"' => '"',
        b'<' => '>',
        _ => return None,
    };
    rest[1..].split_once(end).map(|(name, _)| name).filter(|name| !name.is_empty())
}

/// The text of a file, without the mark that some editors put before it.
fn text(bytes: Vec<u8>) -> Result<String, SourceError> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        SourceError::NotText { line: 1 + valid.iter().filter(|byte| **byte == b'\n').count() }
    })?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}
