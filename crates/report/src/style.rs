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
}

impl Default for Style {
    /// What every terminal, pipe and file can take.
    fn default() -> Self {
        Self { width: 80, color: false, unicode: false }
    }
}

/// The few ways in which text stands out.
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
