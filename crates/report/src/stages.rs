//! Stage diagrams, for a terminal and as a picture. The page's own drawing is in `html`, logs for other viewers are in
//! `export`.

mod svg;
mod text;
mod words;

pub(crate) use svg::picture;
pub(crate) use text::draw;
pub(crate) use words::{MOST, STAGES, kind, letter, note, picture_title, sentence, waits};
