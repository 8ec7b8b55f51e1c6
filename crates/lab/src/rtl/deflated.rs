//! The programs, which the build script deflates.

use std::io::Read;

use flate2::read::ZlibDecoder;
use tollgate_riscv::Elf;

use super::error::RtlError;

/// The deflated file of an image.
macro_rules! image {
    ($name:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".elf.zlib"))
    };
}
pub(super) use image;

/// Inflates and parses an image.
pub(super) fn parse(deflated: &[u8]) -> Result<Elf, RtlError> {
    let mut bytes = Vec::new();
    ZlibDecoder::new(deflated).read_to_end(&mut bytes).map_err(RtlError::Deflated)?;
    Ok(Elf::parse(&bytes)?)
}
