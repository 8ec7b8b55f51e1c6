//! The files of a program in the guest: the program, its libraries, a root, and files that it may read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, BufRead, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use super::code::{Object, ObjectError};
use crate::initramfs::Archive;

/// The most bytes of all files: they are in the guest's memory.
const MOST_BYTES: u64 = 1 << 30;
/// The most files.
const MOST_FILES: usize = 200_000;
/// Links on the way to a file.
const MOST_LINKS: usize = 40;
/// Where a relative program is, which is its working directory.
pub(super) const WORK: &str = "/work";
/// Directories of libraries, in the order in which glibc's loader looks (elf/dl-load.c) and Debian places them.
const LIBRARIES: [&str; 6] =
    ["lib", "lib/riscv64-linux-gnu", "usr/lib/riscv64-linux-gnu", "usr/lib", "lib64", "usr/lib64"];

/// A file of the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    Directory(u32),
    File { mode: u32, bytes: Vec<u8> },
    Link(String),
}

/// Why the files of a program were not found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum TreeError {
    #[error("{0}: {1}")]
    Read(PathBuf, io::Error),
    #[error("{0}: {1}")]
    Program(String, ObjectError),
    #[error("{0}: not found, neither here nor in the root")]
    NotFound(String),
    #[error(
        "{program}: its interpreter {interpreter} is missing; give the root that contains it with --root, or link the program with -static"
    )]
    Interpreter { program: String, interpreter: String },
    #[error(
        "{program}: the library {library} is missing; give the root that contains it with --root, or link the program with -static"
    )]
    Library { program: String, library: String },
    #[error("{0}: the files have more than {bytes}: give a smaller root", bytes = "1 GiB")]
    Large(PathBuf),
    #[error("{0}: more than 200,000 files; give a smaller root")]
    Many(PathBuf),
    #[error("{0}: not an archive of tar, nor a directory; decompress a compressed one first")]
    NotTar(PathBuf),
    #[error("{0}: a damaged archive of tar: it is cut off, or a header is wrong")]
    DamagedTar(PathBuf),
}

/// Files by their path in the guest, which begins with `/`; a directory comes before what is in it.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    entries: BTreeMap<String, Entry>,
    bytes: u64,
}

/// A program with its files.
pub(super) struct Rooted {
    pub(super) tree: Tree,
    /// The program, its loader and its libraries: the path, the program read, whether it is a loader.
    pub(super) objects: Vec<(String, Object, bool)>,
    /// The program's path in the guest.
    pub(super) program: String,
}

/// A path without `.`, `..` and repeated slashes.
fn normal(path: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    format!("/{}", names.join("/"))
}

impl Tree {
    fn insert(&mut self, path: &str, entry: Entry, from: &Path) -> Result<(), TreeError> {
        let path = normal(path);
        if let Entry::File { bytes, .. } = &entry {
            self.bytes += bytes.len() as u64;
        }
        if self.bytes > MOST_BYTES {
            return Err(TreeError::Large(from.to_owned()));
        }
        if self.entries.len() >= MOST_FILES {
            return Err(TreeError::Many(from.to_owned()));
        }
        let parents =
            path.match_indices('/').map(|(at, _)| path[..at].to_owned()).filter(|it| !it.is_empty());
        for parent in parents.collect::<Vec<_>>() {
            self.entries.entry(parent).or_insert(Entry::Directory(0o755));
        }
        if path != "/" {
            self.entries.insert(path, entry);
        }
        Ok(())
    }

    /// Adds a file of this host; its directories come through links that the tree has.
    pub(super) fn add(&mut self, from: &Path, to: &str) -> Result<(), TreeError> {
        let failed = |error| TreeError::Read(from.to_owned(), error);
        let kind = fs::metadata(from).map_err(failed)?;
        if !kind.is_file() {
            return Err(failed(io::Error::other("not a regular file")));
        }
        if kind.len() > MOST_BYTES {
            return Err(TreeError::Large(from.to_owned()));
        }
        let bytes = fs::read(from).map_err(failed)?;
        let at = self.resolve(to).unwrap_or_else(|| normal(to));
        self.insert(&at, Entry::File { mode: kind.permissions().mode() & 0o777, bytes }, from)
    }

