//! Profiles: names of ISA strings.

/// Profiles, with what each requires (RISC-V Profiles 1.0, RVA23 1.0 and RVB23 1.0).
const PROFILES: [(&str, &str); 9] = [
    ("rvi20u32", "rv32i"),
    ("rvi20u64", "rv64i"),
    ("rva20u64", "rv64gc_zicntr_ziccif_ziccrse_ziccamoa_za128rs_zicclsm"),
    (
        "rva20s64",
        "rv64gc_zicntr_ziccif_ziccrse_ziccamoa_za128rs_zicclsm_svbare_svade_ssccptr_sstvecd_sstvala",
    ),
    (
        "rva22u64",
        "rv64gcb_zicntr_zihpm_ziccif_ziccrse_ziccamoa_zicclsm_za64rs_zihintpause_zic64b_zicbom_zicbop_zicboz_zfhmin_zkt",
    ),
    (
        "rva22s64",
        "rv64gcb_zicntr_zihpm_ziccif_ziccrse_ziccamoa_zicclsm_za64rs_zihintpause_zic64b_zicbom_zicbop_zicboz_zfhmin_zkt\
         _svbare_svade_ssccptr_sstvecd_sstvala_sscounterenw_svpbmt_svinval",
    ),
    (
        "rva23u64",
        "rv64gcbv_zicntr_zihpm_ziccif_ziccrse_ziccamoa_zicclsm_za64rs_zihintpause_zic64b_zicbom_zicbop_zicboz_zfhmin_zkt\
         _zvfhmin_zvbb_zvkt_zihintntl_zicond_zimop_zcmop_zcb_zfa_zawrs_supm",
    ),
    (
        "rvb23u64",
        "rv64gcb_zicntr_zihpm_ziccif_ziccrse_ziccamoa_zicclsm_za64rs_zihintpause_zic64b_zicbom_zicbop_zicboz_zkt\
         _zihintntl_zicond_zimop_zcmop_zcb_zfa_zawrs",
    ),
    (
        "rvb23s64",
        "rv64gcb_zicntr_zihpm_ziccif_ziccrse_ziccamoa_zicclsm_za64rs_zihintpause_zic64b_zicbom_zicbop_zicboz_zkt\
         _zihintntl_zicond_zimop_zcmop_zcb_zfa_zawrs\
         _svbare_svade_ssccptr_sstvecd_sstvala_sscounterenw_svpbmt_svinval_svnapot_sstc_sscofpmf_ssu64xl",
    ),
];

/// Profiles that no machine here has, and why.
pub(super) const ABSENT_PROFILES: [(&str, &str); 2] =
    [("rva23s64", "the hypervisor extension 'h'"), ("rvm23u32", "table jumps ('zcmt')")];

/// An ISA string with the name of a profile replaced by what the profile requires.
pub(super) fn with_profile(isa: String) -> String {
    let (name, more) = isa.split_at(isa.find('_').unwrap_or(isa.len()));
    match PROFILES.iter().find(|(profile, _)| *profile == name) {
        Some((_, all)) => format!("{all}{more}"),
        None => isa,
    }
}
