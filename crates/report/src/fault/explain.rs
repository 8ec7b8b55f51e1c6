//! Why the totals of a scan are what they are, in numbers.

use super::number;
use tollgate_record::number::{bytes, figure, percent, time, whole};
use tollgate_record::{Measurement, phase};

/// Sentences, each with the numbers of this scan.
pub(super) fn explain(scan: &Measurement) -> Vec<String> {
    let mut text = Vec::new();
    let count = |key: &str| number(scan, key);
    let (Some(minor), Some(major), Some(page)) =
        (count("scan-minor"), count("scan-major"), count("page_bytes"))
    else {
        return text;
    };
    let touches = scan.crossings as f64;
    let random = scan.asked.scan().is_some_and(|scan| scan.pattern == "random");
    text.push(minors(touches, minor + major, page));
    text.extend(majors(scan, major, page, random));
    text.extend(waiting(scan, major));
    if random {
        text.extend(drawn(scan, page));
    } else {
        text.extend(were_it_random(scan, touches));
    }
    text
}

fn counted(number: f64, one: &str, several: &str) -> String {
    format!("{} {}", whole(number), if number == 1.0 { one } else { several })
}

/// Fault-around: pages that were there before they were touched.
fn minors(touches: f64, faults: f64, page: f64) -> String {
    if faults <= 0.0 {
        return format!(
            "None of {} touches faulted: every page was in the page table already.",
            whole(touches)
        );
    }
    let made =
        format!("{} made {}", counted(touches, "touch", "touches"), counted(faults, "fault", "faults"));
    let each = touches / faults;
    if each < 1.05 {
        return format!("{made}: nearly every touch made its own, for no earlier fault had mapped its page.");
    }
    format!(
        "{made}, one for each {} touches. The other {} touches found their page in the page table: a fault maps \
         those around the one touched with it where they are in the page cache (fault-around: {}, and the whole of a \
         large folio in newer kernels), and a page touched again is there.",
        figure(each),
        whole(touches - faults),
        bytes(16.0 * page),
    )
}

/// Readahead: pages that were read before they were touched.
fn majors(scan: &Measurement, major: f64, page: f64, random: bool) -> Option<String> {
    let read = number(scan, "bytes-read")?;
    let size = bytes(read);
    if major <= 0.0 && read > 0.0 {
        return Some(format!(
            "No fault was major, and yet {size} were read: readahead had every page in memory before it was touched."
        ));
    } else if major <= 0.0 {
        return Some("No fault was major and nothing was read: the file was in the page cache.".into());
    }
    let (pages, each) = (read / page, read / page / major);
    let (faults, pages_each) = (counted(major, "major fault", "major faults"), figure(each));
    let ahead = number(scan, "read_ahead_kib")
        .map_or_else(String::new, |kib| format!(" (in windows of up to {})", bytes(kib * 1024.0)));
    Some(if each < 1.5 {
        format!(
            "{faults} read {size}: {pages_each} pages each, so that nothing was read ahead and each of these \
             touches waited for the disk."
        )
    } else if random {
        format!(
            "{faults} read {size}, {pages_each} pages each{ahead}: readahead fetched what random touches did not ask \
             for; --advice random switches it off."
        )
    } else {
        format!(
            "{faults} for {} pages read: {pages_each} pages ({}) for each. A fault that finds its page being read \
             ahead already waits for it and counts as minor; readahead{ahead} starts the next window before it is \
             needed, so that only a page that nobody had asked for yet makes a major fault.",
            whole(pages),
            bytes((each * page).round()),
        )
    })
}

fn waiting(scan: &Measurement, major: f64) -> Option<String> {
    let touches = scan.crossings as f64;
    let waited = scan.phase(phase::WAITING)?.ns?.estimate * touches;
    let total = scan.ns?.estimate * touches;
    if major <= 0.0 {
        return None;
    }
    let mut text =
        format!("Off the CPU for {} of {} ({})", time(waited), time(total), percent(waited / total));
    // Where faults waited for what was being read ahead, the wait is not that of the major ones.
    let read = number(scan, "bytes-read").zip(number(scan, "page_bytes"));
    if read.is_some_and(|(read, page)| read < 1.5 * page * major) {
        text += &format!(", {} for each major fault", time(waited / major));
    }
    if let Some(floor) = number(scan, "direct-read-p50-ns") {
        let floor = time(floor);
        text += &format!("; one page read at random past the page cache takes {floor} on this device");
    }
    Some(text + ".")
}

/// What random touches should have met.
fn drawn(scan: &Measurement, page: f64) -> Option<String> {
    let (size, limit) = (number(scan, "size")?, number(scan, "memory_limit")?);
    if limit >= size {
        return None;
    }
    let expected = 1.0 - limit / size;
    let steady = number(scan, "steady-major-per-touch")
        .map_or_else(String::new, |steady| format!("; once memory was full, {steady:.3} were major"));
    Some(format!(
        "Memory holds {} of {} pages, so that 1 - {} / {} = {expected:.3} of random touches must miss{steady}.",
        whole(limit / page),
        whole(size / page),
        bytes(limit),
        bytes(size),
    ))
}

/// What would change with random access.
fn were_it_random(scan: &Measurement, touches: f64) -> Option<String> {
    let floor = number(scan, "direct-read-p50-ns")?;
    let size = number(scan, "size")?;
    let missed = match number(scan, "memory_limit") {
        Some(limit) if limit < size => 1.0 - limit / size,
        // Memory enough: each page is read once.
        _ => 1.0 - (-1.0_f64).exp(),
    };
    let total = scan.ns?.estimate * touches;
    Some(format!(
        "In random order with --advice random nothing is read ahead: about {} of {} touches would be major, {} \
         at {} each, in place of {}.",
        percent(missed),
        whole(touches),
        time(missed * touches * floor),
        time(floor),
        time(total),
    ))
}
