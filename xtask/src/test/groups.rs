//! Groups: steps that take long and depend on few rooms. The gate runs those whose rooms changed since the last merge into `main`.

use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use tollgate_testkit::printed;

/// Steps with one subject.
pub(super) struct Group {
    pub(super) name: &'static str,
    /// Rooms of which a change, or a change of a room that they use, can change the outcome.
    rooms: &'static [&'static str],
}

/// The groups that the gate may choose. Steps name one.
static GROUPS: [Group; 4] = [CROSS, GUESTS, PYTHON, VM];

/// The static program for other architectures.
pub(super) const CROSS: Group =
    Group { name: "cross", rooms: &["boundary", "machines", "measure", "microvm", "toll", "translate"] };
/// The images of guests in the tree, made again from their sources.
pub(super) const GUESTS: Group = Group { name: "guests", rooms: &["guests"] };
/// The page as WebAssembly, which takes longer to build than the gate may: only `--all` runs it. What the module does is tested
/// natively with the room.
pub(super) const PAGE: Group = Group { name: "page", rooms: &["page"] };
/// The Python package and its wheel.
pub(super) const PYTHON: Group = Group { name: "python", rooms: &["python", "record", "tollgate"] };
/// Other kernels under emulation.
pub(super) const VM: Group =
    Group { name: "vm", rooms: &["boundary", "machines", "measure", "microvm", "runtime", "scan", "toll"] };

/// Which groups run, and why.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) names: BTreeSet<&'static str>,
    pub(super) why: String,
}

impl Choice {
    /// Every group.
    pub(super) fn all() -> Self {
        let groups = GROUPS.iter().chain([&PAGE]);
        Choice { names: groups.map(|group| group.name).collect(), why: "--all".to_owned() }
    }

    /// Every group that the gate may choose.
    fn gate(why: String) -> Self {
        Choice { names: GROUPS.iter().map(|group| group.name).collect(), why }
    }

    /// The groups of the rooms that changed since the last merge into `main`; where that is unknown, one group in rotation.
    pub(super) fn of(root: &Path) -> Self {
        match base(root) {
            Some(base) => match changed(root, &base) {
                Ok(paths) => Self::for_paths(&paths, &crate::tidy::uses(root), &base),
                Err(error) => Self::in_rotation(root, &format!("{error:#}")),
            },
            None => Self::in_rotation(root, "the last merge into main is unknown"),
        }
    }

    fn in_rotation(root: &Path, why: &str) -> Self {
        let count = git(root, &["rev-list", "--count", "HEAD"]).ok().and_then(|count| count.parse().ok());
        Self::rotated(count.unwrap_or(0), why)
    }

    fn rotated(commits: usize, why: &str) -> Self {
        let name = GROUPS[commits % GROUPS.len()].name;
        let why = format!("{why}: `{name}` in rotation; --all runs every group");
        Choice { names: BTreeSet::from([name]), why }
    }

    fn for_paths(paths: &[String], uses: &BTreeMap<String, BTreeSet<String>>, base: &str) -> Self {
        let Some(rooms) = paths.iter().map(|path| room(path)).collect::<Option<BTreeSet<_>>>() else {
            let why = format!("what every room depends on changed since {base}");
            return Self::gate(why);
        };
        let rooms = with_users(rooms.into_iter().flatten().map(str::to_owned).collect(), uses);
        let runs = |group: &&Group| group.rooms.iter().any(|room| rooms.contains(*room));
        let names = GROUPS.iter().filter(runs).map(|group| group.name).collect();
        let list: Vec<&str> = rooms.iter().map(String::as_str).collect();
        Choice {
            names,
            why: format!("changed since {base}, with the rooms that use them: {}", list.join(", ")),
        }
    }

    /// The names, for the first line.
    pub(super) fn list(&self) -> String {
        match self.names.is_empty() {
            true => "none".to_owned(),
            false => Vec::from_iter(self.names.iter().copied()).join(", "),
        }
    }

    /// Whether a step of a group runs.
    pub(super) fn has(&self, group: &Group) -> bool {
        self.names.contains(group.name)
    }
}

/// The commit since which changes count: where the branch left `origin/main` or `main`; on `main`, the last merge into it before
/// this commit. Merges inside of branches that were merged are not on the line of first parents.
fn base(root: &Path) -> Option<String> {
    let head = git(root, &["rev-parse", "HEAD"]).ok()?;
    let left = |main| git(root, &["merge-base", "HEAD", main]).ok().filter(|base| *base != head);
    let merged = || git(root, &["rev-list", "--first-parent", "--merges", "--max-count=1", "HEAD^"]).ok();
    let base =
        left("origin/main").or_else(|| left("main")).or_else(merged).filter(|base| !base.is_empty())?;
    git(root, &["rev-parse", "--short", &base]).ok()
}

/// Paths that differ from a commit, with what is not committed.
fn changed(root: &Path, base: &str) -> Result<Vec<String>> {
    Ok(git(root, &["diff", "--name-only", base])?.lines().map(str::to_owned).collect())
}

fn git(root: &Path, words: &[&str]) -> Result<String> {
    Ok(printed(Command::new("git").arg("-C").arg(root).args(words))?.trim().to_owned())
}