    /// Adds a directory of this host with all that is in it, or an archive of tar.
    fn add_root(&mut self, root: &Path) -> Result<(), TreeError> {
        let failed = |error| TreeError::Read(root.to_owned(), error);
        if fs::metadata(root).map_err(failed)?.is_file() {
            return self.add_tar(root);
        }
        let mut left = vec![(root.to_owned(), String::new())];
        while let Some((directory, at)) = left.pop() {
            let failed = |error| TreeError::Read(directory.clone(), error);
            for entry in fs::read_dir(&directory).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                let (from, name) = (entry.path(), entry.file_name());
                let to = format!("{at}/{}", name.to_string_lossy());
                let kind =
                    fs::symlink_metadata(&from).map_err(|error| TreeError::Read(from.clone(), error))?;
                let mode = kind.permissions().mode() & 0o7777;
                if kind.is_symlink() {
                    let target =
                        fs::read_link(&from).map_err(|error| TreeError::Read(from.clone(), error))?;
                    self.insert(&to, Entry::Link(target.to_string_lossy().into_owned()), &from)?;
                } else if kind.is_dir() {
                    self.insert(&to, Entry::Directory(mode), &from)?;
                    left.push((from, to));
                } else if kind.is_file() {
                    if kind.len() > MOST_BYTES {
                        return Err(TreeError::Large(from));
                    }
                    let bytes = fs::read(&from).map_err(|error| TreeError::Read(from.clone(), error))?;
                    self.insert(&to, Entry::File { mode, bytes }, &from)?;
                }
            }
        }
        Ok(())
    }

    /// The ustar format with GNU's and pax' long names (POSIX.1-2017, pax).
    fn add_tar(&mut self, path: &Path) -> Result<(), TreeError> {
        let failed = |error| TreeError::Read(path.to_owned(), error);
        let mut file = io::BufReader::new(fs::File::open(path).map_err(failed)?);
        let (mut long, mut long_link): (Option<String>, Option<String>) = (None, None);
        let mut header = [0; 512];
        let text = |bytes: &[u8]| {
            String::from_utf8_lossy(bytes.split(|&byte| byte == 0).next().unwrap_or_default()).into_owned()
        };
        let octal = |bytes: &[u8]| u64::from_str_radix(text(bytes).trim(), 8).unwrap_or(0);
        let damaged = || TreeError::DamagedTar(path.to_owned());
        let is_cut = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => damaged(),
            _ => failed(error),
        };
        // A file without a whole header is not an archive either.
        let mut is_tar = false;
        while !file.fill_buf().map_err(failed)?.is_empty() {
            let read = file.read_exact(&mut header);
            if read.is_ok() && is_tar && header.iter().all(|&byte| byte == 0) {
                break;
            }
            if read.is_err() || &header[257..262] != b"ustar" {
                return Err(if is_tar { damaged() } else { TreeError::NotTar(path.to_owned()) });
            }
            is_tar = true;
            // The sum counts its own field as blanks.
            let sum: u64 = (0..)
                .zip(header)
                .map(|(at, byte)| if (148..156).contains(&at) { 32 } else { byte.into() })
                .sum();
            if sum != octal(&header[148..156]) {
                return Err(damaged());
            }
            let (size, mode, kind) = (octal(&header[124..136]), octal(&header[100..108]) as u32, header[156]);
            if size > MOST_BYTES {
                return Err(TreeError::Large(path.to_owned()));
            }
            let mut bytes = vec![0; size.next_multiple_of(512) as usize];
            file.read_exact(&mut bytes).map_err(is_cut)?;
            bytes.truncate(size as usize);
            let prefix = text(&header[345..500]);
            let short = text(&header[..100]);
            let plain = if prefix.is_empty() { short } else { format!("{prefix}/{short}") };
            match kind {
                b'L' => long = Some(text(&bytes)),
                b'K' => long_link = Some(text(&bytes)),
                b'x' => {
                    // Lines of a length, a key and a value.
                    for line in String::from_utf8_lossy(&bytes).lines() {
                        let record = line.split_once(' ').and_then(|(_, rest)| rest.split_once('='));
                        match record {
                            Some(("path", value)) => long = Some(value.to_owned()),
                            Some(("linkpath", value)) => long_link = Some(value.to_owned()),
                            _ => {}
                        }
                    }
                }
                _ => {
                    let name = long.take().unwrap_or(plain);
                    let target = long_link.take().unwrap_or_else(|| text(&header[157..257]));
                    match kind {
                        b'5' => self.insert(&name, Entry::Directory(mode & 0o7777), path)?,
                        b'2' => self.insert(&name, Entry::Link(target), path)?,
                        b'1' => {
                            let same = self.entries.get(&normal(&target)).cloned();
                            if let Some(same) = same {
                                self.insert(&name, same, path)?;
                            }
                        }
                        b'0' | 0 => self.insert(&name, Entry::File { mode: mode & 0o7777, bytes }, path)?,
                        _ => {}
                    }
                }
            }
        }
        if is_tar { Ok(()) } else { Err(TreeError::NotTar(path.to_owned())) }
    }

    /// The path of a file behind links; of one that is not there, where it would be.
    fn resolve(&self, path: &str) -> Option<String> {
        let mut left: Vec<String> = normal(path).split('/').rev().map(str::to_owned).collect();
        let mut at = String::new();
        let mut links = 0;
        while let Some(name) = left.pop() {
            match name.as_str() {
                "" | "." => continue,
                ".." => {
                    at.truncate(at.rfind('/').unwrap_or(0));
                    continue;
                }
                _ => {}
            }
            let here = format!("{at}/{name}");
            match self.entries.get(&here) {
                Some(Entry::Link(target)) => {
                    links += 1;
                    if links > MOST_LINKS {
                        return None;
                    }
                    if target.starts_with('/') {
                        at.clear();
                    }
                    left.extend(target.split('/').rev().map(str::to_owned));
                }
                _ => at = here,
            }
        }
        Some(at)
    }

    /// The contents of a file.
    pub(super) fn file(&self, path: &str) -> Option<&[u8]> {
        match self.entries.get(&self.resolve(path)?)? {
            Entry::File { bytes, .. } => Some(bytes),
            _ => None,
        }
    }

    /// Whether two paths are of one file.
    pub(super) fn is_same(&self, path: &str, other: &str) -> bool {
        self.resolve(path).is_some_and(|path| self.resolve(other) == Some(path))
    }

    /// As an archive in the newc format.
    pub(super) fn archive(&self) -> io::Result<Vec<u8>> {
        let mut archive = Archive::new(Vec::new());
        for (path, entry) in &self.entries {
            match entry {
                Entry::Directory(_) => archive.directory(path)?,
                Entry::File { mode, bytes } => archive.file(path, *mode, bytes)?,
                Entry::Link(target) => archive.link(path, target)?,
            }
        }
        archive.finish()
    }
}

