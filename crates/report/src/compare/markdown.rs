//! A comparison as Markdown for a pull request.

use super::table::{headings, how, interval_words, other_ways, side_words, summary, tally, threshold};
use crate::style::Style;
use crate::text::{clean, cut};
use tollgate_judge::{ComparedProbe, Comparison, Verdict, Weight};
use tollgate_record::number::{FIGURE, change, fit, percent};

/// Markdown is read in a browser.
const STYLE: Style = Style { width: 200, color: false, unicode: true, ..Style::PLAIN };

/// The comparison as Markdown: what moved first, all rows below a fold.
pub fn comparison_markdown(found: &Comparison) -> String {
    let [a, b] = [&found.a, &found.b].map(|side| escape(&side_words(side, &STYLE)));
    let mut text = vec![
        "### tollgate compare".to_owned(),
        String::new(),
        summary(found, &STYLE).map(|line| escape(&line)).join("  \n"),
        String::new(),
        format!("- **A**: {a}"),
        format!("- **B**: {b}"),
    ];
    for difference in found.differences.iter().filter(|difference| difference.weight != Weight::Fact) {
        let word = if difference.weight == Weight::Spoils { "**spoils it**" } else { "differs" };
        let value = |value: &str| escape(&cut(&clean(value, &STYLE), 100, &STYLE));
        let (a, b) = (value(&difference.a), value(&difference.b));
        text.push(format!("- {word}: {}: {a} in A, {b} in B", escape(&clean(&difference.what, &STYLE))));
    }
    text.push(String::new());
    text.extend(Some(how(found)).filter(|how| !how.is_empty()).map(|how| escape(&how)));
    text.push(escape(&tally(found)));
    text.extend(other_ways(found).iter().map(|line| escape(&clean(line, &STYLE))));
    text.extend(Some(threshold(found, &STYLE)).filter(|line| !line.is_empty()).map(|line| escape(&line)));
    let moved: Vec<&ComparedProbe> =
        found.rows.iter().filter(|row| matches!(row.verdict, Verdict::Better | Verdict::Worse)).collect();
    if !moved.is_empty() {
        text.push(String::new());
        text.extend(table(&moved, found));
    }
    text.extend(["", "<details><summary>All probes</summary>", ""].map(str::to_owned));
    text.extend(table(&found.rows.iter().collect::<Vec<_>>(), found));
    text.extend(["", "</details>", ""].map(str::to_owned));
    text.join("\n")
}

fn table(rows: &[&ComparedProbe], found: &Comparison) -> Vec<String> {
    let [a, b] = headings(found, &STYLE).map(|heading| escape(&heading));
    let mut text = vec![
        format!("| probe | {a} | {b} | ratio | change, {} | sees | verdict |", interval_words(found)),
        "|---|--:|--:|--:|--:|--:|---|".to_owned(),
    ];
    for row in rows {
        let engine = if row.engine == "host" { String::new() } else { format!(" ({})", row.engine) };
        let name = escape(&cut(&clean(&format!("{}{engine}", row.name()), &STYLE), 80, &STYLE));
        let ratio = row.ratio.map_or_else(|| "-".into(), |ratio| format!("{ratio:.3}"));
        let by = match (row.exact, row.change(), row.interval) {
            (true, Some(share), _) => format!("{}, exact", change(share)),
            (false, Some(share), Some([low, high])) => {
                format!("{} ({} to {})", change(share), change(low - 1.0), change(high - 1.0))
            }
            _ => "-".into(),
        };
        let by = escape(&by);
        let seen = row
            .smallest_seen
            .filter(|_| !row.exact)
            .map_or_else(|| "-".into(), |share| escape(&percent(share)));
        let why = row.why.as_ref().map(|why| escape(&cut(&clean(why, &STYLE), 120, &STYLE)));
        let verdict = match row.verdict {
            Verdict::Worse => "**worse**",
            Verdict::Better => "**better**",
            other => other.word(),
        };
        let mark = if fit(row.b, FIGURE) == fit(row.b_measured, FIGURE) { "" } else { "\\~" };
        let (a, b) = (fit(row.a, FIGURE), fit(row.b, FIGURE));
        text.push(format!(
            "| {name} | {a} {unit} | {b}{mark} {unit} | {ratio} | {by} | {seen} | {verdict}{why} |",
            unit = row.unit,
            why = why.map_or_else(String::new, |why| format!(": {why}")),
        ));
    }
    text
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
            c => safe.push(c),
        }
    }
    safe
}
