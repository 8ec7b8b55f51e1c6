//! Assembles files into an ELF file and says how long it took: `assemble OUT ISA FILE...`.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::time::Instant;

use tollgate_riscv::asm::{Options, Sources, assemble};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [out, isa, files @ ..] = &args[..] else { return Err("usage: assemble OUT ISA FILE...".into()) };
    let mut sources = Sources::default();
    for file in files {
        sources = sources.unit(file, &std::fs::read_to_string(file)?);
    }
    let start = Instant::now();
    let result = assemble(&sources, &Options { isa: isa.parse()?, ..Options::default() });
    let elapsed = start.elapsed();
    match result {
        Ok(image) => {
            println!("{} statements with an address in {elapsed:?}", image.lines.len());
            std::fs::write(out, image.elf())?;
        }
        Err(errors) => {
            errors.iter().for_each(|error| eprintln!("{error}"));
            eprintln!("{} errors in {elapsed:?}", errors.len());
        }
    }
    Ok(())
}
