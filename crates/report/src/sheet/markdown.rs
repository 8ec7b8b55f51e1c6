//! A sheet as GitHub's Markdown, for issues and pull requests.

use super::{Align, Block, Cell, Content, LONG, Row, Sheet, Table};
use crate::style::{Paint, Style};

impl Sheet {
    /// The sheet as Markdown. No text of a record can become markup.
    pub(super) fn markdown(&self) -> String {
        write(self)
    }
}

fn write(sheet: &Sheet) -> String {
    let mut text = String::new();
    for block in &sheet.blocks {
        let part = match block {
            Block::Blank => continue,
            Block::Text(prose) => {
                let words = escape(format!("{}{}", prose.first, prose.text).trim());
                match words.strip_prefix("- ") {
                    Some(item) => {
                        // Items follow each other without an empty line.
                        if text.rsplit("\n\n").nth(1).is_some_and(|last| last.starts_with("- ")) {
                            text.pop();
                        }
                        format!("- {item}")
                    }
                    None if words.is_empty() => continue,
                    None => emphasized(words, prose.paint),
                }
            }
            Block::Facts(facts, _) => escape(&facts.join(" \u{b7} ")),
            Block::Table(table) => folded(table),
            Block::Plot(plot) => fenced(&plot.lines(&Style::MARKDOWN)),
            Block::Drawn(lines) | Block::Sketch(lines) => fenced(lines),
        };
        text.push_str(&part);
        text.push_str("\n\n");
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

fn fenced(lines: &[String]) -> String {
    format!("```text\n{}\n```", lines.join("\n").replace('`', "\u{2bc}"))
}

fn emphasized(words: String, paint: Paint) -> String {
    let is_strong = matches!(paint, Paint::Bold | Paint::Good | Paint::Bad);
    if is_strong && !words.is_empty() { format!("**{words}**") } else { words }
}

/// A table; of a long one what is to be read first, and all rows folded behind it.
fn folded(table: &Table) -> String {
    let (whole, rows) = (lines(table), table.rows());
    if rows <= LONG {
        return whole;
    }
    let folded = format!("<details><summary>All {rows} rows</summary>\n\n{whole}\n\n</details>");
    match table.noticed() {
        Some(first) => format!("{}\n\n{folded}", lines(&first)),
        None => folded,
    }
}

/// A table. Columns without content and drawings are left out; prose is in the cell behind those before it.
fn lines(table: &Table) -> String {
    let shown: Vec<usize> = (0..table.columns.len())
        .filter(|&place| !table.is_drawing(place) && !table.is_blank(place))
        .collect();
    let line = |cells: &mut dyn Iterator<Item = String>| {
        cells.fold("|".to_owned(), |line, cell| format!("{line} {cell} |"))
    };
    let aligned = |&place: &usize| if table.columns[place].align == Align::Right { "--:" } else { ":--" };
    let head = [
        line(&mut shown.iter().map(|&place| cell(&table.columns[place].title))),
        shown.iter().map(aligned).fold("|".to_owned(), |line, cell| format!("{line}{cell}|")),
    ]
    .join("\n");
    let mut lines = Vec::new();
    for row in &table.rows {
        let mut cells: Vec<String> = match row {
            Row::Cells(cells, _) | Row::Prose(cells, ..) => {
                shown.iter().map(|&place| cells.get(place).map_or_else(String::new, cell)).collect()
            }
            Row::Text(first, text, _) if first.is_empty() && text.is_empty() => continue,
            Row::Text(first, text, paint) => {
                vec![emphasized(escape(format!("{first}{text}").trim()), *paint)]
            }
        };
        if let Row::Prose(before, text, _) = row {
            let place = shown.iter().position(|&place| place >= before.len()).unwrap_or(shown.len() - 1);
            cells[place] = format!("{} {}", cells[place], escape(text)).trim().to_owned();
        }
        cells.resize(shown.len(), String::new());
        lines.push(line(&mut cells.into_iter()));
    }
    format!("{head}\n{}", lines.join("\n"))
}

fn cell(cell: &Cell) -> String {
    match &cell.content {
        Content::Text(text) | Content::Share(text) => {
            let text = format!("{}{}", text.lines().collect::<Vec<_>>().join(" ").trim(), cell.tail);
            emphasized(escape(text.trim()), cell.paint)
        }
        Content::Axis | Content::Bars(_) => String::new(),
    }
}

/// A string of a record that cannot become markup.
fn escape(text: &str) -> String {
    let mut safe = String::new();
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' | '$' | '@' => {
                safe.push('\\');
                safe.push(c);
            }
            '\u{a0}' => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}