/// Collects a program with all that it needs. `root` is a directory or an archive whose files all come along; without one,
/// libraries come from `sysroot`, if the program needs some.
///
/// # Errors
/// What is missing, by name.
pub(super) fn collect(
    program: &str,
    root: Option<&Path>,
    sysroot: &Path,
    files: &[PathBuf],
) -> Result<Rooted, TreeError> {
    let mut tree = Tree::default();
    tree.insert("/tmp", Entry::Directory(0o777), Path::new("/tmp"))?;
    tree.insert(WORK, Entry::Directory(0o755), Path::new(WORK))?;
    if let Some(root) = root {
        tree.add_root(root)?;
    }
    let in_guest = |path: &Path| {
        let text = path.to_string_lossy();
        if path.is_absolute() { text.into_owned() } else { format!("{WORK}/{text}") }
    };
    let own = Path::new(program);
    let at = if root.is_some() && own.is_absolute() && tree.file(program).is_some() {
        program.to_owned()
    } else if own.is_file() {
        tree.add(own, &in_guest(own))?;
        in_guest(own)
    } else {
        let found = ["bin", "usr/bin"].into_iter().map(|directory| format!("/{directory}/{program}"));
        let found = found.filter(|_| !program.contains('/')).find(|path| tree.file(path).is_some());
        found.ok_or_else(|| TreeError::NotFound(program.to_owned()))?
    };
    for file in files {
        tree.add(file, &in_guest(file))?;
    }
    let mut objects = Vec::new();
    // A script starts its interpreter, which is in the root.
    let is_script = tree.file(&at).is_some_and(|bytes| bytes.starts_with(b"#!"));
    if root.is_none() || !is_script {
        objects = libraries(&mut tree, program, &at, root, sysroot)?;
    }
    // Whatever else may be executed or loaded later.
    let known: BTreeSet<String> = objects.iter().map(|(path, ..)| path.clone()).collect();
    let more: Vec<(String, Object, bool)> = tree
        .entries
        .iter()
        .filter(|(path, _)| !known.contains(*path))
        .filter_map(|(path, entry)| match entry {
            Entry::File { bytes, .. } => Some((path.clone(), Object::parse(bytes).ok()?, false)),
            _ => None,
        })
        .collect();
    let loaders: BTreeSet<String> = objects
        .iter()
        .chain(&more)
        .filter_map(|(_, object, _)| tree.resolve(object.interpreter.as_deref()?))
        .collect();
    objects.extend(more);
    for (path, _, loader) in &mut objects {
        *loader |= loaders.contains(path);
    }
    Ok(Rooted { tree, objects, program: at })
}

