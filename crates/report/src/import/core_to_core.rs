//! The matrix that core-to-core-latency prints with `--csv`: nanoseconds from one core to another, one way (it
//! halves its round trips itself), means without their spread, and blanks where nothing was measured.

use super::figures::{Imported, Importer, Told, alone, ask};
use tollgate_record::text::printable;
use tollgate_record::{Per, Warning, warning};

pub(super) const IMPORTER: Importer =
    Importer { name: "core-to-core", what: "the CSV of core-to-core-latency", detect, read };

/// No machine has more cores; a larger table is something else.
const MOST_CORES: usize = 2048;

fn detect(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty());
    first.is_some_and(|line| line.contains(',') && line.split(',').all(|cell| cell_of(cell).is_ok()))
}

/// The figure of a cell; `None` for one that was not measured.
fn cell_of(cell: &str) -> Result<Option<f64>, std::num::ParseFloatError> {
    match cell.trim() {
        "" | "NaN" | "nan" => Ok(None),
        text => text.parse().map(Some),
    }
}

fn read(text: &str, told: &Told) -> Result<Imported, String> {
    let cpus = told.get("cpus").map(|list| cpus(list)).transpose()?;
    let cpu = |place: usize| cpus.as_ref().map_or(Some(place as u64), |cpus| cpus.get(place).copied());
    let mut table = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let mut imported = Imported::default();
    let (mut rows, mut columns) = (0, 0);
    for (to, record) in table.records().enumerate() {
        let record = record.map_err(|error| error.to_string())?;
        rows += 1;
        columns = columns.max(record.len());
        if rows.max(columns) > MOST_CORES {
            return Err(format!("it has more than {MOST_CORES} rows or columns, which no machine has cores"));
        }
        for (from, cell) in record.iter().enumerate() {
            let figure = cell_of(cell).map_err(|_| {
                let cell: String = tollgate_record::text::printable(cell).chars().take(40).collect();
                format!("`{cell}` in row {rows} is not a number")
            })?;
            if let Some(ns) = figure {
                let mut row = alone("core/core-to-core", "imported-core-to-core", Per::Message, ns);
                ask(&mut row, |asked| (asked.core_a, asked.core_b) = (cpu(to), cpu(from)));
                imported.results.push(row);
            }
        }
    }
    if rows != columns {
        return Err(format!(
            "it has {rows} rows and {columns} columns; a table of cores has as many of both"
        ));
    }
    match cpus {
        Some(cpus) if cpus.len() != rows => {
            return Err(format!("it has {rows} cores, and --tell cpus names {} CPUs", cpus.len()));
        }
        Some(_) => {}
        None => {
            let text = "core_a and core_b are places in the table: the file does not say which CPUs they are, and the tool \
                        leaves out those that it may not use; to name them in order: --tell cpus=0,2-5";
            imported.warnings.push(Warning::new(warning::CORES_BY_PLACE, text));
        }
    }
    Ok(imported)
}

/// The CPUs of a list as the kernel prints one: `0,2-5`.
fn cpus(list: &str) -> Result<Vec<u64>, String> {
    let wrong = || {
        format!(
            "--tell cpus takes CPUs in the table's order, for example 0,2-5, and not `{}`",
            printable(list)
        )
    };
    let mut cpus = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let [first, last] = [first, last].map(|cpu| cpu.trim().parse::<u64>().ok());
        let (first, last) = first.zip(last).filter(|(first, last)| first <= last).ok_or_else(wrong)?;
        if last - first >= MOST_CORES as u64 || cpus.len() > MOST_CORES {
            return Err(wrong());
        }
        cpus.extend(first..=last);
    }
    Ok(cpus)
}
