//! A newcomer needs two commands only.

use super::rule::Finding;
use super::tree::Tree;

const COMMANDS: [&str; 2] = ["cargo run --release", "cargo xtask test"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let commands = commands(tree.text("README.md").unwrap_or_default());
    if commands == COMMANDS {
        return Vec::new();
    }
    let found = if commands.is_empty() { "nothing".to_owned() } else { commands.join("; ") };
    let text = format!("its shell blocks must contain {}, and contain {found}", COMMANDS.join("; "));
    vec![Finding::file("README.md", text)]
}

/// The lines of blocks with the language `sh`, `bash` or `shell`, without prompt and comment. Other blocks show output.
fn commands(page: &str) -> Vec<&str> {
    let mut commands = Vec::new();
    let mut block: Option<&str> = None;
    for line in page.lines().map(str::trim) {
        match (line.strip_prefix("```"), block) {
            (Some(_), Some(_)) => block = None,
            (Some(mark), None) => block = Some(mark.trim()),
            (None, Some("sh" | "bash" | "shell")) => {
                let command = line.split(" #").next().unwrap_or(line).trim_start_matches("$ ").trim();
                if !command.is_empty() && !command.starts_with('#') {
                    commands.push(command);
                }
            }
            (None, _) => {}
        }
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::{Tree, check};

    #[test]
    fn the_two_commands_pass() {
        for readme in [
            "```sh\ncargo run --release    # the ladder\ncargo xtask test\n```\n",
            "```sh\n$ cargo run --release\n```\n```\n$ tollgate list\n```\n```bash\n# checks\ncargo xtask test\n```\n",
        ] {
            assert_eq!(check(&Tree::of(&[("README.md", readme)])), [], "{readme}");
        }
    }

    #[test]
    fn one_more_or_one_less_fails() {
        for readme in [
            "",
            "```sh\ncargo run --release\n```\n",
            "```\ncargo run --release\ncargo xtask test\n```\n",
            "```sh\nmake\ncargo run --release\ncargo xtask test\n```\n",
        ] {
            assert_eq!(check(&Tree::of(&[("README.md", readme)])).len(), 1, "{readme}");
        }
    }
}