/// The program, its loader and the libraries that it names, directly or not.
fn libraries(
    tree: &mut Tree,
    program: &str,
    at: &str,
    root: Option<&Path>,
    sysroot: &Path,
) -> Result<Vec<(String, Object, bool)>, TreeError> {
    let parse = |tree: &Tree, path: &str| {
        Object::parse(tree.file(path).unwrap_or_default())
            .map_err(|error| TreeError::Program(program.to_owned(), error))
    };
    let first = parse(tree, at)?;
    let mut objects: Vec<(String, Object, bool)> = Vec::new();
    let mut known: BTreeSet<String> = BTreeSet::new();
    if let Some(interpreter) = first.interpreter.clone() {
        let from = sysroot.join(interpreter.trim_start_matches('/'));
        if tree.file(&interpreter).is_none() && root.is_none() && from.is_file() {
            tree.add(&from, &interpreter)?;
        }
        let missing =
            || TreeError::Interpreter { program: program.to_owned(), interpreter: interpreter.clone() };
        let path = tree.file(&interpreter).and_then(|_| tree.resolve(&interpreter)).ok_or_else(missing)?;
        let name = interpreter.rsplit('/').next().unwrap_or_default().to_owned();
        known.insert(name);
        objects.push((path.clone(), parse(tree, &path)?, true));
    }
    let mut left = vec![(at.to_owned(), first)];
    while let Some((path, object)) = left.pop() {
        for library in &object.needed {
            if !known.insert(library.clone()) {
                continue;
            }
            let found = library_of(tree, library, &path, &object.search, root, sysroot)?;
            let missing = || TreeError::Library { program: program.to_owned(), library: library.clone() };
            let found = found.ok_or_else(missing)?;
            left.push((found.clone(), parse(tree, &found)?));
        }
        objects.push((path, object, false));
    }
    Ok(objects)
}

