use super::*;
use clap::CommandFactory;

/// The words of a line of a shell, as far as the examples need it: blanks, single quotes, a redirection.
fn words(line: &str) -> Vec<String> {
    let command = line.split([';', '|', '>', '<']).next().unwrap();
    // `2> file` redirects standard error.
    let command = if line[command.len()..].starts_with('>') {
        command.strip_suffix(" 2").unwrap_or(command)
    } else {
        command
    };
    let mut words = Vec::new();
    for (place, part) in command.split('\'').enumerate() {
        if place % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

fn parses(line: &str) {
    if let Err(error) = Cli::try_parse_from(words(line)) {
        let harmless = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
        assert!(harmless, "{line}: {error}");
    }
}

fn examples(help: &str) -> Vec<&str> {
    help.lines().map(str::trim).filter(|line| line.starts_with("tollgate ") || *line == "tollgate").collect()
}

#[test]
fn the_examples_of_every_help_parse() {
    fn check(command: &clap::Command) {
        if command.is_hide_set() || command.get_name() == "help" {
            return;
        }
        let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let lines = crate::examples::lines(&after);
        assert!(!lines.is_empty(), "{} has no example", command.get_name());
        lines.into_iter().filter(|line| line.starts_with("tollgate")).for_each(parses);
        command.get_subcommands().for_each(check);
    }
    let mut whole = Cli::command();
    whole.build();
    check(&whole);
}

#[test]
fn the_examples_of_the_pages_parse() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = std::fs::read_dir(root.join("docs")).unwrap().map(|page| page.unwrap().path());
    let pages = docs.chain([root.join("README.md")]).filter(|page| page.extension() == Some("md".as_ref()));
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        // Blocks of code only: prose may begin a line with the name.
        for block in text.split("```").skip(1).step_by(2) {
            examples(block).into_iter().for_each(parses);
        }
    }
}

#[test]
fn words_are_split_as_a_shell_would() {
    assert_eq!(
        words("tollgate run 'thread/*' --cpu 0 > x.json"),
        ["tollgate", "run", "thread/*", "--cpu", "0"]
    );
}

#[test]
fn the_command_line_holds_together() {
    Cli::command().debug_assert();
}