/// The room that a path is in, if any; `None` if all rooms depend on it.
fn room(path: &str) -> Option<Option<&str>> {
    let mut parts = path.split('/');
    match (parts.next()?, parts.next()) {
        ("Cargo.toml" | "Cargo.lock" | ".cargo" | ".ci", _) => None,
        ("xtask", Some("machines")) => Some(Some("machines")),
        ("xtask", _) => None,
        ("crates", Some(room)) => Some(Some(room)),
        ("runtimes", _) => Some(Some("runtime")),
        (room @ ("guests" | "python"), _) => Some(Some(room)),
        _ => Some(None),
    }
}

/// Rooms, and all that use them.
fn with_users(mut rooms: BTreeSet<String>, uses: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<String> {
    loop {
        let users = uses.iter().filter(|(_, used)| used.iter().any(|room| rooms.contains(room)));
        let more: Vec<String> =
            users.map(|(user, _)| user.clone()).filter(|user| !rooms.contains(user)).collect();
        if more.is_empty() {
            return rooms;
        }
        rooms.extend(more);
    }
}

#[cfg(test)]
mod tests {
    use super::{Choice, GROUPS, base, git};
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::Path;

    fn chosen(paths: &[&str]) -> Vec<&'static str> {
        let uses =
            [("measure", "record"), ("boundary", "measure"), ("tollgate", "report"), ("report", "record")];
        let uses: BTreeMap<_, _> = uses
            .iter()
            .map(|(user, used)| ((*user).to_owned(), BTreeSet::from([(*used).to_owned()])))
            .collect();
        let paths: Vec<String> = paths.iter().map(|&path| path.to_owned()).collect();
        Choice::for_paths(&paths, &uses, "base").names.into_iter().collect()
    }

    #[test]
    fn groups_follow_from_the_rooms_that_changed_and_their_users() {
        assert_eq!(chosen(&["docs/tutorial.md", "README.md"]), [""; 0]);
        assert_eq!(chosen(&["crates/report/src/lib.rs"]), ["python"]);
        assert_eq!(chosen(&["guests/riscv/link.ld", "crates/lab/src/lib.rs"]), ["guests"]);
        assert_eq!(chosen(&["crates/record/src/run.rs"]), ["cross", "python", "vm"]);
        assert_eq!(chosen(&["Cargo.lock"]).len(), GROUPS.len());
        assert_eq!(chosen(&["xtask/machines/src/vm.rs"]), ["cross", "vm"]);
    }

    /// A repository in which each commit is newer than the one before it.
    struct History(tempfile::TempDir, u32);

    impl History {
        fn git(&self, words: &[&str]) -> String {
            git(self.0.path(), words).expect("git runs")
        }

        /// Commits, with these words before `commit`; returns the short name.
        fn commit(&mut self, words: &[&str]) -> String {
            self.1 += 1;
            let date = format!("@{} +0000", 1_000_000_000 + self.1);
            let mut command = std::process::Command::new("git");
            command
                .arg("-C")
                .arg(self.0.path())
                .args(["-c", "user.name=a", "-c", "user.email=a@b"])
                .args(words);
            command.env("GIT_COMMITTER_DATE", &date).env("GIT_AUTHOR_DATE", &date);
            tollgate_testkit::printed(&mut command).expect("git runs");
            self.git(&["rev-parse", "--short", "HEAD"])
        }

        fn change(&mut self) -> String {
            self.commit(&["commit", "--quiet", "--allow-empty", "--message=change"])
        }

        fn merge(&mut self, branch: &str) -> String {
            self.commit(&["merge", "--quiet", "--no-ff", "--no-edit", branch])
        }

        fn root(&self) -> &Path {
            self.0.path()
        }
    }

    #[test]
    fn the_base_is_where_the_branch_left_main_or_the_last_merge_into_main() {
        let mut history = History(tempfile::tempdir().expect("a folder"), 0);
        history.git(&["init", "--quiet", "--initial-branch=main"]);
        history.change();
        history.git(&["checkout", "--quiet", "-b", "first"]);
        history.change();
        history.git(&["checkout", "--quiet", "main"]);
        let merged = history.merge("first");
        // A branch with a merge inside of it, which is younger than where it left main.
        history.git(&["checkout", "--quiet", "-b", "second"]);
        history.change();
        history.git(&["checkout", "--quiet", "-b", "third"]);
        history.change();
        history.git(&["checkout", "--quiet", "second"]);
        history.merge("third");
        history.change();
        assert_eq!(base(history.root()).as_deref(), Some(merged.as_str()), "on a branch");
        history.git(&["checkout", "--quiet", "main"]);
        history.merge("second");
        assert_eq!(base(history.root()).as_deref(), Some(merged.as_str()), "on main");
        // A checkout without branches, as in a continuous integration.
        history.git(&["checkout", "--quiet", "--detach"]);
        history.git(&["branch", "--quiet", "-D", "main", "first", "second", "third"]);
        assert_eq!(base(history.root()).as_deref(), Some(merged.as_str()), "without branches");
    }

    #[test]
    fn without_a_base_each_group_has_its_turn() {
        let turns: BTreeSet<_> =
            (7..7 + GROUPS.len()).flat_map(|n| Choice::rotated(n, "why").names).collect();
        assert_eq!(turns, Choice::gate(String::new()).names);
    }
}
