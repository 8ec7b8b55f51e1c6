//! What the terminal can show.

/// What the terminal can show. The caller finds out; nothing here asks the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns. Fewer than 40 are taken for 40.
    pub width: usize,
    /// Whether to send ANSI colors.
    pub color: bool,
    /// Whether characters beyond ASCII can be shown.
    pub unicode: bool,
    /// Whether to show what is folded because few readers need it: emulated rows, others' figures.
    pub all: bool,
    /// Whether to list every warning, and why rows are missing.
    pub warnings: bool,
    /// What the text is written as.
    pub format: Format,
}

/// What a text is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Lines of a terminal.
    Terminal,
    /// GitHub's Markdown.
    Markdown,
}

impl Default for Style {
    /// What every terminal, pipe and file can take.
    fn default() -> Self {
        Self::PLAIN
    }
}

/// Where text goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A terminal.
    Terminal,
    /// Standard output that is not a terminal.
    Pipe,
    /// The file of `--out`.
    File,
}

/// How text is emphasized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    /// As it is.
    Plain,
    /// Titles.
    Bold,
    /// What is there but need not be read first.
    Dim,
    /// Bars.
    Bar,
    /// To be noticed.
    Warn,
    /// Wrong.
    Bad,
    /// Right.
    Good,
}

impl Style {
    /// What every terminal, pipe and file can take, without details.
    pub const PLAIN: Self = Self {
        width: 80,
        color: false,
        unicode: false,
        all: false,
        warnings: false,
        format: Format::Terminal,
    };

    /// Markdown, which is read in a browser.
    pub const MARKDOWN: Self = Self { width: 160, unicode: true, format: Format::Markdown, ..Self::PLAIN };

    /// A page, which has room for everything.
    pub(crate) const PAGE: Self =
        Self { width: 160, unicode: true, all: true, warnings: true, ..Self::PLAIN };

    /// The style, as the environment wants it. `NO_COLOR` comes before everything, then `CLICOLOR_FORCE` (colors
    /// also where standard output is not a terminal), then `CLICOLOR=0` and a terminal that is `dumb`. A file of `--out`
    /// has no colors. Characters beyond ASCII need a locale that says UTF-8.
    pub fn of_environment(
        place: Place,
        width: Option<usize>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let value = |name: &str| variable(name).filter(|value| !value.is_empty());
        let terminal = place == Place::Terminal;
        let color = if place == Place::File || value("NO_COLOR").is_some() {
            false
        } else if value("CLICOLOR_FORCE").is_some_and(|value| value != "0") {
            true
        } else {
            let dumb = value("TERM").is_some_and(|term| term == "dumb");
            terminal && !dumb && value("CLICOLOR").is_none_or(|value| value != "0")
        };
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| value(name));
        Self {
            width: width.filter(|_| terminal).unwrap_or(80),
            color,
            unicode: locale.is_some_and(|locale| locale.to_uppercase().replace('-', "").contains("UTF8")),
            ..Self::PLAIN
        }
    }

    /// The columns that a line may take.
    pub(crate) fn columns(&self) -> usize {
        self.width.max(40)
    }

    /// The columns that prose takes: longer lines are hard to read.
    pub(crate) fn prose(&self) -> usize {
        self.columns().min(100)
    }

    /// `unicode` where it can be shown, otherwise `ascii`.
    pub(crate) fn pick(&self, unicode: &'static str, ascii: &'static str) -> &'static str {
        if self.unicode { unicode } else { ascii }
    }

    /// The sign before half of an interval.
    pub(crate) fn plus_minus(&self) -> &'static str {
        self.pick("±", "+-")
    }

    /// The sign before an upper bound.
    pub(crate) fn at_most(&self) -> &'static str {
        self.pick("≤", "<=")
    }

    /// The text in that color, where there are colors. `text` must be clean already.
    pub(crate) fn paint(&self, paint: Paint, text: &str) -> String {
        let code = match paint {
            Paint::Plain => "",
            Paint::Bold => "1",
            Paint::Dim => "2",
            Paint::Bar => "36",
            Paint::Warn => "33",
            Paint::Bad => "31",
            Paint::Good => "32",
        };
        if !self.color || code.is_empty() || text.is_empty() {
            return text.into();
        }
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(place: Place, variables: &[(&str, &str)]) -> Style {
        Style::of_environment(place, Some(132), |name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn colors_are_where_they_are_seen_or_forced() {
        use Place::{File, Pipe, Terminal};
        for (place, variables, color) in [
            (Terminal, &[][..], true),
            (Pipe, &[], false),
            (File, &[], false),
            (Terminal, &[("TERM", "xterm-256color")], true),
            (Terminal, &[("TERM", "dumb")], false),
            (Terminal, &[("NO_COLOR", "1")], false),
            (Terminal, &[("NO_COLOR", "")], true),
            (Terminal, &[("CLICOLOR", "0")], false),
            (Terminal, &[("CLICOLOR", "1")], true),
            (Pipe, &[("CLICOLOR_FORCE", "1")], true),
            (Pipe, &[("CLICOLOR_FORCE", "0")], false),
            (File, &[("CLICOLOR_FORCE", "1")], false),
            (Terminal, &[("CLICOLOR_FORCE", "1"), ("TERM", "dumb")], true),
            (Pipe, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false),
        ] {
            assert_eq!(of(place, variables).color, color, "{variables:?}");
        }
    }

    #[test]
    fn the_width_is_that_of_the_terminal_only() {
        assert_eq!(of(Place::Terminal, &[]).width, 132);
        assert_eq!(of(Place::Pipe, &[]).width, 80);
        assert_eq!(of(Place::File, &[]).width, 80);
    }

    #[test]
    fn characters_beyond_ascii_need_a_locale_that_has_them() {
        for (variables, unicode) in [
            (&[][..], false),
            (&[("LANG", "C")], false),
            (&[("LANG", "C.UTF-8")], true),
            (&[("LANG", "de_DE.utf8")], true),
            (&[("LANG", "de_DE.UTF-8"), ("LC_ALL", "C")], false),
            (&[("LANG", "C"), ("LC_CTYPE", "en_US.UTF-8")], true),
            (&[("LANG", "en_US.UTF-8"), ("LC_ALL", "")], true),
        ] {
            assert_eq!(of(Place::Pipe, variables).unicode, unicode, "{variables:?}");
        }
    }
}