/// Where a library is in the guest; without a root it is brought along from the compiler's.
fn library_of(
    tree: &mut Tree,
    library: &str,
    of: &str,
    search: &[String],
    root: Option<&Path>,
    sysroot: &Path,
) -> Result<Option<String>, TreeError> {
    let origin = of.rsplit_once('/').map_or("", |(directory, _)| directory);
    let own = search.iter().map(|path| path.replace("$ORIGIN", origin).replace("${ORIGIN}", origin));
    let usual = LIBRARIES.iter().map(|directory| format!("/{directory}"));
    for directory in own.chain(usual) {
        let path = format!("{directory}/{library}");
        if tree.file(&path).is_some() {
            return Ok(tree.resolve(&path));
        }
        if root.is_some() {
            continue;
        }
        let relative: PathBuf =
            Path::new(&directory).components().filter(|it| *it != Component::RootDir).collect();
        // Beside the program, or in the compiler's root.
        let beside = directory.strip_prefix(WORK).map(|rest| PathBuf::from(format!(".{rest}")).join(library));
        let found =
            beside.into_iter().chain([sysroot.join(relative).join(library)]).find(|path| path.is_file());
        if let Some(from) = found {
            tree.add(&from, &path)?;
            return Ok(tree.resolve(&path));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_followed_inside_of_the_tree() {
        let mut tree = Tree::default();
        let file = |text: &str| Entry::File { mode: 0o644, bytes: text.into() };
        let here = Path::new(".");
        tree.insert("/usr/lib/x.so.1", file("one"), here).unwrap();
        tree.insert("/lib", Entry::Link("usr/lib".into()), here).unwrap();
        tree.insert("/usr/lib/x.so", Entry::Link("x.so.1".into()), here).unwrap();
        tree.insert("/loop", Entry::Link("/loop".into()), here).unwrap();
        tree.insert("/up", Entry::Link("../../../usr".into()), here).unwrap();
        assert_eq!(tree.file("/lib/x.so"), Some(&b"one"[..]));
        assert_eq!(tree.file("/up/lib/../lib/x.so"), Some(&b"one"[..]));
        assert_eq!([tree.file("/loop"), tree.file("/lib/y")], [None, None]);
        assert_eq!(tree.resolve("/lib/y").as_deref(), Some("/usr/lib/y"));
    }

    #[test]
    fn a_tar_is_the_directory_it_was_made_of() {
        if tollgate_testkit::program("tar").is_none() {
            return tollgate_testkit::skip!("tar is missing");
        }
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        let long = "d".repeat(90);
        fs::create_dir_all(root.join(&long).join(&long)).unwrap();
        fs::write(root.join(&long).join(&long).join("file"), "deep").unwrap();
        fs::write(root.join("file"), "flat").unwrap();
        std::os::unix::fs::symlink("file", root.join("link")).unwrap();
        let mut expected = Tree::default();
        expected.add_root(&root).unwrap();
        for format in ["gnu", "pax"] {
            let tar = dir.path().join(format);
            let done = std::process::Command::new("tar")
                .args(["-c", &format!("--format={format}"), "-C"])
                .args([&root, Path::new("-f"), &tar, Path::new(".")])
                .status();
            assert!(done.unwrap().success());
            let mut tree = Tree::default();
            tree.add_root(&tar).unwrap();
            let names = |tree: &Tree| tree.entries.keys().cloned().collect::<Vec<_>>();
            assert_eq!(names(&tree), names(&expected), "{format}");
            assert_eq!(tree.file("/link"), Some(&b"flat"[..]));
            assert_eq!(tree.file(&format!("/{long}/{long}/file")), Some(&b"deep"[..]));
        }
        let error = expected.add_root(&root.join("file")).unwrap_err().to_string();
        assert!(error.contains("not an archive"), "{error}");
        // Cut in a header and in a file, and with a wrong name.
        let whole = fs::read(dir.path().join("gnu")).unwrap();
        let flat = whole.windows(4).position(|it| it == b"flat").unwrap();
        let mut renamed = whole.clone();
        renamed[1] ^= 1;
        for bytes in [&whole[..600], &whole[..flat + 2], &renamed] {
            let tar = dir.path().join("damaged");
            fs::write(&tar, bytes).unwrap();
            let error = Tree::default().add_root(&tar).unwrap_err().to_string();
            assert!(error.contains("damaged archive"), "{error}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let none = Path::new("/nonexistent");
        let error = collect("no-such-program", None, none, &[]).map(drop).unwrap_err().to_string();
        assert!(error.starts_with("no-such-program: not found"), "{error}");
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../guests/preload/images/caller-riscv64");
        let error = collect(file, None, none, &[]).map(drop).unwrap_err().to_string();
        assert!(error.contains("its interpreter /lib/ld-linux-riscv64-lp64d.so.1 is missing"), "{error}");
        let here = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let error = collect(here, None, none, &[]).map(drop).unwrap_err().to_string();
        assert!(error.contains("not an ELF file"), "{error}");
    }
}
