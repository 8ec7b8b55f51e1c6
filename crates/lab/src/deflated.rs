//! The images of guests, which the build script deflates.

use std::io::{self, Read};

use flate2::read::ZlibDecoder;

/// The deflated file of an image.
macro_rules! image {
    ($name:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".elf.zlib"))
    };
}
pub(crate) use image;

/// The file of an image; a user's is not deflated.
pub(crate) fn inflated(image: &[u8]) -> io::Result<Vec<u8>> {
    if image.starts_with(b"\x7fELF") {
        return Ok(image.to_vec());
    }
    let mut file = Vec::new();
    ZlibDecoder::new(image).read_to_end(&mut file)?;
    Ok(file)
}
