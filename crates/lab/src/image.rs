//! Writes the parameters of an experiment into the file of a guest image: every engine can load a file.

use object::elf::FileHeader64;
use object::read::elf::{ElfFile, ProgramHeader};
use object::{Endianness, Object, ObjectSymbol};

use crate::bill::Experiment;
use crate::call::Crossing;
use crate::deflated::inflated;
use crate::error::LabError;

/// First word of the parameters: `TOLL01` from its last byte on.
const MAGIC: u64 = 0x3130_4c4c_4f54;

/// The image of the experiment's kernel with the experiment written into it.
pub fn prepare(experiment: &Experiment) -> Result<Vec<u8>, LabError> {
    let (kind, number) = experiment.crossing.parameters();
    let words = [MAGIC, kind, number, experiment.iterations, u64::from(experiment.design.dirty_fp)];
    let mut image = with_words(experiment.design.image, "toll_params", &words)?;
    if experiment.crossing == Crossing::Timer {
        let at = file_offset(&image, "toll_wants_timer", 8)?;
        image[at..at + 8].copy_from_slice(&1u64.to_le_bytes());
    }
    Ok(image)
}

/// A deflated image or a file with other words at a symbol; the first is a magic number that must be there already.
pub(crate) fn with_words(image: &[u8], symbol: &str, words: &[u64]) -> Result<Vec<u8>, LabError> {
    let mut image = inflated(image).map_err(|e| LabError::Image(e.to_string()))?;
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let at = file_offset(&image, symbol, bytes.len())?;
    if image[at..at + 8] != bytes[..8] {
        return Err(LabError::Image("its parameters have another layout".into()));
    }
    image[at..at + bytes.len()].copy_from_slice(&bytes);
    Ok(image)
}

/// Where in the file the `length` bytes at a symbol are.
fn file_offset(image: &[u8], symbol: &str, length: usize) -> Result<usize, LabError> {
    let damaged = |e: object::Error| LabError::Image(e.to_string());
    let file = ElfFile::<FileHeader64<Endianness>>::parse(image).map_err(damaged)?;
    let symbol = file
        .symbols()
        .find(|s| s.name() == Ok(symbol))
        .ok_or_else(|| LabError::Image(format!("it has no symbol {symbol}")))?;
    let endian = file.endian();
    file.elf_program_headers()
        .iter()
        .find_map(|header| {
            let inside = symbol.address().checked_sub(header.p_vaddr(endian))?;
            let end = inside.checked_add(length as u64)?;
            (end <= header.p_filesz(endian)).then(|| header.p_offset(endian).checked_add(inside))?
        })
        .and_then(|at| usize::try_from(at).ok())
        .filter(|at| at.checked_add(length).is_some_and(|end| end <= image.len()))
        .ok_or_else(|| LabError::Image("its parameters are not in the file".into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::DESIGNS;

    #[test]
    fn every_image_takes_parameters_and_nothing_else_changes() {
        for design in DESIGNS {
            let crossing = design.crossing.unwrap_or(Crossing::Call(172));
            let image = prepare(&Experiment { design, crossing, iterations: 0x0102_0304 }).unwrap();
            let changed = image.iter().zip(&inflated(design.image).unwrap()).filter(|(a, b)| a != b).count();
            assert!((4..=14).contains(&changed), "{}: {changed} bytes", design.name);
            assert!(image.windows(8).any(|w| w == 0x0102_0304u64.to_le_bytes()), "{}", design.name);
        }
    }
}
