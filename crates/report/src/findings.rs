//! The view of `tollgate doctor`: what spoils a measurement here, and how to fix it.

use crate::sheet::{Sheet, paragraph, prose};
use crate::style::{Paint, Style};
use crate::text::clean;
use tollgate_record::number::plural;
use tollgate_record::{Finding, Severity};

/// The findings, the worst first, each with its effect and its remedy, and their number at the end.
pub fn findings(list: &[Finding], style: &Style) -> String {
    let of = |severity| list.iter().filter(move |finding| finding.severity == severity);
    let mut text = Sheet::new();
    for severity in [Severity::Spoils, Severity::Info, Severity::Ok] {
        text.extend(of(severity).flat_map(|finding| one(finding, style)));
        // A paragraph for each severity: the last one lists what is well, one line each.
        if of(severity).next().is_some() {
            text.blank();
        }
    }
    let (spoils, info, ok) =
        (of(Severity::Spoils).count(), of(Severity::Info).count(), of(Severity::Ok).count());
    let summary: String = match (spoils, info, ok) {
        (0, 0, 0) => "Nothing was looked at.".into(),
        (0, 0, _) => "Nothing spoils a measurement here.".into(),
        (0, info, _) => {
            format!("Nothing spoils a measurement here; {} to know.", plural(info, "thing", "things"))
        }
        (1, ..) => "1 thing spoils measurements here.".into(),
        (several, ..) => format!("{several} things spoil measurements here."),
    };
    text.extend(prose(&summary, ""));
    text.text(style)
}

fn one(finding: &Finding, style: &Style) -> Sheet {
    let (mark, paint) = match finding.severity {
        Severity::Spoils => ("spoils  ", Paint::Bad),
        Severity::Info => ("info    ", Paint::Warn),
        Severity::Ok => ("ok      ", Paint::Good),
    };
    let what = match (clean(&finding.what, style), clean(&finding.code, style)) {
        (what, code) if what.is_empty() => code,
        (what, code) if code.is_empty() => what,
        (what, code) => format!("{what} [{code}]"),
    };
    let mut text = Sheet::from(paragraph(what, mark).mark(mark.trim_end(), paint));
    // Where all is well, a line is enough: what it could have done is in the JSON.
    let effect = clean(&finding.effect, style);
    if !effect.is_empty() && finding.severity != Severity::Ok {
        text.extend(prose(&effect, "          effect: "));
    }
    if let Some(fix) = &finding.fix {
        text.extend(prose(clean(fix, style), "          fix:    "));
    }
    text
}
