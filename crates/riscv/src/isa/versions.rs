//! Versions of extensions in ISA strings; all are accepted.

/// Skips a version such as `2p1` behind a letter, as compilers write it into ELF attributes.
pub(super) fn skip_version(s: &str) -> &str {
    let digits = s.trim_start_matches(|c: char| c.is_ascii_digit());
    if digits.len() == s.len() {
        return s;
    }
    match digits.strip_prefix('p') {
        Some(minor) if minor.starts_with(|c: char| c.is_ascii_digit()) => {
            minor.trim_start_matches(|c: char| c.is_ascii_digit())
        }
        _ => digits,
    }
}

/// Takes the version off the end of a name such as `zicsr2p0`.
pub(super) fn strip_version(s: &str) -> &str {
    let end = |t: &str| t.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let major = &s[..end(s)];
    match major.strip_suffix('p') {
        Some(m) if major.len() < s.len() && end(m) < m.len() => &m[..end(m)],
        _ => major,
    }
}
