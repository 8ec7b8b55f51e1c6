//! HdrHistogram's log: the distribution of single crossings, one tagged line for each row that has one.
//!
//! Values are nanoseconds. The record does not tell when within the run a row was measured, so every interval
//! begins with the run and has no length.

use super::rows::{ExportError, ExportRow, Exported, number};
use crate::histogram;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use tollgate_record::Run;
use tollgate_record::text::printable;

pub(super) fn write(run: &Run, rows: &[ExportRow<'_>]) -> Result<Exported, ExportError> {
    let mut lines = vec![
        "#[Histogram log format version 1.3]".to_owned(),
        format!(
            "#[tollgate {} run {} of {}]",
            printable(&run.tool.version),
            printable(&run.id),
            printable(&run.started)
        ),
        "#[Values are nanoseconds of single crossings]".to_owned(),
        r#""StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram""#.to_owned(),
    ];
    let (mut left_out, mut written) = (Vec::new(), 0);
    for row in rows {
        let Some(text) = row.result.histogram.as_ref().filter(|_| !row.figures().is_empty()) else {
            left_out.extend(row.left_out("crossings were not timed one at a time"));
            continue;
        };
        match recoded(text) {
            Ok((text, most)) => {
                lines.push(format!("Tag={},0.000,0.000,{},{text}", tag(&row.name), number(most)));
                written += 1;
            }
            Err(why) => left_out.extend(row.left_out(why)),
        }
    }
    if written == 0 {
        let why = "no row has a distribution of single crossings; csv has what there is";
        return Err(ExportError::Nothing("hdr", why));
    }
    lines.push(String::new());
    Ok(Exported::new(lines.join("\n"), left_out))
}

/// The record's histogram as the log has it, and its largest value.
fn recoded(text: &str) -> Result<(String, f64), &'static str> {
    let damaged = "its histogram is damaged, or larger than any that is recorded";
    let histogram = histogram::read(text).ok_or(damaged)?;
    let mut packed = Vec::new();
    V2DeflateSerializer::new().serialize(&histogram, &mut packed).map_err(|_| damaged)?;
    Ok((STANDARD.encode(packed), histogram.max() as f64))
}

/// A name as a tag: neither commas nor blanks end it.
fn tag(name: &str) -> String {
    name.chars().map(|c| if c == ',' || c.is_whitespace() { '_' } else { c }).collect()
}
