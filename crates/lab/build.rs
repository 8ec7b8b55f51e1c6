//! Deflates the images of guests: they are mostly zeros, and would be a sixteenth of what users download.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use flate2::Compression;
use flate2::write::ZlibEncoder;

const IMAGES: &str = "guests/riscv/images";

fn main() -> io::Result<()> {
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    println!("cargo::rerun-if-changed={IMAGES}");
    // The page's module is compressed as a whole, which finds what the images share.
    let is_page = env::var_os("CARGO_CFG_TARGET_ARCH").is_some_and(|arch| arch == "wasm32");
    let level = if is_page { Compression::none() } else { Compression::best() };
    for entry in fs::read_dir(Path::new(IMAGES))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".elf") {
            let file = fs::File::create(out.join(format!("{name}.zlib")))?;
            let mut encoder = ZlibEncoder::new(file, level);
            encoder.write_all(&fs::read(&path)?)?;
            encoder.finish()?;
        }
    }
    Ok(())
}
