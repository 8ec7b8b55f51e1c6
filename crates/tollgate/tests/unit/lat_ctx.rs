use super::*;

#[test]
fn the_name_is_the_command() {
    let called = |args: &[&str]| called_as(args.iter().map(OsString::from));
    assert_eq!(called(&["/x/lat_ctx", "-s", "0", "2"])[1], "lat_ctx");
    assert_eq!(called(&["lat_ctx", "worker", "--cpu", "1"])[1], "worker");
    assert_eq!(called(&["tollgate", "lat_ctx", "2"]).len(), 3);
    assert_eq!(called(&["lat_ctx"]).len(), 2);
    assert!(called(&[]).is_empty());
}

#[test]
fn numbers_as_lmbench_takes_them_and_refused_where_it_does_not_notice() {
    assert_eq!(size("64"), Ok(65_536));
    assert_eq!(size("64k"), Ok(65_536));
    assert_eq!(size("1M"), Ok(1 << 20));
    for wrong in ["abc", "-1", "18446744073709551615", ""] {
        assert!(size(wrong).is_err(), "{wrong}");
    }
    assert!(parallelism("0").is_err() && repetitions("-1").is_err() && warmup("x").is_err());
    assert_eq!(warmup("0"), Ok(0));
}
